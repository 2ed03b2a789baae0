// A range of a history's events: --from and --to.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <string>
#include <vector>

#include "command.h"
#include "memtool/profile/history/events.h"
#include "memtool/profile/replay/moment.h"

namespace memtool::commands {

class RangeOptions {
 public:
  // `of` stands before the help of both.
  void Declare(po::options_description_easy_init add, const std::string& of = {});
  // Errors: kUsage for what is no moment and no event number.
  Result<void> Resolve();
  // The events of the range in each trace of TracesOf, none in one without events; both ends are
  // included, and a moment is the last event that has happened by then. Errors: kUsage for a
  // device or a moment that the recording does not have.
  [[nodiscard]] Result<std::vector<EventRange>> In(const HistoryIndex& index,
                                                   const std::string& device) const;
  [[nodiscard]] const MomentRange& range() const { return range_; }
  // "start to end", for headers and JSON.
  [[nodiscard]] std::string Text() const { return range_.from.text + " to " + range_.to.text; }
  // As the command line has it: both ends unless told otherwise.
  [[nodiscard]] bool IsWhole() const { return Text() == "start to end"; }

 private:
  std::string from_text_ = "start";
  std::string to_text_ = "end";
  MomentRange range_;
};

}  // namespace memtool::commands
