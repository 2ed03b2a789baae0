// What a server may touch: files below the folders that it was given, for reading.
#pragma once

#include <string>
#include <vector>

#include "memtool/profile/base/result.h"

namespace memtool::commands {

// Folders with all links resolved.
class Roots {
 public:
  // Errors: kUsage for what is no folder.
  static Result<Roots> Make(const std::vector<std::string>& folders);

  // A file's name, which is relative to the first folder, or absolute. Errors: kUsage for one that,
  // with all links resolved, is outside of all folders; kIo for one that is not there.
  [[nodiscard]] Result<void> Check(const std::string& name) const;
  // From now on relative names are below the first folder.
  [[nodiscard]] Result<void> Enter() const;
  // From now on the system itself refuses this process all other files, and writing (Landlock),
  // which also holds for links inside of the folders. False where the kernel cannot.
  [[nodiscard]] bool Enforce() const;
  [[nodiscard]] const std::vector<std::string>& folders() const { return folders_; }

 private:
  std::vector<std::string> folders_;
};

}  // namespace memtool::commands
