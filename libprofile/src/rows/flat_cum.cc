#include "memtool/profile/rows/flat_cum.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/on_threads.h"
#include "memtool/profile/base/once_per_text.h"
#include "memtool/profile/base/shared_text.h"
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

bool NodeWalker::Expand(const StackSum& sum, NodeStack& out) const {
  const VisibleStack& visible = out.visible;
  if (!view_.Expand(sum.stack, out.visible)) {
    return false;
  }
  const auto& leaves = leaves_[sum.group];
  const auto& roots = roots_[sum.group];
  const std::size_t size = leaves.size() + visible.lines.size() + roots.size();
  out.nodes.resize(size);
  out.lines.resize(size);
  auto node = std::copy(leaves.begin(), leaves.end(), out.nodes.begin());
  auto line_at = std::fill_n(out.lines.begin(), leaves.size(), LineId::kNone);
  line_at = std::copy(visible.lines.begin(), visible.lines.end(), line_at);
  std::fill_n(line_at, roots.size(), LineId::kNone);
  for (const std::uint32_t line : visible.lines) {
    *node++ = of_line_[line];
  }
  std::copy(roots.begin(), roots.end(), node);
  out.via = visible.via.valid() && leaves.empty() ? of_line_[visible.via.value()] : NodeId();
  return true;
}

void FlatCum::Sums::Resize(std::size_t nodes) {
  values.resize(nodes);
  last_seen.resize(nodes, 0);
}

void FlatCum::Sums::Add(const NodeStack& stack, const StackSum& sum) {
  total = SaturatingAdd(total, sum.value);
  unknown = SaturatingAdd(unknown, sum.unknown);
  if (stack.nodes.empty()) {
    without_stack.flat = without_stack.cum = SaturatingAdd(without_stack.flat, sum.value);
    without_stack.unknown_cum = without_stack.unknown =
        SaturatingAdd(without_stack.unknown, sum.unknown);
    return;
  }
  ++epoch;
  for (const NodeId node : stack.nodes) {
    if (last_seen[node.value()] == epoch) {
      continue;
    }
    last_seen[node.value()] = epoch;
    NodeValue& value = values[node.value()];
    value.cum = SaturatingAdd(value.cum, sum.value);
    value.unknown_cum = SaturatingAdd(value.unknown_cum, sum.unknown);
  }
  NodeValue& leaf = values[stack.nodes.front().value()];
  leaf.flat = SaturatingAdd(leaf.flat, sum.value);
  leaf.unknown = SaturatingAdd(leaf.unknown, sum.unknown);
  if (stack.via.valid()) {
    AddVia({stack.nodes.front(), stack.via, Magnitude(sum.value)});
  }
}

void FlatCum::Sums::AddVia(const Via& via) {
  const std::uint64_t pair = static_cast<std::uint64_t>(via.node.value()) << 32U | via.via.value();
  const std::uint32_t row = via_rows.GetOrPut(pair, static_cast<std::uint32_t>(vias.size()));
  if (row == vias.size()) {
    vias.push_back({.node = via.node, .via = via.via});
  }
  vias[row].weight = SaturatingAdd(vias[row].weight, via.weight);
}

// Of as many nodes.
void FlatCum::Sums::Add(const Sums& other) {
  const auto add = [](NodeValue& to, const NodeValue& from) {
    to.flat = SaturatingAdd(to.flat, from.flat);
    to.cum = SaturatingAdd(to.cum, from.cum);
    to.unknown = SaturatingAdd(to.unknown, from.unknown);
    to.unknown_cum = SaturatingAdd(to.unknown_cum, from.unknown_cum);
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    add(values[i], other.values[i]);
  }
  for (const Via& via : other.vias) {
    AddVia(via);
  }
  add(without_stack, other.without_stack);
  total = SaturatingAdd(total, other.total);
  unknown = SaturatingAdd(unknown, other.unknown);
}

void FlatCum::Walk(const NodeWalker& walker, std::span<const StackSum> rows, Sums& sums,
                   std::vector<LineValue>& of_line) {
  NodeStack stack;
  for (const StackSum& sum : rows) {
    if (!walker.Expand(sum, stack)) {
      continue;
    }
    sums.Add(stack, sum);
    const std::int64_t weight = Magnitude(sum.value);
    for (const std::uint32_t line : stack.lines) {
      if (line != LineId::kNone) {
        of_line[line].seen = true;
        of_line[line].cum = SaturatingAdd(of_line[line].cum, weight);
      }
    }
    if (!stack.lines.empty() && stack.lines.front() != LineId::kNone) {
      std::int64_t& flat = of_line[stack.lines.front()].flat;
      flat = SaturatingAdd(flat, weight);
    }
  }
}

