// The dictionary that splits bytes into buckets.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/command.h"
#include "memtool/formats/keywords.h"
#include "memtool/profile/keywords/keywords.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/rows/table.h"

namespace memtool::commands {

// "builtin:pytorch"; compiled once in a process, which may answer many questions. Errors: kUsage
// for one that there is not.
Result<Keywords> BuiltinKeywords(const std::string& name);

class KeywordsOption {
 public:
  void Declare(po::options_description_easy_init add);
  // Reads the file that was given. Errors: those of ReadKeywords.
  Result<void> Resolve();
  // For commands with --by: reads the file and points `by` to it when that splits by bucket.
  // Without a file `by` has no categories until ChooseFor. Errors: kUsage for a file that --by does
  // not ask for, or that has no such axis.
  Result<void> ResolveBy(By& by);
  // Before `by` is used on a recording: where no file was given, the built-in dictionary of the
  // first one's format. Errors: those of For; kUsage when it has no such axis.
  Result<void> ChooseFor(const Recording& recording);
  // The dictionary: the one that was given, else the built-in one of the recording's format, chosen
  // once. Errors: kUsage when there is none.
  Result<const Keywords*> For(const Recording& recording);

  // The one that was given, once Resolve() has read it.
  [[nodiscard]] const Keywords* keywords() const { return keywords_ ? &*keywords_ : nullptr; }

  [[nodiscard]] bool given() const { return !name_.empty(); }
  // As given, or the name of the built-in one once it is chosen.
  [[nodiscard]] const std::string& name() const { return name_; }
  // Settings of the file.
  [[nodiscard]] const std::optional<std::string>& profile() const { return profile_; }
  [[nodiscard]] const std::optional<formats::ExpectedSum>& expected_sum() const {
    return expected_sum_;
  }
  [[nodiscard]] bool is_builtin() const { return name_.empty() || name_.starts_with("builtin:"); }
  // True when an input chose it.
  [[nodiscard]] bool chosen() const { return chosen_; }

 private:
  Result<void> Take(Result<formats::KeywordsFile> file);
  [[nodiscard]] Result<void> CheckAxis() const;

  std::string name_;
  std::string axis_;      // of --by
  bool waiting_ = false;  // for the first input of --by
  bool chosen_ = false;
  std::optional<std::string> profile_;
  std::optional<formats::ExpectedSum> expected_sum_;
  std::optional<Keywords> keywords_;
};

}  // namespace memtool::commands
