// What one plane of a profiler's trace (XSpace, tensorflow/tsl/profiler/protobuf/xplane.proto)
// says about memory. Most events of a trace are spans without a memory event inside: nothing of
// them is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memtool/profile/base/key_hash.h"
#include "support/byte_interner.h"
#include "xplane/span_tree.h"
#include "xplane/stats.h"

namespace memtool::formats::xplane {

inline constexpr std::uint32_t kNoText = UINT32_MAX;

// One MemoryAllocation or MemoryDeallocation, which allocators of XLA and TensorFlow write after
// the operation. Sizes in bytes; what is absent was not in the file.
struct MemoryEvent {
  std::int64_t time_ps = 0;  // from its line's begin; in HostEvents since base_ns
  std::uint64_t address = 0;
  std::int64_t bytes = 0;                   // of the chunk; negative: freed
  std::int64_t requested = 0;               // of it; of a free above 0
  bool unsized = false;                     // a free that gives the address alone
  std::optional<std::int64_t> allocated{};  // in use after the event
  std::optional<std::int64_t> capacity{};   // in use + available + reserved
  std::optional<std::int64_t> peak{};       // highest ever in use, as the allocator counts
  std::uint32_t allocator = kNoText;        // rows of Space::texts, or kNoText
  std::uint32_t op = kNoText;
  std::uint32_t region = kNoText;
  std::uint32_t shape = kNoText;
  std::uint32_t line = 0;      // row of Plane::lines
  std::uint32_t node = 0;      // of Plane::spans, then of HostEvents::spans: what was running
  std::int64_t data_type = 0;  // TensorFlow's DataType
};

struct Step {
  std::string name;           // "train#3"
  std::int64_t begin_ps = 0;  // as MemoryEvent::time_ps
  std::int64_t end_ps = 0;
  std::uint32_t line = 0;  // row of Plane::lines
};

// A span that began work for another thread, or one that does such work: ends with the same type
// and id belong together.
struct FlowEnd {
  std::int64_t type = 0;
  std::int64_t id = 0;
  std::int64_t offset_ps = 0;  // where the span begins, from its line's begin
  std::uint32_t line = 0;
  std::uint32_t node = 0;  // the span
};

// A compiled program that the file holds.
struct Program {
  std::string name;  // "jit_step(12)"
  std::vector<std::byte> hlo;
};

struct Plane {
  std::string name;                  // "/host:CPU", "/device:GPU:0"
  std::vector<std::int64_t> lines;   // begins of those that hold something of what follows: ns,
                                     // unix, or since the profile began
  std::vector<MemoryEvent> memory;   // by line, then in the file's order
  std::vector<Step> steps;           // spans with the stat step_num
  std::vector<FlowEnd> producers;    // all that there are
  std::vector<FlowEnd> consumers;    // those around a memory event or a producer
  SpanTree spans;                    // likewise; names: keys of event_names
  std::uint64_t late = 0;            // memory events far from their place: without a stack
  std::uint64_t bad_memory = 0;      // those without a size or an address: left out
  std::uint64_t bad_figures = 0;     // figures of memory events below 0: left out
  KeySet<std::uint32_t> code_spans;  // keys of event_names around memory events, on threads
                                     // that run the program's own code
  KeyMap<std::uint32_t, std::string> event_names;
  KeyMap<std::uint32_t, std::string> stat_names;
  std::vector<Stat> stats;  // of the plane, without texts
  std::vector<Program> programs;

  // Events of other planes are kernels and copies.
  [[nodiscard]] bool IsHost() const { return name.empty() || name.starts_with("/host:"); }
};

struct Space {
  std::vector<Plane> planes;
  std::vector<std::string> hosts;
  std::vector<std::string> errors;    // what the profiler itself reports
  std::vector<std::string> warnings;  // likewise
  std::uint64_t events = 0;           // of the host, of any kind
  std::uint64_t bad_events = 0;       // ids, names or times that cannot be: left out
  ByteInterner texts;                 // of memory events
};

}  // namespace memtool::formats::xplane
