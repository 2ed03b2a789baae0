// Names for the processes that wrote several inputs: their devices are not the same ones, though
// each calls its first one "cuda:0".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memtool::commands {

// Per path what distinguishes it: its last part, or all of it where last parts repeat. Empty where
// the names do not tell processes apart: files of one process, one after the other, share devices.
std::vector<std::string> NamesOfProcesses(const std::vector<std::string>& paths);

// The same, asked by path.
class ProcessNames {
 public:
  explicit ProcessNames(const std::vector<std::string>& paths)
      : paths_(paths), names_(NamesOfProcesses(paths)) {}
  // Empty also for a path that is not one of them.
  [[nodiscard]] std::string_view Of(std::string_view path) const;

 private:
  std::vector<std::string> paths_;
  std::vector<std::string> names_;
};

}  // namespace memtool::commands
