#include "support/code_stacks.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "memtool/profile/base/numbers.h"

namespace memtool::formats {

namespace {

// In the order of threads, then times.
bool IsBefore(const CodeSpan& span, const CodeInstant& instant) {
  return span.thread < instant.thread ||
         (span.thread == instant.thread && span.begin <= instant.time);
}

// By thread, then time; empty where they are in this order.
std::vector<std::uint32_t> OrderOf(std::size_t count,
                                   const std::function<CodeInstant(std::size_t)>& at) {
  const auto key = [&at](std::size_t row) {
    const CodeInstant instant = at(row);
    return std::pair(instant.thread, instant.time);
  };
  std::size_t sorted = 1;
  while (sorted < count && key(sorted - 1) <= key(sorted)) {
    ++sorted;
  }
  std::vector<std::uint32_t> order;
  if (sorted < count) {
    order.resize(count);
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&key](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  }
  return order;
}

}  // namespace

CodePlace PlaceOfPythonCall(std::string_view name) {
  const std::size_t colon = name.find("): ");
  const std::size_t open = name.rfind('(', colon);
  if (colon == std::string_view::npos || open == std::string_view::npos || open == 0) {
    return {.function = name, .file = {}};
  }
  const std::string_view function = name.substr(colon + 3);
  const auto line = ParseNumber<std::int64_t>(name.substr(open + 1, colon - open - 1));
  return line && !function.empty()
             ? CodePlace{.function = function, .file = name.substr(0, open), .line = *line}
             : CodePlace{.function = name, .file = {}};
}

CodeStacks::CodeStacks(RecordingBuilder& builder, std::span<const CodeSpan> spans,
                       std::function<CodePlace(std::uint32_t)> place_of, std::uint64_t depth)
    : builder_(builder),
      spans_(spans),
      place_of_(std::move(place_of)),
      depth_(depth),
      order_(spans.size()) {
  std::iota(order_.begin(), order_.end(), 0U);
  // By thread, then time; of spans that begin together, the longer one is the caller.
  const auto before = [spans](std::uint32_t a, std::uint32_t b) {
    if (spans[a].thread != spans[b].thread) {
      return spans[a].thread < spans[b].thread;
    }
    return spans[a].begin != spans[b].begin ? spans[a].begin < spans[b].begin
                                            : spans[a].end > spans[b].end;
  };
  if (!std::is_sorted(order_.begin(), order_.end(), before)) {
    std::stable_sort(order_.begin(), order_.end(), before);
  }
}

void CodeStacks::SetFlows(std::span<const CodeFlow> flows) {
  for (const CodeFlow& flow : flows) {
    producer_of_.emplace(flow.consumer, flow.producer);
    producer_node_.emplace(flow.producer, 0);
  }
  if (flows.empty()) {
    return;
  }
  // Producers first: what began the work of a thread may itself have been begun elsewhere.
  constexpr int kHops = 3;
  for (int hop = 0; hop < kHops; ++hop) {
    std::vector<Open> open;
    std::uint32_t thread = 0;
    for (const std::uint32_t row : order_) {
      if (spans_[row].thread != thread) {
        open.clear();
        thread = spans_[row].thread;
      }
      Enter(row, open);
    }
  }
}

std::vector<std::uint32_t> CodeStacks::Around(std::span<const CodeInstant> instants) {
  return Around(instants.size(), [instants](std::size_t row) { return instants[row]; });
}

std::vector<std::uint32_t> CodeStacks::Around(std::size_t count,
                                              const std::function<CodeInstant(std::size_t)>& at) {
  const std::vector<std::uint32_t> order = OrderOf(count, at);
  std::vector<std::uint32_t> nodes(count, 0);
  std::vector<Open> open;
  std::size_t next = 0;  // of order_
  std::uint32_t thread = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t row = order.empty() ? i : order[i];
    const CodeInstant instant = at(row);
    if (instant.thread != thread) {
      open.clear();
      thread = instant.thread;
    }
    for (; next < order_.size() && IsBefore(spans_[order_[next]], instant); ++next) {
      if (spans_[order_[next]].thread == thread) {
        Enter(order_[next], open);
      }
    }
    while (!open.empty() && open.back().end < instant.time) {
      open.pop_back();
    }
    nodes[row] = open.empty() ? 0 : open.back().node;
  }
  return nodes;
}

void CodeStacks::ForgetSpans() {
  spans_ = {};
  order_ = {};
}

void CodeStacks::Enter(std::uint32_t row, std::vector<Open>& open) {
  const CodeSpan& span = spans_[row];
  while (!open.empty() && open.back().end <= span.begin) {
    open.pop_back();
  }
  const bool called = !open.empty();
  std::uint32_t parent = called ? open.back().node : 0;
  // What another thread began runs on its behalf, whatever is open around it here.
  const auto begun = producer_of_.find(row);
  if (begun != producer_of_.end() && spans_[begun->second].thread != span.thread) {
    const std::uint32_t there = producer_node_.at(begun->second);
    parent = there != 0 ? there : parent;
  }
  const std::uint32_t node = GetNode(parent, span.name);
  const auto producer = producer_node_.find(row);
  if (producer != producer_node_.end()) {
    producer->second = node;
  }
  // A span that outlives its caller ends with it, so that open spans always nest.
  open.push_back({called ? std::min(span.end, open.back().end) : span.end, node});
}

std::uint32_t CodeStacks::GetNode(std::uint32_t parent, std::uint32_t name) {
  const auto [it, added] = node_of_.emplace(std::uint64_t{parent} << 32U | name,
                                            static_cast<std::uint32_t>(nodes_.size()));
  if (added) {
    nodes_.push_back({.parent = parent, .name = name, .depth = nodes_[parent].depth + 1});
  }
  return it->second;
}

StackId CodeStacks::GetStack(std::uint32_t node) {
  if (node != 0 && !nodes_[node].stack.valid()) {
    const std::uint64_t depth = nodes_[node].depth;
    const std::uint64_t step = std::max<std::uint64_t>(1, depth_ / 2);
    const std::uint64_t lost = depth > depth_ ? (depth - depth_ + step - 1) / step * step : 0;
    cut_ += lost > 0 ? 1 : 0;
    std::vector<LocationId> locations;
    for (std::uint32_t at = node; locations.size() + lost < depth; at = nodes_[at].parent) {
      locations.push_back(GetLocation(nodes_[at].name));
    }
    nodes_[node].stack = builder_.AddStack(locations);
  }
  return nodes_[node].stack;
}

LocationId CodeStacks::GetLocation(std::uint32_t name) {
  LocationId& location = locations_[name];
  if (!location.valid()) {
    const CodePlace place = place_of_(name);
    const StringId function = builder_.Intern(place.function);
    const std::array<Line, 1> line{{{.function = builder_.AddFunction({
                                         .name = function,
                                         .system_name = function,
                                         .filename = builder_.Intern(place.file),
                                         .start_line = place.start_line,
                                     }),
                                     .line = place.line}}};
    location = builder_.AddLocation({}, line);
  }
  return location;
}

}  // namespace memtool::formats
