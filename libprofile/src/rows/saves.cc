#include "memtool/profile/rows/saves.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/select/at_moment.h"
#include "memtool/profile/select/view.h"

namespace memtool {

namespace {

// The groups of each stack, for one replay: row R's own allocations are group R, those with its
// callees' are group R plus the number of rows.
class GroupsOfRows {
 public:
  GroupsOfRows(const View& view, const RankedRows& ranked)
      : space_(*ranked.space), count_(static_cast<std::uint32_t>(ranked.rows.size())) {
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (ranked.rows[i].node.valid()) {
        row_of_node_.emplace(ranked.rows[i].node.value(), i);
      } else if (ranked.rows[i].name == kNoStack) {
        without_stack_ = {i, i + count_};
      }
    }
    NodeWalker walker(view, ranked.granularity, space_);
    NodeStack stack;
    for (std::uint32_t i = 0; i < view.recording().stack_count(); ++i) {
      if (walker.Expand({.stack = StackId(i)}, stack)) {
        AddStack(stack);
      }
      first_.push_back(static_cast<std::uint32_t>(members_.size()));
    }
  }

  [[nodiscard]] Replay::SharedGroups groups() const {
    return {.first = first_,
            .members = members_,
            .before_recording = before_recording_,
            .without_stack = without_stack_,
            .count = 2 * std::size_t{count_}};
  }

 private:
  void AddStack(const NodeStack& stack) {
    if (stack.nodes.empty()) {
      members_.insert(members_.end(), without_stack_.begin(), without_stack_.end());
    }
    for (std::size_t depth = 0; depth < stack.nodes.size(); ++depth) {
      const auto found = row_of_node_.find(stack.nodes[depth].value());
      if (found == row_of_node_.end()) {
        continue;
      }
      const std::uint32_t row = found->second;
      if (depth == 0) {
        members_.push_back(row);
      }
      // A row counts once for a stack that goes through it twice.
      if (std::find(members_.begin() + first_.back(), members_.end(), row + count_) ==
          members_.end()) {
        members_.push_back(row + count_);
      }
      if (space_.Name(stack.nodes[depth]) == kBeforeRecording) {
        before_recording_ = {row, row + count_};
      }
    }
  }

  NodeSpace& space_;
  std::uint32_t count_;
  std::unordered_map<std::uint32_t, std::uint32_t> row_of_node_;
  std::vector<std::uint32_t> first_{0};
  std::vector<std::uint32_t> members_;
  std::vector<std::uint32_t> before_recording_;
  std::vector<std::uint32_t> without_stack_;
};

}  // namespace

std::vector<PeakWithoutRow> PeakWithoutRows(const HistoryIndex& index, const View& view,
                                            std::span<const MomentOfTrace> moments,
                                            const RankedRows& ranked) {
  const GroupsOfRows groups(view, ranked);
  std::vector<PeakWithoutRow> peaks(ranked.rows.size());
  for (const MomentOfTrace& moment : moments) {
    const auto without = index.replay(moment.trace).PeakWithout(groups.groups());
    for (std::size_t i = 0; i < peaks.size(); ++i) {
      peaks[i].own = SaturatingAdd(peaks[i].own, without[i]);
      peaks[i].with_callees = SaturatingAdd(peaks[i].with_callees, without[i + peaks.size()]);
    }
  }
  return peaks;
}

}  // namespace memtool
