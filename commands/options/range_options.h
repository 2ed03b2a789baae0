// A range of a history's events: --from and --to.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <string>
#include <string_view>

#include "base/command.h"
#include "memtool/profile/history/events.h"
#include "memtool/profile/replay/moment.h"
#include "words/known_words.h"

namespace memtool::commands {

class RangeOptions {
 public:
  // `of` stands before the help of both.
  void Declare(po::options_description_easy_init add, const std::string& of = {});
  // Errors: kUsage for what is neither a moment nor an event number.
  Result<void> Resolve();
  [[nodiscard]] const MomentRange& range() const { return range_; }
  // "start to end", for headers and JSON.
  [[nodiscard]] std::string Text() const { return RangeText(range_); }
  // True for the default range, from start to end.
  [[nodiscard]] bool IsWhole() const { return Text() == "start to end"; }

 private:
  std::string from_text_ = "start";
  std::string to_text_ = "end";
  MomentRange range_;
};

// What --axis says: whether parts are of equal time rather than of equal event counts. Errors:
// kUsage.
Result<bool> ChooseAxis(std::string_view word);
KnownWords AxisWords();

}  // namespace memtool::commands
