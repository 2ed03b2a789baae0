// Inputs of one command that tell of the same bytes: what one tells better leaves the other.
#pragma once

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
  // For inputs by these names; what only some of them need is left out where none does.
  explicit JoinInputs(const std::vector<std::string>& names);

  // True for inputs that others may take bytes from; they are read, but used after all others.
  static bool Waits(const Recording& recording);
  // Looks at an input that does not wait. Errors: those of the moment that `view` asks for.
  Result<void> Remember(const std::string& name, const Recording& recording,
                        const ViewOptions& view);
  // Takes out of an input that has waited what others tell. `moment`: where it stands, perhaps
  // elsewhere afterwards. Returns what there is to say about it.
  std::optional<Diagnostic> TakeFrom(const std::string& name, Recording& recording,
                                     MomentSpec& moment);

  // Of the last log of driver calls that had a snapshot beside it.
  [[nodiscard]] const std::optional<DriverJoin>& driver() const { return driver_; }

 private:
  bool has_driver_log_ = false;
  TaggedStacks stacks_;
  FrameworkSegments segments_;
  std::optional<DriverJoin> driver_;
};

}  // namespace memtool::commands
