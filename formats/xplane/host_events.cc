#include "xplane/host_events.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "support/byte_cursor.h"
#include "xplane/read_space.h"

namespace memtool::formats::xplane {

namespace {

enum class Key : std::uint8_t {
  kNone,
  kAllocator,
  kReserved,
  kAllocated,
  kAvailable,
  kPeak,
  kRequested,
  kBytes,
  kAddress,
  kOp,
  kRegion,
  kDataType,
  kShape,
  kDevice,
  kStep,
  kProducer,
  kProducerType,
  kConsumer,
  kConsumerType,
};

Key KeyNamed(std::string_view name) {
  static constexpr std::pair<std::string_view, Key> kKeys[]{
      {"allocator_name", Key::kAllocator},
      {"bytes_reserved", Key::kReserved},
      {"bytes_allocated", Key::kAllocated},
      {"bytes_available", Key::kAvailable},
      {"peak_bytes_in_use", Key::kPeak},
      {"requested_bytes", Key::kRequested},
      {"allocation_bytes", Key::kBytes},
      {"addr", Key::kAddress},
      {"tf_op", Key::kOp},
      {"region_type", Key::kRegion},
      {"data_type", Key::kDataType},
      {"shape", Key::kShape},
      {"device_ordinal", Key::kDevice},
      {"index_on_host", Key::kDevice},
      {"step_num", Key::kStep},
      {"_p", Key::kProducer},
      {"_pt", Key::kProducerType},
      {"_c", Key::kConsumer},
      {"_ct", Key::kConsumerType},
  };
  const auto* it = std::find_if(std::begin(kKeys), std::end(kKeys),
                                [name](const auto& each) { return each.first == name; });
  return it == std::end(kKeys) ? Key::kNone : it->second;
}

// The figure of a stat; texts that hold a figure count, because the profiler guesses types.
std::optional<std::int64_t> FigureOf(const Stat& stat) {
  constexpr double kMost = 9.2e18;
  switch (stat.kind) {
    case Stat::Kind::kInteger:
      return stat.integer;
    case Stat::Kind::kReal:
      return std::abs(stat.real) < kMost ? std::optional(std::llround(stat.real)) : std::nullopt;
    case Stat::Kind::kText: {
      const std::string_view text = AsText(stat.bytes);
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      return error == std::errc{} && end == text.data() + text.size() ? std::optional(value)
                                                                      : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

// Who began what: the type and the id that join the spans of two threads.
using FlowEnds = std::pair<std::int64_t, std::int64_t>;

// The stats of a memory event that are not kept as they are.
struct MemoryFigures {
  std::optional<std::int64_t> bytes;
  std::optional<std::int64_t> address;
  std::optional<std::int64_t> available;
  std::int64_t reserved = 0;
};

// The stats of an event that is not about memory.
struct SpanStats {
  std::optional<std::int64_t> step;
  std::optional<std::int64_t> produces;
  std::optional<std::int64_t> consumes;
  std::int64_t producer_type = 0;
  std::int64_t consumer_type = 0;
};

class Collector {
 public:
  Collector(const Plane& plane, HostEvents& host) : plane_(plane), host_(host) {
    for (const auto& [id, name] : plane.stat_names) {
      const Key key = KeyNamed(name);
      if (key != Key::kNone) {
        keys_.emplace(id, key);
      }
    }
  }

  void Collect() {
    for (const RawLine& line : plane_.lines) {
      if (line.event_count == 0) {
        continue;
      }
      const auto begin = BeginOf(line);
      if (!begin) {
        host_.bad_events += line.event_count;
        continue;
      }
      const auto thread = static_cast<std::uint32_t>(host_.threads.size());
      host_.threads.push_back(line.name);
      for (std::size_t i = 0; i < line.event_count; ++i) {
        Add(plane_.events[line.first_event + i], *begin, thread);
      }
    }
    JoinFlows();
  }

 private:
  // In picoseconds since the base; none where that does not fit.
  std::optional<std::int64_t> BeginOf(const RawLine& line) {
    if (!has_base_ && host_.threads.empty()) {
      host_.base_ns = line.begin_ns;
    }
    has_base_ = true;
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 4000;
    const std::int64_t since = SaturatingSubtract(line.begin_ns, host_.base_ns);
    return since > -kMost && since < kMost ? std::optional(since * 1000) : std::nullopt;
  }

  void Add(const RawEvent& event, std::int64_t begin, std::uint32_t thread) {
    const std::string* name = plane_.EventName(event.name);
    if (name == nullptr) {
      ++host_.bad_events;
      return;
    }
    const std::int64_t time = SaturatingAdd(begin, event.offset_ps);
    const bool allocation = *name == "MemoryAllocation";
    if (allocation || *name == "MemoryDeallocation") {
      AddMemory(event, time, thread, allocation);
    } else {
      AddSpan(event, *name, time, thread);
    }
  }

  void NoteText(Key key, const Stat& stat, MemoryEvent& memory) {
    switch (key) {
      case Key::kAllocator:
        memory.allocator = TextOf(stat);
        break;
      case Key::kDevice:
        memory.allocator = memory.allocator == kNoText ? TextOf(stat) : memory.allocator;
        break;
      case Key::kOp:
        memory.op = TextOf(stat);
        break;
      case Key::kRegion:
        memory.region = TextOf(stat);
        break;
      case Key::kShape:
        memory.shape = TextOf(stat);
        break;
      default:
        break;
    }
  }

  static void NoteFigure(Key key, const Stat& stat, MemoryEvent& memory, MemoryFigures& figures) {
    switch (key) {
      case Key::kReserved:
        figures.reserved = FigureOf(stat).value_or(0);
        break;
      case Key::kAllocated:
        memory.allocated = FigureOf(stat);
        break;
      case Key::kAvailable:
        figures.available = FigureOf(stat);
        break;
      case Key::kPeak:
        memory.peak = FigureOf(stat);
        break;
      case Key::kRequested:
        memory.requested = FigureOf(stat).value_or(0);
        break;
      case Key::kBytes:
        figures.bytes = FigureOf(stat);
        break;
      case Key::kAddress:
        figures.address = FigureOf(stat);
        break;
      case Key::kDataType:
        memory.data_type = FigureOf(stat).value_or(0);
        break;
      default:
        break;
    }
  }

  void AddMemory(const RawEvent& event, std::int64_t time, std::uint32_t thread, bool allocation) {
    MemoryEvent memory{.time_ps = time, .allocator = kNoText, .thread = thread};
    MemoryFigures figures;
    ForEachStat(plane_.StatsOf(event), 4, [&](const Stat& stat) {
      const Key key = KeyOf(stat);
      NoteText(key, stat, memory);
      NoteFigure(key, stat, memory, figures);
    });
    const auto& [bytes, address, available, reserved] = figures;
    if (!bytes || *bytes < 0 || !address) {
      ++host_.bad_events;
      return;
    }
    memory.bytes = allocation ? *bytes : SaturatingSubtract(0, *bytes);
    memory.address = static_cast<std::uint64_t>(*address);
    if (memory.allocated && available && *available >= 0) {
      memory.capacity = SaturatingAdd(SaturatingAdd(*memory.allocated, *available), reserved);
    }
    host_.memory.push_back(memory);
  }

  void AddSpan(const RawEvent& event, const std::string& name, std::int64_t time,
               std::uint32_t thread) {
    SpanStats stats;
    if (event.stats_size > 0) {
      ForEachStat(plane_.StatsOf(event), 4, [&](const Stat& stat) { Note(stat, stats); });
    }
    if (event.duration_ps == 0 && !stats.produces) {
      return;
    }
    const auto row = static_cast<std::uint32_t>(host_.spans.size());
    const std::int64_t end = SaturatingAdd(time, event.duration_ps);
    host_.spans.push_back(
        {.begin = time, .end = end, .name = NameOf(event.name, name), .thread = thread});
    host_.python_events += name.starts_with('$') ? 1 : 0;
    if (stats.step) {
      host_.steps.push_back(
          {.name = name + "#" + std::to_string(*stats.step), .begin_ps = time, .end_ps = end});
    }
    if (stats.produces) {
      producers_[{stats.producer_type, *stats.produces}].push_back(row);
    }
    if (stats.consumes) {
      consumers_.emplace_back(FlowEnds{stats.consumer_type, *stats.consumes}, row);
    }
  }

  void Note(const Stat& stat, SpanStats& stats) const {
    switch (KeyOf(stat)) {
      case Key::kStep:
        stats.step = FigureOf(stat);
        break;
      case Key::kProducer:
        stats.produces = FigureOf(stat);
        break;
      case Key::kConsumer:
        stats.consumes = FigureOf(stat);
        break;
      case Key::kProducerType:
        stats.producer_type = FigureOf(stat).value_or(0);
        break;
      case Key::kConsumerType:
        stats.consumer_type = FigureOf(stat).value_or(0);
        break;
      default:
        break;
    }
  }

  // Ids are used again: the last producer that began before the consumer is meant.
  void JoinFlows() {
    for (auto& [ends, rows] : producers_) {
      std::sort(rows.begin(), rows.end(), [this](std::uint32_t a, std::uint32_t b) {
        return host_.spans[a].begin < host_.spans[b].begin;
      });
    }
    for (const auto& [ends, consumer] : consumers_) {
      const auto found = producers_.find(ends);
      if (found == producers_.end()) {
        continue;
      }
      const auto& rows = found->second;
      const auto after = std::upper_bound(
          rows.begin(), rows.end(), host_.spans[consumer].begin,
          [this](std::int64_t time, std::uint32_t row) { return time < host_.spans[row].begin; });
      if (after != rows.begin() && *std::prev(after) != consumer) {
        host_.flows.push_back({.producer = *std::prev(after), .consumer = consumer});
      }
    }
  }

  [[nodiscard]] Key KeyOf(const Stat& stat) const {
    const auto found = keys_.find(stat.name);
    return found == keys_.end() ? Key::kNone : found->second;
  }

  std::uint32_t TextOf(const Stat& stat) {
    std::string_view text;
    std::string number;
    if (stat.kind == Stat::Kind::kText) {
      text = AsText(stat.bytes);
    } else if (stat.kind == Stat::Kind::kReference) {
      const auto found = plane_.stat_names.find(static_cast<std::uint32_t>(stat.integer));
      text = found == plane_.stat_names.end() ? std::string_view{} : found->second;
    } else if (const auto figure = FigureOf(stat)) {
      text = number = std::to_string(*figure);  // an operation can be called "12"
    }
    return text.empty() || text == "(null)" ? kNoText
                                            : host_.texts.Intern(std::as_bytes(std::span(text)));
  }

  // "PjitFunction(f)" under the name that operations have for it: "jit(f)".
  std::uint32_t NameOf(std::uint32_t key, const std::string& name) {
    const auto [it, added] = name_of_.try_emplace(key, 0);
    if (added) {
      constexpr std::string_view kJit = "PjitFunction(";
      const std::string shown = name.starts_with(kJit) ? "jit(" + name.substr(kJit.size()) : name;
      it->second = host_.texts.Intern(std::as_bytes(std::span(shown)));
    }
    return it->second;
  }

  const Plane& plane_;
  HostEvents& host_;
  bool has_base_ = false;
  std::unordered_map<std::uint32_t, Key> keys_;
  std::unordered_map<std::uint32_t, std::uint32_t> name_of_;
  std::map<FlowEnds, std::vector<std::uint32_t>> producers_;
  std::vector<std::pair<FlowEnds, std::uint32_t>> consumers_;
};

}  // namespace

void Collect(const Plane& plane, HostEvents& host) {
  Collector(plane, host).Collect();
}

}  // namespace memtool::formats::xplane
