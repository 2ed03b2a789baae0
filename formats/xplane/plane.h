// What one plane of a profiler's trace (XSpace, tensorflow/tsl/profiler/protobuf/xplane.proto)
// tells about memory. Most events of a trace are spans without a memory event inside: nothing of
// them is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "xplane/span_tree.h"

namespace memtool::formats::xplane {

// An event of an allocator, or one that counts a step.
struct RawEvent {
  std::int64_t offset_ps = 0;  // from its line's begin
  std::int64_t duration_ps = 0;
  std::uint64_t stats_at = 0;  // in Plane::stats_pool
  std::uint32_t stats_size = 0;
  std::uint32_t name = 0;  // key of Plane::event_names
  std::uint32_t line = 0;  // row of Plane::lines
  std::uint32_t node = 0;  // of Plane::spans: the innermost span around it
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
  std::string name;                   // "/host:CPU", "/device:GPU:0"
  std::vector<std::int64_t> lines;    // begins of those that hold something of what follows: ns,
                                      // unix, or since the profile began
  std::vector<RawEvent> memory;       // by line, then in the file's order
  std::vector<RawEvent> steps;        // spans with the stat step_num
  std::vector<FlowEnd> producers;     // all that there are
  std::vector<FlowEnd> consumers;     // those around a memory event or a producer
  SpanTree spans;                     // likewise; names: keys of event_names
  std::vector<std::byte> stats_pool;  // each event's stats: XEvent's bytes from its first stat on
  std::uint64_t late = 0;             // memory events far from their place: without a stack
  std::unordered_map<std::uint32_t, std::string> event_names;
  std::unordered_map<std::uint32_t, std::string> stat_names;
  std::vector<std::byte> stats;  // of the plane: fields 6, one after the other
  std::vector<Program> programs;

  [[nodiscard]] std::span<const std::byte> StatsOf(const RawEvent& event) const {
    return std::span(stats_pool).subspan(event.stats_at, event.stats_size);
  }
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
};

}  // namespace memtool::formats::xplane
