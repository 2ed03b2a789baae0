// One recording seen through a filter: what every analysis reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/model/recording.h"
#include "memtool/profile/select/filter.h"

namespace memtool {

// A frame that stands for label values (tag root, tag leaf).
struct LabelFrame {
  std::string value;  // values of the key joined with ","; empty when the sample has no such label
  std::string key;
};

// One stack as the filter lets it through.
struct VisibleStack {
  std::vector<std::uint32_t> lines;  // rows of Recording::lines, innermost first
  LineId via;  // the call into a framework: the nearest hidden frame below the innermost visible
               // one, wrappers skipped
};

// One recording seen through a filter. Cheap to make; answers are computed per distinct stack.
class View {
 public:
  // Both are kept by reference and must outlive the view.
  View(const Recording& recording, const Filter& filter);

  [[nodiscard]] const Recording& recording() const { return recording_; }
  [[nodiscard]] const FilterOptions& filter_options() const;

  // False when the stack's samples are filtered out. `out` is reused between calls.
  bool Expand(StackId id, VisibleStack& out) const;
  // The same as whole locations, before the frame mode: those with a visible line.
  bool Expand(StackId id, std::vector<LocationId>& out) const;
  // False for lines that hide, show, show-from, prune-from or drop-frames take out of every stack.
  [[nodiscard]] bool Shows(LineId line) const {
    return !filters_frames_ || line_hidden_[line.value()] == 0;
  }
  [[nodiscard]] bool Keeps(LabelSetId labels) const { return keep_labels_[labels.value()] != 0; }
  [[nodiscard]] bool KeepsAllLabels() const {
    return std::find(keep_labels_.begin(), keep_labels_.end(), 0) == keep_labels_.end();
  }
  // Labels shown by tag show and hide.
  [[nodiscard]] bool ShowsKey(StringId key) const {
    return MatchesTagShow(key) && !MatchesTagHide(key);
  }
  [[nodiscard]] bool MatchesTagShow(StringId key) const;  // true without one
  [[nodiscard]] bool MatchesTagHide(StringId key) const;
  // The tag filters alone; true for TagFocus without one, false for TagIgnore.
  [[nodiscard]] bool MatchesTagFocus(LabelSetId labels) const;
  [[nodiscard]] bool MatchesTagIgnore(LabelSetId labels) const;

  // Label frames: samples with the same group get the same extra frames. Group 0 has none unless
  // tag root or leaf was given.
  [[nodiscard]] bool has_label_frames() const { return !roots_.empty() || !leaves_.empty(); }
  [[nodiscard]] std::uint32_t GetGroup(LabelSetId labels) const {
    return groups_.empty() ? 0 : groups_[labels.value()];
  }
  [[nodiscard]] std::size_t group_count() const { return group_roots_.size(); }
  // Outermost first.
  [[nodiscard]] std::span<const LabelFrame> Roots(std::uint32_t group) const {
    return group_roots_[group];
  }
  // Innermost last.
  [[nodiscard]] std::span<const LabelFrame> Leaves(std::uint32_t group) const {
    return group_leaves_[group];
  }

  // Options that were given but matched nothing in this recording ("focus", "tagfocus").
  // Prune-from, tag show and tag hide are not checked.
  [[nodiscard]] std::vector<std::string_view> Unmatched() const;

 private:
  class FrameMatcher;
  void MatchLocations();
  std::span<char> HiddenLines(const Location& location);
  void MarkFocus(const FrameMatcher& focus, const FrameMatcher& ignore);
  bool HideLines(const FrameMatcher& matcher, bool hide_matches);
  void MarkShowFrom(const FrameMatcher& matcher);
  void MarkPruneFrom();
  void MarkDropFrames();
  void MatchLabels();
  void GroupLabels();
  [[nodiscard]] bool PassesFocus(std::span<const LocationId> stack) const;
  [[nodiscard]] std::span<const LocationId> CutRange(std::span<const LocationId> stack) const;
  [[nodiscard]] std::size_t CutDropped(std::span<const LocationId> stack) const;
  bool Cut(std::span<const LocationId>& stack) const;
  // Returns the classes of all of them, or-ed, where lines have any.
  unsigned CollectLines(std::span<const LocationId> stack, std::vector<std::uint32_t>& lines) const;
  void ClassifyLines();
  void KeepMode(unsigned any, VisibleStack& out) const;
  bool KeepClass(std::uint16_t kept, VisibleStack& out) const;

  const Recording& recording_;
  const Filter::Compiled& filter_;
  bool filters_frames_ = false;
  bool one_line_each_ = false;  // line row == location row: nothing is inlined

  // Per location.
  struct LocationMark {
    bool focus : 1 = false;
    bool ignore : 1 = false;
    bool hidden : 1 = false;  // no line left after hide and show
    bool show_from : 1 = false;
    bool prune_from : 1 = false;
    bool drop : 1 = false;        // drop-frames matches
    bool drop_whole : 1 = false;  // its outermost line, so the location goes too
  };
  std::vector<LocationMark> locations_;
  std::vector<char> line_hidden_;          // per line: cut by hide, show, show-from or prune-from
  std::vector<std::uint16_t> line_class_;  // per line: FrameClass as bits; empty in mode all
  bool has_python_ = false;                // a line is one of Python
  std::vector<char> keep_labels_;          // per label set
  std::vector<std::string> roots_;
  std::vector<std::string> leaves_;
  std::vector<std::uint32_t> groups_;  // per label set; empty without label frames
  std::vector<std::vector<LabelFrame>> group_roots_;
  std::vector<std::vector<LabelFrame>> group_leaves_;

  bool focus_matched_ = false;
  bool ignore_matched_ = false;
  bool hide_matched_ = false;
  bool show_matched_ = false;
  bool show_from_matched_ = false;
  bool tag_focus_matched_ = false;
  bool tag_ignore_matched_ = false;
  bool device_matched_ = false;
};

}  // namespace memtool
