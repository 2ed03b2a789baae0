// Which samples, frames and labels an analysis sees. Meaning and order follow pprof: frames from
// labels (tag root and leaf); focus, ignore, hide, show; show-from; tag focus and ignore; tag show
// and hide; prune-from. Then, not in pprof, the frame mode.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/select/frame_class.h"

namespace memtool {

// Units of numeric labels by key.
using LabelUnits = std::map<std::string, std::string, std::less<>>;

// Where memtool's filters mean something else than pprof's of the same name.
enum class FilterRules : std::uint8_t {
  // A label's number also matches text; numbers have the units that they came with. `show` keeps
  // unsymbolized frames of a mapping that it matches. Samples without a stack pass.
  kMemtool,
  // A tag filter that reads as a range matches numbers only, in the unit of their key
  // (FilterOptions::label_units); an empty expression matches every label. `show` hides every
  // unsymbolized frame. Samples without a stack are dropped.
  kPprof,
};

// Regular expressions in RE2 syntax, unanchored; empty = not given. They match a frame's function
// name, file name or mapping.
struct FilterOptions {
  std::string focus;
  std::string ignore;
  std::string hide;
  std::string show;
  std::string show_from;
  std::string prune_from;
  // The file's own wish (Metadata::drop_frames): a frame whose whole name matches `drop_frames` and
  // not `keep_frames` goes with all below it, but never the outermost frames. Before all others; a
  // bad expression is ignored. No other option sees what it dropped, so use it alone.
  std::string drop_frames;
  std::string keep_frames;
  // [KEY=]REGEX[,REGEX...] or [KEY=]N, N:, :N, N:M with units.
  std::string tag_focus;
  std::string tag_ignore;
  // Match label keys.
  std::string tag_show;
  std::string tag_hide;
  // Label keys, comma separated, that become frames: roots outermost first, leaves innermost last.
  std::string tag_root;
  std::string tag_leaf;
  FrameMode frames = FrameMode::kApp;
  // An ordinal ("3") or a whole name ("cuda:3"): only samples with a matching device label.
  std::string device;
  FilterRules rules = FilterRules::kMemtool;
  LabelUnits label_units;  // kPprof
};

// True when `name` ("cuda:3", "TPU_3(process=0,(1,0,0,1))", "3") is the device that `wanted` asks
// for: the same text, or the same ordinal.
bool DeviceMatches(std::string_view name, std::string_view wanted);

// Compiled options; used on any number of recordings, from any thread.
class Filter {
 public:
  // Errors: kUsage for a bad regular expression or range, with the option named.
  static Result<Filter> Compile(const FilterOptions& options);
  Filter();
  Filter(Filter&&) noexcept;
  Filter& operator=(Filter&&) noexcept;
  ~Filter();

  // True when some option may drop samples (frame modes never do).
  [[nodiscard]] bool drops_samples() const;
  // Tag filters that are read as ranges: "tagfocus", "tagignore".
  [[nodiscard]] std::vector<std::string_view> Ranges() const;
  [[nodiscard]] const FilterOptions& options() const;

 private:
  friend class View;
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

// A frame that stands for label values (tag root, tag leaf).
struct LabelFrame {
  std::string value;  // values of the key joined with ","; empty when the sample has no such label
  std::string key;
};

// One stack as the filter lets it through.
struct VisibleStack {
  std::vector<std::uint32_t> lines;  // rows of Recording::lines, innermost first
  LineId via;  // the hidden frame just below the innermost visible one: the call into a framework
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
  [[nodiscard]] std::uint32_t GroupOf(LabelSetId labels) const {
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
  [[nodiscard]] bool KeptByFocus(std::span<const LocationId> stack) const;
  [[nodiscard]] std::span<const LocationId> CutRange(std::span<const LocationId> stack) const;
  [[nodiscard]] std::size_t CutDropped(std::span<const LocationId> stack) const;
  bool Cut(std::span<const LocationId>& stack) const;
  void CollectLines(std::span<const LocationId> stack, std::vector<std::uint32_t>& lines) const;
  bool KeepClass(bool FrameClass::*kept, VisibleStack& out) const;

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
  std::vector<char> line_hidden_;       // per line: cut by hide, show, show-from or prune-from
  std::vector<FrameClass> line_class_;  // per line; empty in mode all
  std::vector<char> keep_labels_;       // per label set
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

// Joins the values of one label key for a label frame or a row: "cuda:0", "4096 bytes".
std::string LabelValues(const Recording& recording, LabelSetId labels, std::string_view key);

}  // namespace memtool
