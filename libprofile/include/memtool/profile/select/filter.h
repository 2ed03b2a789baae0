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

// Where memtool's filters mean something other than pprof's of the same name.
enum class FilterRules : std::uint8_t {
  // A number also matches text labels; numeric labels have the units that they came with. `show`
  // keeps unsymbolized frames of a mapping that it matches. Samples without a stack pass.
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
  FilterRules rules = FilterRules::kMemtool;
  LabelUnits label_units;  // kPprof
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

  // True when some option may drop samples (frame modes never do). That FilterRules::kPprof drops
  // samples without a stack does not count.
  [[nodiscard]] bool drops_samples() const;
  // Tag filters that are read as ranges: "tagfocus", "tagignore".
  [[nodiscard]] std::vector<std::string_view> Ranges() const;
  [[nodiscard]] const FilterOptions& options() const;

 private:
  friend class View;
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace memtool
