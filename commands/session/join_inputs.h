// Inputs of one command that are about the same bytes: what one tells better is left out of the
// other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memtool/profile/account/join_driver.h"
#include "memtool/profile/account/join_tags.h"
#include "memtool/profile/model/recording.h"
#include "options/view_options.h"

namespace memtool::commands {

class JoinInputs {
 public:
  JoinInputs() = default;
  // `names`: all inputs. Segments are collected only when one of them is a log of driver calls.
  explicit JoinInputs(const std::vector<std::string>& names);

  // True for inputs that others may take bytes from; they are read, but used after all others.
  static bool Waits(const Recording& recording);
  // Adds an input that does not wait; `index`: of its history, or null. Errors: those of the moment
  // that `view` asks for.
  Result<void> Add(const std::string& name, const Recording& recording, const HistoryIndex* index,
                   const ViewOptions& view);
  // Replaces a deferred input by the part of it that the others do not cover. `moment`: where it is
  // selected; may be changed. Returns a note about it, if any.
  Result<std::optional<Diagnostic>> LeaveOut(const std::string& name,
                                             std::shared_ptr<const Recording>& recording,
                                             std::shared_ptr<const HistoryIndex>& index,
                                             MomentSpec& moment);

  // For the last log of driver calls that had a matching snapshot.
  [[nodiscard]] const std::optional<DriverJoin>& driver() const { return driver_; }

 private:
  bool has_driver_log_ = false;
  TaggedStacks stacks_;
  FrameworkSegments segments_;
  std::optional<DriverJoin> driver_;
};

}  // namespace memtool::commands
