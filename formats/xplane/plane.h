// One plane of a profiler's trace (XSpace, tensorflow/tsl/profiler/protobuf/xplane.proto) as it was
// written. Names come after the events in a file, so events keep numbers until a plane has been
// read to its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace memtool::formats::xplane {

struct RawEvent {
  std::int64_t offset_ps = 0;  // from its line's begin
  std::int64_t duration_ps = 0;
  std::uint64_t stats_at = 0;  // in Plane::stats_pool
  std::uint32_t stats_size = 0;
  std::uint32_t name = 0;  // key of Plane::event_names
};

// A thread of the host, or a stream of a device.
struct RawLine {
  std::string name;
  std::int64_t begin_ns = 0;  // unix, or since the profile began
  std::size_t first_event = 0;
  std::size_t event_count = 0;
};

// A figure or text of an event or plane, whichever way it was encoded.
struct Stat {
  std::uint32_t name = 0;  // key of Plane::stat_names
  enum class Kind : std::uint8_t { kNone, kInteger, kReal, kText, kBytes, kReference } kind{};
  std::int64_t integer = 0;  // also the bits of unsigned values; a reference's key of stat_names
  double real = 0;
  std::span<const std::byte> bytes;  // of texts
};

// A compiled program that the file holds.
struct Program {
  std::string name;  // "jit_step(12)"
  std::vector<std::byte> hlo;
};

struct Plane {
  std::string name;  // "/host:CPU", "/device:GPU:0"
  std::vector<RawLine> lines;
  std::vector<RawEvent> events;
  std::vector<std::byte> stats_pool;  // each event's stats: XEvent's bytes from its first stat on
  std::unordered_map<std::uint32_t, std::string> event_names;
  std::unordered_map<std::uint32_t, std::string> stat_names;
  std::vector<std::byte> stats;  // of the plane: fields 6, one after the other
  std::vector<Program> programs;

  [[nodiscard]] std::span<const std::byte> StatsOf(const RawEvent& event) const {
    return std::span(stats_pool).subspan(event.stats_at, event.stats_size);
  }
  [[nodiscard]] const std::string* EventName(std::uint32_t key) const {
    const auto found = event_names.find(key);
    return found == event_names.end() ? nullptr : &found->second;
  }
};

struct Space {
  std::vector<Plane> planes;
  std::vector<std::string> hosts;
  std::vector<std::string> errors;    // what the profiler itself reports
  std::vector<std::string> warnings;  // likewise
  std::uint64_t events = 0;           // of any kind, those that were not kept included
  std::uint64_t bad_events = 0;       // ids or times out of range: left out
};

}  // namespace memtool::formats::xplane