void FlatCum::Add(const View& view, const StackSums& sums, Granularity granularity) {
  const NodeWalker walker(view, granularity, space_);
  sums_.Resize(space_.size());
  const std::span<const StackSum> rows = sums.rows;
  std::vector<LineValue> of_line(view.recording().lines.size());
  // Each has sums of its own for all lines, which must not cost more than its stacks.
  const auto parts =
      SplitForThreads(rows.size(), std::max(sums.MinRowsPerThread(), of_line.size()));
  struct Part {
    Sums sums;
    std::vector<LineValue> of_line;
  };
  std::vector<Part> others(parts.size() - 1);
  OnThreads(parts.size(), [&](std::size_t i) {
    const auto part = rows.subspan(parts[i].begin, parts[i].end - parts[i].begin);
    if (i == 0) {
      Walk(walker, part, sums_, of_line);
      return;
    }
    Part& other = others[i - 1];
    other.sums.Resize(space_.size());
    other.of_line.resize(of_line.size());
    Walk(walker, part, other.sums, other.of_line);
  });
  for (const Part& other : others) {
    sums_.Add(other.sums);
    for (std::size_t i = 0; i < of_line.size(); ++i) {
      of_line[i].flat = SaturatingAdd(of_line[i].flat, other.of_line[i].flat);
      of_line[i].cum = SaturatingAdd(of_line[i].cum, other.of_line[i].cum);
      of_line[i].seen = of_line[i].seen || other.of_line[i].seen;
    }
  }
  KeepLines(view.recording(), walker.of_line(), of_line);
}

// Locations are (code object, instruction): several share a line.
void FlatCum::KeepLines(const Recording& recording, std::span<const NodeId> of_line,
                        std::span<const LineValue> values) {
  OncePerText file_of([&](StringId id) { return space_.InternText(recording.Text(id)); });
  for (std::uint32_t i = 0; i < recording.lines.size(); ++i) {
    const Line& line = recording.lines[i];
    if (!line.function.valid() || !values[i].seen) {
      continue;
    }
    const Function& function = recording.functions[line.function.value()];
    LineValue& sum = lines_[{of_line[i], file_of(function.filename),
                             line.line != 0 ? line.line : function.start_line}];
    sum.flat = SaturatingAdd(sum.flat, values[i].flat);
    sum.cum = SaturatingAdd(sum.cum, values[i].cum);
  }
}

std::vector<Place> FlatCum::Places() const {
  struct Best {
    std::int64_t weight = 0;
    StringId file;
    std::int64_t line = 0;
  };
  const auto before = [this](const Best& a, const Best& b) {
    const auto text = [this](StringId file) {
      return space_.Text(file).substr(0, SharedText::kHead);
    };
    return a.weight != b.weight ? a.weight > b.weight
           : a.file != b.file   ? text(a.file) < text(b.file)
                                : a.line < b.line;
  };
  std::vector<Best> best(sums_.values.size());
  std::vector<Place> places(sums_.values.size());
  for (const auto& [key, sum] : lines_) {
    const auto& [node, file, line] = key;
    const Best one{sums_.values[node.value()].flat == 0 ? sum.cum : sum.flat, file, line};
    places[node.value()].more += one.weight > 0 ? 1 : 0;
    Best& known = best[node.value()];
    known = !known.file.valid() || before(one, known) ? one : known;
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (best[i].file.valid()) {
      places[i].file = space_.Share(best[i].file);
      places[i].line = best[i].line;
      places[i].more -= best[i].weight > 0 ? 1 : 0;
    }
  }
  return places;
}

// Frames of one operation count together; the heaviest of them stands for it.
std::vector<NodeId> FlatCum::Vias() const {
  struct Call {
    std::int64_t weight = 0;
    std::int64_t heaviest = -1;
    NodeId node;
  };
  std::map<std::pair<std::size_t, std::string_view>, Call> calls;
  for (const auto& [node, via, weight] : sums_.vias) {
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
  std::vector<NodeId> best(sums_.values.size());
  std::vector<std::int64_t> best_weight(sums_.values.size(), -1);
  for (const auto& [key, call] : calls) {
    if (call.weight > best_weight[key.first]) {
      best_weight[key.first] = call.weight;
      best[key.first] = call.node;
    }
  }
  return best;
}

}  // namespace memtool
