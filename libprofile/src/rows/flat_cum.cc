#include "memtool/profile/rows/flat_cum.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/once_per_text.h"
#include "memtool/profile/select/operation_name.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/view.h"

namespace memtool {

NodeWalker::NodeWalker(const View& view, Granularity granularity, NodeSpace& space)
    : view_(view), of_line_(space.OfLines(view.recording(), granularity)) {
  for (std::uint32_t group = 0; group < view.group_count(); ++group) {
    std::vector<NodeId> roots;
    for (const LabelFrame& frame : view.Roots(group)) {
      roots.push_back(space.OfLabelFrame(frame));
    }
    std::vector<NodeId> leaves;
    for (const LabelFrame& frame : view.Leaves(group)) {
      leaves.push_back(space.OfLabelFrame(frame));
    }
    std::reverse(roots.begin(), roots.end());
    std::reverse(leaves.begin(), leaves.end());
    roots_.push_back(std::move(roots));
    leaves_.push_back(std::move(leaves));
  }
}

bool NodeWalker::Expand(const StackSum& sum, NodeStack& out) {
  if (!view_.Expand(sum.stack, visible_)) {
    return false;
  }
  const auto& leaves = leaves_[sum.group];
  const auto& roots = roots_[sum.group];
  const std::size_t size = leaves.size() + visible_.lines.size() + roots.size();
  out.nodes.resize(size);
  out.lines.resize(size);
  auto node = std::copy(leaves.begin(), leaves.end(), out.nodes.begin());
  auto line_at = std::fill_n(out.lines.begin(), leaves.size(), LineId::kNone);
  line_at = std::copy(visible_.lines.begin(), visible_.lines.end(), line_at);
  std::fill_n(line_at, roots.size(), LineId::kNone);
  for (const std::uint32_t line : visible_.lines) {
    *node++ = of_line_[line];
  }
  std::copy(roots.begin(), roots.end(), node);
  out.via = visible_.via.valid() && leaves.empty() ? of_line_[visible_.via.value()] : NodeId();
  return true;
}

void FlatCum::Grow() {
  values_.resize(space_.size());
  last_seen_.resize(space_.size(), 0);
  places_.resize(space_.size());
}

void FlatCum::AddStack(const NodeStack& stack, const StackSum& sum) {
  total_ = SaturatingAdd(total_, sum.value);
  unknown_ = SaturatingAdd(unknown_, sum.unknown);
  if (stack.nodes.empty()) {
    without_stack_.flat = without_stack_.cum = SaturatingAdd(without_stack_.flat, sum.value);
    without_stack_.unknown_cum = without_stack_.unknown =
        SaturatingAdd(without_stack_.unknown, sum.unknown);
    return;
  }
  ++epoch_;
  for (const NodeId node : stack.nodes) {
    if (last_seen_[node.value()] == epoch_) {
      continue;
    }
    last_seen_[node.value()] = epoch_;
    NodeValue& value = values_[node.value()];
    value.cum = SaturatingAdd(value.cum, sum.value);
    value.unknown_cum = SaturatingAdd(value.unknown_cum, sum.unknown);
  }
  NodeValue& leaf = values_[stack.nodes.front().value()];
  leaf.flat = SaturatingAdd(leaf.flat, sum.value);
  leaf.unknown = SaturatingAdd(leaf.unknown, sum.unknown);
  if (stack.via.valid()) {
    const std::uint64_t pair =
        static_cast<std::uint64_t>(stack.nodes.front().value()) << 32U | stack.via.value();
    const std::uint32_t row = via_rows_.GetOrPut(pair, static_cast<std::uint32_t>(vias_.size()));
    if (row == vias_.size()) {
      vias_.push_back({.node = stack.nodes.front(), .via = stack.via});
    }
    vias_[row].weight = SaturatingAdd(vias_[row].weight, Magnitude(sum.value));
  }
}

void FlatCum::Add(const View& view, const StackSums& sums, Granularity granularity) {
  NodeWalker walker(view, granularity, space_);
  Grow();
  const Recording& recording = view.recording();
  std::vector<std::int64_t> flat_of_line(recording.lines.size());
  std::vector<std::int64_t> cum_of_line(recording.lines.size());
  NodeStack stack;
  for (const StackSum& sum : sums.rows) {
    if (!walker.Expand(sum, stack)) {
      continue;
    }
    AddStack(stack, sum);
    const std::int64_t weight = Magnitude(sum.value);
    for (const std::uint32_t line : stack.lines) {
      if (line != LineId::kNone) {
        cum_of_line[line] = SaturatingAdd(cum_of_line[line], weight);
      }
    }
    if (!stack.lines.empty() && stack.lines.front() != LineId::kNone) {
      std::int64_t& flat = flat_of_line[stack.lines.front()];
      flat = SaturatingAdd(flat, weight);
    }
  }
  const std::vector<NodeId>& of_line = walker.of_line();
  // A row's own memory decides; rows that only pass memory on are placed by what passes.
  for (std::size_t i = 0; i < flat_of_line.size(); ++i) {
    const bool passes_only = values_[of_line[i].value()].flat == 0;
    flat_of_line[i] = passes_only ? cum_of_line[i] : flat_of_line[i];
  }
  KeepPlaces(recording, of_line, flat_of_line);
}

void FlatCum::KeepPlaces(const Recording& recording, std::span<const NodeId> of_line,
                         std::span<const std::int64_t> weight) {
  // Locations are (code object, instruction): several share a line, so sum per line first.
  struct Part {
    NodeId node;
    FunctionId function;
    std::int64_t line;
    std::int64_t weight;
    [[nodiscard]] auto Key() const { return std::make_tuple(node.value(), function.value(), line); }
  };
  std::vector<Part> parts;
  parts.reserve(recording.lines.size());
  for (std::uint32_t i = 0; i < recording.lines.size(); ++i) {
    const Line& line = recording.lines[i];
    if (line.function.valid()) {
      parts.push_back({of_line[i], line.function, line.line, weight[i]});
    }
  }
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.Key() < b.Key(); });
  OncePerText file_of(
      [&](StringId id) { return space_.Share(space_.InternText(recording.Text(id))); });
  for (std::size_t i = 0, end = 0; i < parts.size(); i = end) {
    const Part& part = parts[i];
    std::int64_t sum = 0;
    for (end = i; end < parts.size() && parts[end].Key() == part.Key(); ++end) {
      sum = SaturatingAdd(sum, parts[end].weight);
    }
    Best& best = places_[part.node.value()];
    if (sum > best.weight) {
      const Function& function = recording.functions[part.function.value()];
      best.weight = sum;
      best.place = {file_of(function.filename), part.line != 0 ? part.line : function.start_line};
    }
  }
}

