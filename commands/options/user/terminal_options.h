// How text for people looks where it goes: options of every command.
#pragma once

#include <string>

#include "base/command.h"

namespace memtool::commands {

class TerminalOptions {
 public:
  void Declare(po::options_description& options);
  // Fills `streams.look`. Errors: kUsage.
  Result<void> Resolve(Streams& streams) const;

 private:
  std::string color_ = "auto";
  std::string theme_ = "auto";
  std::string hyperlinks_ = "never";
  bool ascii_ = false;
  bool quiet_ = false;
};

// A command with all its options: its own, and those of every command.
struct CommandLine {
  explicit CommandLine(const CommandEntry& entry);

  std::unique_ptr<Command> command;
  TerminalOptions terminal;
  po::options_description options;
};

}  // namespace memtool::commands
