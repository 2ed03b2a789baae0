// A range of a history's events: --from and --to.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <string>
#include <vector>

#include "command.h"
#include "memtool/profile/analysis/events.h"
#include "memtool/profile/analysis/moment.h"

namespace memtool::commands {

class RangeOptions {
 public:
  void Declare(po::options_description_easy_init add);
  // Errors: kUsage for what is no moment and no event number.
  Result<void> Resolve();
  // The range in each chosen trace, empty in one without events; both ends are included, and a
  // moment is the last event that has happened by then. A caller's own books lie within the
  // driver's, so they are left out unless `device` names them. Errors: kUsage for a device or a
  // moment that the recording does not have.
  [[nodiscard]] Result<std::vector<EventRange>> In(const Recording& recording,
                                                   const std::string& device) const;
  // "start to end", for headers and JSON.
  [[nodiscard]] std::string Text() const { return from_.text + " to " + to_.text; }

 private:
  std::string from_text_ = "start";
  std::string to_text_ = "end";
  MomentSpec from_;
  MomentSpec to_;
};

}  // namespace memtool::commands