Place FlatCum::GetPlace(NodeId node) const {
  return node.value() < places_.size() ? places_[node.value()].place : Place{};
}

// Frames of one operation count together; the heaviest of them stands for it.
std::vector<NodeId> FlatCum::Vias() const {
  struct Call {
    std::int64_t weight = 0;
    std::int64_t heaviest = -1;
    NodeId node;
  };
  std::map<std::pair<std::size_t, std::string_view>, Call> calls;
  for (const auto& [node, via, weight] : vias_) {
    const std::string_view name = space_.Name(via);
    const std::string_view operation = OperationName(name);
    Call& call = calls[{node.value(), operation.empty() ? name : operation}];
    call.weight = SaturatingAdd(call.weight, weight);
    // Ties by name, so that the answer does not depend on the order of the input.
    if (weight > call.heaviest || (weight == call.heaviest && name < space_.Name(call.node))) {
      call.heaviest = weight;
      call.node = via;
    }
  }
  std::vector<NodeId> best(values_.size());
  std::vector<std::int64_t> best_weight(values_.size(), -1);
  for (const auto& [key, call] : calls) {
    if (call.weight > best_weight[key.first]) {
      best_weight[key.first] = call.weight;
      best[key.first] = call.node;
    }
  }
  return best;
}

}  // namespace memtool
