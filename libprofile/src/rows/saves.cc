#include "memtool/profile/rows/saves.h"

#include <unordered_map>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/select/at_moment.h"
#include "memtool/profile/select/view.h"

namespace memtool {

std::vector<std::int64_t> PeakWithoutRows(const HistoryIndex& index, const View& view,
                                          std::span<const MomentOfTrace> moments,
                                          std::span<const Row> rows, Granularity granularity,
                                          NodeSpace& space) {
  const Recording& recording = view.recording();
  std::unordered_map<std::uint32_t, std::uint32_t> row_of_node;
  Replay::Groups groups{.count = rows.size()};
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    if (rows[i].node.valid()) {
      row_of_node.emplace(rows[i].node.value(), i);
    } else if (rows[i].name == kNoStack) {
      groups.without_stack = i;
    }
  }
  NodeWalker walker(view, granularity, space);
  NodeStack stack;
  std::vector<std::uint32_t> of_stack(recording.stack_count(), Replay::kNoGroup);
  for (std::uint32_t i = 0; i < of_stack.size(); ++i) {
    if (!walker.Expand({.stack = StackId(i)}, stack)) {
      continue;
    }
    if (stack.nodes.empty()) {
      of_stack[i] = groups.without_stack;
      continue;
    }
    const auto row = row_of_node.find(stack.nodes.front().value());
    of_stack[i] = row == row_of_node.end() ? Replay::kNoGroup : row->second;
    if (space.Name(stack.nodes.front()) == kBeforeRecording) {
      groups.before_recording = of_stack[i];
    }
  }
  groups.of_stack = of_stack;
  std::vector<std::int64_t> peaks(rows.size(), 0);
  for (const MomentOfTrace& moment : moments) {
    const auto without = index.replay(moment.trace).PeakWithout(groups);
    for (std::size_t i = 0; i < peaks.size(); ++i) {
      peaks[i] = SaturatingAdd(peaks[i], without[i]);
    }
  }
  return peaks;
}

}  // namespace memtool
