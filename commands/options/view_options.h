// Which part of an input a command looks at: sample type, filters, frames, rows.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/command.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/filter.h"
#include "options/frames_option.h"
#include "options/keywords_option.h"
#include "words/known_words.h"

namespace memtool::commands {

// "app", "python", "all". Errors: kUsage, about --frames.
Result<FrameMode> ParseFrameMode(std::string_view text);
KnownWords FrameWords();

// What --by is to a command.
struct ByOption {
  const char* help = nullptr;  // none: the command does not have it
  Rows rows = Rows::kSamples;
  bool sorted = false;  // rows have flat and cumulative values: --cum too
  // They are events: no moment, no sample type and no labels as frames, and device() is for the
  // command to apply, because events have no device label.
  bool events = false;
};
// Of commands that print the rows of a profile.
inline constexpr ByOption kByRows{
    .help =
        "rows: function, filefunction (default), line, file, module, stack, tag, size, input, "
        "annotation, label:KEY, bucket or bucket:AXIS",
    .sorted = true};

class ViewOptions {
 public:
  void Declare(po::options_description& options, const ByOption& by);
  // Declares --base-at, for comparisons.
  void DeclareBase(po::options_description& options);
  Result<void> Resolve();

  [[nodiscard]] const std::shared_ptr<const Filter>& filter() const { return filter_; }
  [[nodiscard]] const std::string& sample_index() const { return sample_index_; }
  [[nodiscard]] const By& by() const { return by_; }
  [[nodiscard]] const std::string& by_text() const { return by_text_; }
  [[nodiscard]] SortBy sort() const { return cum_ ? SortBy::kCum : SortBy::kFlat; }
  [[nodiscard]] const MomentSpec& moment() const { return moment_; }
  // True when the command line names a moment.
  [[nodiscard]] bool has_moment() const { return has_moment_; }
  // For those that stand at the end unless they are told otherwise.
  void SetEndAsDefault();
  // `given`, one of the two, for this recording: see DefaultMoment.
  [[nodiscard]] MomentSpec MakeMoment(const Recording& recording, const MomentSpec& given) const;
  // The base's moment in comparisons: --base-at, else --at.
  [[nodiscard]] const MomentSpec& base_moment() const { return base_moment_; }
  [[nodiscard]] bool has_base_moment() const { return !base_moment_text_.empty(); }
  [[nodiscard]] const std::string& device() const { return options_.device; }
  // True when an option chooses part of the samples, frames or types (moments and devices aside).
  [[nodiscard]] bool selects() const;
  // To be called with each recording before by() is used on it: see KeywordsOption::ChooseFor.
  [[nodiscard]] Result<void> ChooseKeywords(const Recording& recording) const {
    return keywords_.ChooseFor(recording);
  }
  // For options that need no input: what is printed instead of reading one.
  [[nodiscard]] std::optional<Result<ExitCode>> PrintInstead(Streams& streams) const {
    return frames_.PrintInstead(streams);
  }
  // "focus=train frames=all": options in force that change what is counted; empty for none.
  [[nodiscard]] std::string Describe() const;

 private:
  FilterOptions options_;
  std::string frames_text_ = "app";
  FramesOption frames_;
  std::string sample_index_;
  std::string by_text_;
  std::string moment_text_;
  std::string base_moment_text_;
  bool cum_ = false;
  bool of_events_ = false;
  bool has_moment_ = false;
  MomentSpec default_moment_{.kind = MomentSpec::Kind::kOomOrPeak, .text = "oom-or-peak"};
  MomentSpec moment_;
  MomentSpec base_moment_;
  By by_;
  std::shared_ptr<const Filter> filter_ = std::make_shared<const Filter>();
  mutable KeywordsOption keywords_;  // of --by bucket; an input may choose the dictionary
};

}  // namespace memtool::commands
