#include "xplane/host_events.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/select/xla_names.h"
#include "support/byte_cursor.h"
#include "xplane/stats.h"

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
  };
  const auto* it = std::find_if(std::begin(kKeys), std::end(kKeys),
                                [name](const auto& each) { return each.first == name; });
  return it == std::end(kKeys) ? Key::kNone : it->second;
}

// The stats of a memory event that are not kept as they are.
struct MemoryFigures {
  std::optional<std::int64_t> bytes;
  std::optional<std::int64_t> address;
  std::optional<std::int64_t> available;
  std::int64_t reserved = 0;
};

class Collector {
 public:
  Collector(Plane& plane, HostEvents& host) : plane_(plane), host_(host) {
    for (const auto& [id, name] : plane.stat_names) {
      const Key key = KeyNamed(name);
      if (key != Key::kNone) {
        keys_.emplace(id, key);
      }
    }
  }

  void Collect() {
    LookAtNames();
    host_.late += plane_.late;
    if (!plane_.memory.empty()) {
      JoinFlows();
      nodes_ = Resolved();
    }
    host_.memory.reserve(host_.memory.size() + plane_.memory.size());
    for (const RawEvent& event : plane_.memory) {
      if (const auto begin = BeginOf(event.line)) {
        AddMemory(event, SaturatingAdd(*begin, event.offset_ps));
      } else {
        ++host_.bad_events;
      }
    }
    for (const RawEvent& event : plane_.steps) {
      if (const auto begin = BeginOf(event.line)) {
        AddStep(event, SaturatingAdd(*begin, event.offset_ps));
      }
    }
  }

 private:
  void LookAtNames() {
    if (!plane_.IsHost()) {
      return;
    }
    for (const auto& [key, name] : plane_.event_names) {
      host_.python = host_.python || name.starts_with('$');
      host_.jax = host_.jax || name.starts_with(kJit) || IsJitName(name) ||
                  name.starts_with("PJRT_") || name.starts_with("PjRt");
    }
  }

  // In picoseconds since the base; none where that does not fit.
  std::optional<std::int64_t> BeginOf(std::uint32_t line) {
    const std::int64_t begin_ns = plane_.lines[line];
    if (!host_.base_ns) {
      host_.base_ns = begin_ns;
    }
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 4000;
    const std::int64_t since = SaturatingSubtract(begin_ns, *host_.base_ns);
    return since > -kMost && since < kMost ? std::optional(since * 1000) : std::nullopt;
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

  void AddMemory(const RawEvent& event, std::int64_t time) {
    const bool allocation = plane_.event_names.at(event.name) == "MemoryAllocation";
    MemoryEvent memory{
        .time_ps = time, .allocator = kNoText, .node = nodes_.empty() ? 0 : nodes_[event.node]};
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

  void AddStep(const RawEvent& event, std::int64_t time) {
    std::optional<std::int64_t> step;
    ForEachStat(plane_.StatsOf(event), 4, [&](const Stat& stat) {
      step = KeyOf(stat) == Key::kStep ? FigureOf(stat) : step;
    });
    if (step) {
      host_.steps.push_back(
          {.name = plane_.event_names.at(event.name) + "#" + std::to_string(*step),
           .begin_ps = time,
           .end_ps = SaturatingAdd(time, event.duration_ps)});
    }
  }

  // Ids are used again: the last producer that began before the consumer is meant.
  void JoinFlows() {
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<const FlowEnd*>> wanted;
    for (const FlowEnd& consumer : plane_.consumers) {
      wanted[{consumer.type, consumer.id}];
    }
    for (const FlowEnd& producer : plane_.producers) {
      const auto found = wanted.find({producer.type, producer.id});
      if (found != wanted.end()) {
        found->second.push_back(&producer);
      }
    }
    const auto earlier = [this](const FlowEnd* a, const FlowEnd* b) {
      return TimeOf(*a) < TimeOf(*b);
    };
    for (auto& [ends, producers] : wanted) {
      std::stable_sort(producers.begin(), producers.end(), earlier);
    }
    for (const FlowEnd& consumer : plane_.consumers) {
      const auto& producers = wanted.at({consumer.type, consumer.id});
      const auto after = std::upper_bound(producers.begin(), producers.end(), &consumer, earlier);
      // What a thread begins for itself is told by its own spans.
      if (after != producers.begin() && (*std::prev(after))->line != consumer.line) {
        begun_by_.emplace(consumer.node, (*std::prev(after))->node);
      }
    }
  }

  [[nodiscard]] std::int64_t TimeOf(const FlowEnd& end) {
    return SaturatingAdd(BeginOf(end.line).value_or(0), end.offset_ps);
  }

  // The plane's nodes as those of the host. Work that another thread began has the stack there
  // around it, whatever is open around it here; what began it may itself have been begun elsewhere.
  std::vector<std::uint32_t> Resolved() {
    constexpr int kHops = 3;
    std::vector<std::uint32_t> resolved = WithProducers({});
    for (int hop = 0; hop < kHops && !begun_by_.empty(); ++hop) {
      std::vector<std::uint32_t> next = WithProducers(resolved);
      const bool same = next == resolved;
      resolved = std::move(next);
      if (same) {
        break;
      }
    }
    return resolved;
  }

  // `producers`: what nodes that begin work are; none yet if it is empty.
  std::vector<std::uint32_t> WithProducers(const std::vector<std::uint32_t>& producers) {
    const auto nodes = plane_.spans.nodes();
    std::vector<std::uint32_t> resolved(nodes.size(), 0);
    for (std::uint32_t node = 1; node < nodes.size(); ++node) {
      std::uint32_t parent = resolved[nodes[node].parent];
      if (!producers.empty()) {
        const auto begun = begun_by_.find(node);
        const std::uint32_t there = begun == begun_by_.end() ? 0 : producers[begun->second];
        parent = there != 0 ? there : parent;
      }
      resolved[node] = host_.spans.Of(parent, NameOf(nodes[node].name));
    }
    return resolved;
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
    return text.empty() || text == "(null)"
               ? kNoText
               : host_.texts.Intern(std::as_bytes(std::span(text.data(), text.size())));
  }

  // "PjitFunction(f)" under the name that operations have for it: "jit(f)".
  std::uint32_t NameOf(std::uint32_t key) {
    const auto [it, added] = name_of_.try_emplace(key, 0);
    if (added) {
      const std::string& name = plane_.event_names.at(key);
      const std::string shown = name.starts_with(kJit) ? "jit(" + name.substr(kJit.size()) : name;
      it->second = host_.texts.Intern(std::as_bytes(std::span(shown)));
    }
    return it->second;
  }

  static constexpr std::string_view kJit = "PjitFunction(";

  Plane& plane_;
  HostEvents& host_;
  std::unordered_map<std::uint32_t, Key> keys_;
  std::unordered_map<std::uint32_t, std::uint32_t> name_of_;
  std::unordered_map<std::uint32_t, std::uint32_t> begun_by_;  // a consumer's node, its producer's
  std::vector<std::uint32_t> nodes_;                           // those of the plane in the host's
};

}  // namespace

void Collect(Plane& plane, HostEvents& host) {
  Collector(plane, host).Collect();
  plane.memory = {};
  plane.steps = {};
  plane.producers = {};
  plane.consumers = {};
  plane.spans = {};
  plane.stats_pool = {};
  plane.event_names = {};
}

}  // namespace memtool::formats::xplane
