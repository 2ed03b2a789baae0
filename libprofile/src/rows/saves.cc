#include "memtool/profile/rows/saves.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/select/at_moment.h"
#include "memtool/profile/select/view.h"

namespace memtool {

namespace {

// What a row saves is not what it holds at the peak: without it the peak may move to a moment when
// other rows hold more. So each row needs the peak of a replay without its allocations, and
// Replay::PeakWithout computes these for any number of groups in one pass.
//
// The groups of each stack, for that replay: row R's own allocations are group R, those with its
// callees' are group R plus the number of rows.
class GroupsOfRows {
 public:
  GroupsOfRows(const View& view, const RankedRows& ranked)
      : space_(*ranked.space),
        count_(static_cast<std::uint32_t>(ranked.rows.size())),
        with_callees_(ranked.with_callees) {
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
    NoteParts(*view.recording().history);
    ShareEqualGroups();
  }

  [[nodiscard]] Replay::SharedGroups groups() const {
    return {.first = first_,
            .members = members_,
            .before_recording = before_recording_,
            .without_stack = without_stack_,
            .count = 2 * std::size_t{count_},
            .without_address = without_address_};
  }

  // The group that is replayed for `group`, which has the same members; none where a replay of
  // whole allocations does not tell.
  [[nodiscard]] std::optional<std::size_t> Replayed(std::size_t group) const {
    return unknown_.empty() || unknown_[group] == 0 ? std::optional<std::size_t>(same_[group])
                                                    : std::nullopt;
  }

 private:
  // Leaves one of the groups that are of the same stacks: a leaf's own allocations are those with
  // its callees, main() and what it calls once have all there are. The cost of the replay grows
  // with the number of groups per stack, and in deep Python stacks most of the outer frames are
  // such duplicates.
  void ShareEqualGroups() {
    constexpr std::uint32_t kNoAddress = UINT32_MAX - 2;  // in place of a stack
    constexpr std::uint32_t kBefore = UINT32_MAX - 1;
    constexpr std::uint32_t kWithout = UINT32_MAX;
    std::vector<std::vector<std::uint32_t>> stacks(2 * std::size_t{count_});
    for (std::uint32_t i = 0; i + 1 < first_.size(); ++i) {
      for (std::uint32_t at = first_[i]; at < first_[i + 1]; ++at) {
        stacks[members_[at]].push_back(i);
      }
    }
    const auto add = [&stacks](const std::vector<std::uint32_t>& groups, std::uint32_t what) {
      for (const std::uint32_t group : groups) {
        stacks[group].push_back(what);
      }
    };
    add(before_recording_, kBefore);
    add(without_stack_, kWithout);
    add(without_address_, kNoAddress);
    std::map<std::vector<std::uint32_t>, std::uint32_t> first_with;
    for (std::uint32_t group = 0; group < stacks.size(); ++group) {
      same_.push_back(first_with.emplace(std::move(stacks[group]), group).first->second);
    }
    const auto shared = [this](std::uint32_t group) { return same_[group] != group; };
    std::vector<std::uint32_t> kept;
    kept.reserve(members_.size());
    for (std::size_t i = 0; i + 1 < first_.size(); ++i) {
      const auto from = members_.begin() + first_[i];
      first_[i] = static_cast<std::uint32_t>(kept.size());
      std::remove_copy_if(from, members_.begin() + first_[i + 1], std::back_inserter(kept), shared);
    }
    first_.back() = static_cast<std::uint32_t>(kept.size());
    members_ = std::move(kept);
    std::erase_if(before_recording_, shared);
    std::erase_if(without_stack_, shared);
    std::erase_if(without_address_, shared);
  }

  [[nodiscard]] std::span<const std::uint32_t> GetMembers(StackId stack) const {
    return std::span(members_).subspan(first_[stack.value()],
                                       first_[stack.value() + 1] - first_[stack.value()]);
  }

  // Allocations are replayed whole. A row that has a part of one, and not the whole, cannot be
  // known; nor what a row saves that is shown with a part left of what it made.
  void NoteParts(const History& history) {
    if (history.breakdowns.empty()) {
      return;
    }
    unknown_.assign(2 * std::size_t{count_}, 0);
    for (const Breakdown& breakdown : history.breakdowns) {
      const auto whole = GetMembers(breakdown.stack);
      // What lost its rounding alone is there, or is not, with it.
      const bool rounded = history.parts[breakdown.first_part].stack == breakdown.stack;
      for (const std::uint32_t group : whole) {
        if (group < count_ && !rounded) {
          unknown_[group] = 1;
        }
      }
      for (const BreakdownPart& part :
           std::span(history.parts).subspan(breakdown.first_part, breakdown.part_count)) {
        for (const std::uint32_t group : GetMembers(part.stack)) {
          if (std::find(whole.begin(), whole.end(), group) == whole.end()) {
            unknown_[group] = 1;
          }
        }
      }
    }
  }

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
      if (with_callees_ && std::find(members_.begin() + first_.back(), members_.end(),
                                     row + count_) == members_.end()) {
        members_.push_back(row + count_);
      }
      if (space_.Name(stack.nodes[depth]) == kBeforeRecording) {
        before_recording_ = {row, row + count_};
      } else if (space_.Name(stack.nodes[depth]) == kWithoutAddress) {
        without_address_ = {row, row + count_};
      }
    }
  }

  NodeSpace& space_;
  std::uint32_t count_;
  bool with_callees_;
  KeyMap<std::uint32_t, std::uint32_t> row_of_node_;
  std::vector<std::uint32_t> first_{0};
  std::vector<std::uint32_t> members_;
  std::vector<std::uint32_t> before_recording_;
  std::vector<std::uint32_t> without_stack_;
  std::vector<std::uint32_t> without_address_;
  std::vector<std::uint32_t> same_;  // per group
  std::vector<char> unknown_;        // per group; empty without breakdowns
};

}  // namespace

std::vector<PeakWithoutRow> PeakWithoutRows(const HistoryIndex& index, const View& view,
                                            std::span<const MomentOfTrace> moments,
                                            const RankedRows& ranked) {
  const GroupsOfRows groups(view, ranked);
  std::vector<PeakWithoutRow> peaks(ranked.rows.size());
  for (const MomentOfTrace& moment : moments) {
    const auto without = index.replay(moment.trace).PeakWithout(groups.groups());
    const auto add = [&](std::optional<std::int64_t>& sum, std::size_t group) {
      const auto replayed = groups.Replayed(group);
      const auto peak = replayed ? Unclamped(without[*replayed]) : std::nullopt;
      sum = sum && peak ? std::optional(SaturatingAdd(*sum, *peak)) : std::nullopt;
    };
    for (std::size_t i = 0; i < peaks.size(); ++i) {
      add(peaks[i].own, i);
      if (ranked.with_callees) {
        add(peaks[i].with_callees, i + peaks.size());
      } else {
        peaks[i].with_callees.reset();
      }
    }
  }
  return peaks;
}

}  // namespace memtool
