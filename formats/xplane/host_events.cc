#include "xplane/host_events.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/select/xla_names.h"
#include "support/byte_cursor.h"

namespace memtool::formats::xplane {

namespace {

class Collector {
 public:
  Collector(Plane& plane, HostEvents& host) : plane_(plane), host_(host) {}

  void Collect() {
    LookAtNames();
    host_.late += plane_.late;
    if (!plane_.memory.empty()) {
      JoinFlows();
      nodes_ = Resolved();
    }
    host_.bad_events += plane_.bad_memory;
    host_.bad_figures += plane_.bad_figures;
    host_.memory.reserve(host_.memory.size() + plane_.memory.size());
    for (MemoryEvent& event : plane_.memory) {
      if (const auto begin = GetBegin(event.line)) {
        event.time_ps = SaturatingAdd(*begin, event.time_ps);
        event.node = nodes_[event.node];
        host_.memory.push_back(event);
      } else {
        ++host_.bad_events;
      }
    }
    for (Step& step : plane_.steps) {
      if (const auto begin = GetBegin(step.line)) {
        step.begin_ps = SaturatingAdd(*begin, step.begin_ps);
        step.end_ps = SaturatingAdd(*begin, step.end_ps);
        host_.steps.push_back(std::move(step));
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
  std::optional<std::int64_t> GetBegin(std::uint32_t line) {
    const std::int64_t begin_ns = plane_.lines[line];
    if (!host_.base_ns) {
      host_.base_ns = begin_ns;
    }
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max() / 4000;
    const std::int64_t since = SaturatingSubtract(begin_ns, *host_.base_ns);
    return since > -kMax && since < kMax ? std::optional(since * 1000) : std::nullopt;
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
      return GetTime(*a) < GetTime(*b);
    };
    for (auto& [ends, producers] : wanted) {
      std::stable_sort(producers.begin(), producers.end(), earlier);
    }
    for (const FlowEnd& consumer : plane_.consumers) {
      const auto& producers = wanted.at({consumer.type, consumer.id});
      const auto after = std::upper_bound(producers.begin(), producers.end(), &consumer, earlier);
      // What a thread begins for itself is given by its own spans.
      if (after != producers.begin() && (*std::prev(after))->line != consumer.line) {
        begun_by_.emplace(consumer.node, (*std::prev(after))->node);
      }
    }
  }

  [[nodiscard]] std::int64_t GetTime(const FlowEnd& end) {
    return SaturatingAdd(GetBegin(end.line).value_or(0), end.offset_ps);
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
      resolved[node] = host_.spans.Of(parent, ToName(nodes[node].name));
    }
    return resolved;
  }

  // "PjitFunction(f)" under the name that operations have for it: "jit(f)".
  std::uint32_t ToName(std::uint32_t key) {
    const auto [it, added] = name_of_.try_emplace(key, 0);
    if (added) {
      const std::string& name = plane_.event_names.at(key);
      const std::string shown = name.starts_with(kJit) ? "jit(" + name.substr(kJit.size()) : name;
      it->second = host_.texts.Intern(std::as_bytes(std::span(shown)));
      if (plane_.code_spans.contains(key)) {
        host_.code_spans.insert(it->second);
      }
    }
    return it->second;
  }

  static constexpr std::string_view kJit = "PjitFunction(";

  Plane& plane_;
  HostEvents& host_;
  KeyMap<std::uint32_t, std::uint32_t> name_of_;
  KeyMap<std::uint32_t, std::uint32_t> begun_by_;  // a consumer's node, its producer's
  std::vector<std::uint32_t> nodes_;               // those of the plane in the host's
};

struct Ledger {
  KeyMap<std::uint64_t, std::pair<std::int64_t, std::int64_t>> live;  // bytes, requested
  std::optional<std::int64_t> allocated;                              // after the event before
};

void SizeFree(MemoryEvent& event, const Ledger& ledger) {
  const auto found = ledger.live.find(event.address);
  if (found != ledger.live.end()) {
    event.bytes = SaturatingSubtract(0, found->second.first);
    event.requested = found->second.second;
  } else if (ledger.allocated && event.allocated && *event.allocated < *ledger.allocated) {
    event.bytes = SaturatingSubtract(*event.allocated, *ledger.allocated);
    event.requested = Magnitude(event.bytes);
  } else {
    return;
  }
  event.unsized = false;
}

}  // namespace

void Collect(Plane& plane, HostEvents& host) {
  Collector(plane, host).Collect();
  plane.memory = {};
  plane.steps = {};
  plane.producers = {};
  plane.consumers = {};
  plane.spans = {};
  plane.code_spans = {};
  plane.event_names = {};
}

void SizeFrees(HostEvents& host) {
  const auto unsized = [](const MemoryEvent& event) { return event.unsized; };
  if (std::none_of(host.memory.begin(), host.memory.end(), unsized)) {
    return;
  }
  std::vector<std::size_t> rows(host.memory.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::stable_sort(rows.begin(), rows.end(), [&host](std::size_t a, std::size_t b) {
    return host.memory[a].time_ps < host.memory[b].time_ps;
  });
  std::map<std::uint32_t, Ledger> ledgers;
  for (const std::size_t row : rows) {
    MemoryEvent& event = host.memory[row];
    Ledger& ledger = ledgers[event.allocator];
    if (event.unsized) {
      SizeFree(event, ledger);
    }
    if (event.bytes > 0) {
      ledger.live[event.address] = {event.bytes, event.requested};
    } else {
      ledger.live.erase(event.address);
    }
    ledger.allocated = event.allocated;
  }
  host.bad_events +=
      static_cast<std::uint64_t>(std::count_if(host.memory.begin(), host.memory.end(), unsized));
  std::erase_if(host.memory, unsized);
}

}  // namespace memtool::formats::xplane
