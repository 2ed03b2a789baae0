#include "kineto/code_stacks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <string_view>

#include "support/byte_cursor.h"

namespace memtool::formats::kineto {

namespace {

struct Place {
  std::string_view function;
  std::string_view file;
  std::int64_t line = 0;
};

// "model.py(12): forward" as the profiler names Python functions; anything else is a name.
Place PlaceOf(std::string_view name) {
  const std::size_t colon = name.find("): ");
  const std::size_t open = name.rfind('(', colon);
  if (colon == std::string_view::npos || open == std::string_view::npos || open == 0) {
    return {.function = name, .file = {}};
  }
  Place place{.function = name.substr(colon + 3), .file = name.substr(0, open)};
  const std::string_view line = name.substr(open + 1, colon - open - 1);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), place.line);
  const bool whole = error == std::errc{} && end == line.data() + line.size();
  return whole && !place.function.empty() ? place : Place{.function = name, .file = {}};
}

// In the order of threads, then times.
bool IsBefore(const Span& span, const MemoryEvent& event) {
  return span.thread < event.thread || (span.thread == event.thread && span.begin <= event.time);
}

}  // namespace

CodeStacks::CodeStacks(RecordingBuilder& builder, TraceEvents& trace, std::uint64_t depth)
    : builder_(builder), trace_(trace), depth_(depth), locations_(trace.names.size()) {
  // By thread, then time; of spans that begin together, the longer one is the caller.
  std::stable_sort(trace_.spans.begin(), trace_.spans.end(), [](const Span& a, const Span& b) {
    if (a.thread != b.thread) {
      return a.thread < b.thread;
    }
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
}

std::vector<StackId> CodeStacks::Around(const std::vector<MemoryEvent>& memory) {
  std::vector<std::uint32_t> order(memory.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&memory](std::uint32_t a, std::uint32_t b) {
    return std::pair(memory[a].thread, memory[a].time) <
           std::pair(memory[b].thread, memory[b].time);
  });
  std::vector<StackId> stacks(memory.size());
  std::vector<Open> open;
  std::size_t next = 0;  // span
  std::uint32_t thread = 0;
  for (const std::uint32_t row : order) {
    const MemoryEvent& event = memory[row];
    if (event.thread != thread) {
      open.clear();
      thread = event.thread;
    }
    for (; next < trace_.spans.size() && IsBefore(trace_.spans[next], event); ++next) {
      if (trace_.spans[next].thread == thread) {
        Enter(trace_.spans[next], open);
      }
    }
    while (!open.empty() && open.back().end < event.time) {
      open.pop_back();
    }
    stacks[row] = open.empty() ? StackId{} : StackOf(open.back().node);
  }
  return stacks;
}

void CodeStacks::Enter(const Span& span, std::vector<Open>& open) {
  while (!open.empty() && open.back().end <= span.begin) {
    open.pop_back();
  }
  // A span that outlives its caller ends with it, so that open spans always nest.
  const bool called = !open.empty();
  open.push_back({called ? std::min(span.end, open.back().end) : span.end,
                  NodeOf(called ? open.back().node : 0, span.name)});
}

std::uint32_t CodeStacks::NodeOf(std::uint32_t parent, std::uint32_t name) {
  const auto [it, added] = node_of_.emplace(std::uint64_t{parent} << 32U | name,
                                            static_cast<std::uint32_t>(nodes_.size()));
  if (added) {
    nodes_.push_back({.parent = parent, .name = name, .stack = {}});
  }
  return it->second;
}

StackId CodeStacks::StackOf(std::uint32_t node) {
  if (!nodes_[node].stack.valid()) {
    std::vector<LocationId> locations;
    for (std::uint32_t at = node; at != 0; at = nodes_[at].parent) {
      if (locations.size() == depth_) {
        ++cut_;
        break;
      }
      locations.push_back(LocationOf(nodes_[at].name));
    }
    nodes_[node].stack = builder_.AddStack(locations);
  }
  return nodes_[node].stack;
}

LocationId CodeStacks::LocationOf(std::uint32_t name) {
  LocationId& location = locations_[name];
  if (!location.valid()) {
    const Place place = PlaceOf(AsText(trace_.names[name]));
    const StringId function = builder_.Intern(place.function);
    const std::array<Line, 1> line{
        {{.function = builder_.AddFunction(
              {.name = function, .system_name = function, .filename = builder_.Intern(place.file)}),
          .line = place.line}}};
    location = builder_.AddLocation({}, line);
  }
  return location;
}

}  // namespace memtool::formats::kineto
