#include "memtool/profile/rows/saves.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/select/at_moment.h"
#include "memtool/profile/select/view.h"

namespace memtool {

std::vector<std::int64_t> PeakWithoutRows(const HistoryIndex& index, const View& view,
                                          std::span<const MomentOfTrace> moments,
                                          std::span<const Row> rows, Granularity granularity,
                                          NodeSpace& space, SaveOf of) {
  const Recording& recording = view.recording();
  std::unordered_map<std::uint32_t, std::uint32_t> row_of_node;
  Replay::SharedGroups groups{.count = rows.size()};
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    if (rows[i].node.valid()) {
      row_of_node.emplace(rows[i].node.value(), i);
    } else if (rows[i].name == kNoStack) {
      groups.without_stack = i;
    }
  }
  NodeWalker walker(view, granularity, space);
  NodeStack stack;
  std::vector<std::uint32_t> first{0};
  std::vector<std::uint32_t> members;
  for (std::uint32_t i = 0; i < recording.stack_count(); ++i) {
    if (walker.Expand({.stack = StackId(i)}, stack)) {
      if (stack.nodes.empty()) {
        members.push_back(groups.without_stack);
      } else if (of == SaveOf::kOwn) {
        stack.nodes.resize(1);
      }
      for (const NodeId node : stack.nodes) {
        const auto row = row_of_node.find(node.value());
        const bool known =
            row != row_of_node.end() &&
            std::find(members.begin() + first.back(), members.end(), row->second) == members.end();
        if (known) {
          members.push_back(row->second);
        }
        if (row != row_of_node.end() && space.Name(node) == kBeforeRecording) {
          groups.before_recording = row->second;
        }
      }
    }
    first.push_back(static_cast<std::uint32_t>(members.size()));
  }
  groups.first = first;
  groups.members = members;
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
