// Which samples, frames and labels an analysis sees. Meaning and order follow pprof: frames from
// labels (tag root and leaf); focus, ignore, hide, show; show-from; tag focus and ignore; tag show
// and hide; prune-from. Then, not in pprof, the frame mode.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/select/frame_class.h"

namespace memtool {

// Whether a numeric label matches.
using NumberTest = std::function<bool(std::string_view key, std::int64_t number)>;

// What programs do differently under the same options; the defaults are memtool's.
struct FilterRules {
  // `show` hides unsymbolized frames even of a mapping that it matches.
  bool show_needs_symbol = false;
  // Samples without a stack are dropped; else no filter concerns them.
  bool needs_stack = false;
  // Reads what a tag filter wants, without its key, as numbers; null for what is no range. What is
  // one matches numbers only, and an empty expression every label. Without this function a number
  // also matches text labels, and numeric labels have the units that they came with.
  std::function<NumberTest(std::string_view text)> read_range;
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
  // What the file itself asks for (Metadata::drop_frames): a frame whose whole name matches
  // `drop_frames` and not `keep_frames` is dropped with all below it, but never the outermost
  // frames. Applied before all others; a bad expression is ignored. No other option sees what it
  // dropped, so use it alone.
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
  // Which frames are the program's own, for FrameMode::kApp; null: BuiltinFrameRules().
  std::shared_ptr<const FrameRules> frame_rules;
  // An ordinal ("3") or a whole name ("cuda:3"): only samples with a matching device label.
  std::string device;
  FilterRules rules;
};

// Compiled options; used on any number of recordings, from any thread.
class Filter {
 public:
  // Errors: kUsage for a bad regular expression or range, with the option named; those of
  // FrameClassifier::Compile.
  static Result<Filter> Compile(const FilterOptions& options);
  Filter();
  Filter(Filter&&) noexcept;
  Filter& operator=(Filter&&) noexcept;
  ~Filter();

  // True when some option may drop samples (frame modes never do). That
  // FilterRules::needs_stack drops samples does not count.
  [[nodiscard]] bool drops_samples() const;
  // Tag filters that read_range has read: "tagfocus", "tagignore".
  [[nodiscard]] std::vector<std::string_view> Ranges() const;
  [[nodiscard]] const FilterOptions& options() const;

 private:
  friend class View;
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace memtool
