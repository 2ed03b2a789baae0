// Which frames are the program's own code: what is built in, the user's file, and the command line.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/command.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/select/frame_rules.h"

namespace memtool::commands {

class FramesOption {
 public:
  // Declares --own, --not-own and --print-frames.
  void Declare(po::options_description_easy_init add);
  // Reads the user's file, $XDG_CONFIG_HOME/memtool/frames.yaml or ~/.config/memtool/frames.yaml,
  // where there is one. Errors: those of ReadFrameRules, kUsage for an expression.
  Result<void> Resolve();

  // None where nobody added anything: the built-in rules.
  [[nodiscard]] const std::shared_ptr<const FrameRules>& rules() const { return rules_; }
  // For --print-frames: prints the rules instead of reading inputs.
  [[nodiscard]] std::optional<Result<ExitCode>> PrintInstead(Streams& streams) const;
  // True when the command line chooses.
  [[nodiscard]] bool given() const { return !own_.empty() || !not_own_.empty(); }
  // "own=mylib not-own=helpers rules=/home/u/.config/memtool/frames.yaml", or nothing.
  [[nodiscard]] std::string Describe() const;

 private:
  std::vector<std::string> own_;
  std::vector<std::string> not_own_;
  bool print_ = false;
  std::string file_;  // the user's, where there is one
  std::shared_ptr<const FrameRules> rules_;
};

}  // namespace memtool::commands
