// What a plane of the host tells about memory: allocator events, and the spans around them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/byte_interner.h"
#include "xplane/plane.h"
#include "xplane/span_tree.h"

namespace memtool::formats::xplane {

inline constexpr std::uint32_t kNoText = UINT32_MAX;

// One MemoryAllocation or MemoryDeallocation, which allocators of XLA and TensorFlow write after
// the operation. Sizes in bytes; what is absent was not in the file.
struct MemoryEvent {
  std::int64_t time_ps = 0;  // since HostEvents::base_ns
  std::uint64_t address = 0;
  std::int64_t bytes = 0;                   // of the chunk; negative: freed
  std::int64_t requested = 0;               // likewise
  std::optional<std::int64_t> allocated{};  // in use after the event
  std::optional<std::int64_t> capacity{};   // in use + available + reserved
  std::optional<std::int64_t> peak{};       // highest ever in use, as the allocator counts
  std::uint32_t allocator = 0;              // rows of HostEvents::texts, or kNoText
  std::uint32_t op = kNoText;
  std::uint32_t region = kNoText;
  std::uint32_t shape = kNoText;
  std::uint32_t node = 0;      // of HostEvents::spans: what was running
  std::int64_t data_type = 0;  // TensorFlow's DataType
};

struct Step {
  std::string name;  // "train#3"
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
};

struct HostEvents {
  std::optional<std::int64_t> base_ns;  // begin of the first line with memory events
  std::vector<MemoryEvent> memory;
  SpanTree spans;  // around memory events, across threads; names: rows of `texts`
  std::vector<Step> steps;
  ByteInterner texts;
  std::uint64_t bad_events = 0;  // memory events without a size, address or usable time
  std::uint64_t late = 0;        // memory events far from their place among others of their thread
  bool python = false;           // there are spans of functions of Python
  bool jax = false;              // there are spans that JAX writes
};

// Adds what `plane` holds, and frees what is not needed any more. Throws ReadError.
void Collect(Plane& plane, HostEvents& host);

}  // namespace memtool::formats::xplane
