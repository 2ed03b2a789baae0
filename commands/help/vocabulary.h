// What can stand on memtool's command lines, for those who write completions.
#pragma once

#include <string>
#include <vector>

#include "base/command.h"
#include "words/known_words.h"

namespace memtool::commands {

struct OptionWords {
  std::string name;      // without dashes
  char letter = 0;       // 0 = none
  std::string value;     // what its value is called; empty: it has none
  std::string about;     // a short line
  KnownWords known;      // of its value
  bool several = false;  // may be given more than once
};

struct CommandWords {
  std::string name;
  std::string summary;
  Command::Line line = Command::Line::kUsual;
  std::vector<OptionWords> options;  // with --help
  KnownWords arguments;              // what may stand beside options
  [[nodiscard]] std::string Dashed(const OptionWords& option) const {
    return (line == Command::Line::kOneDash && option.name != "help" ? "-" : "--") + option.name;
  }
};

std::vector<CommandWords> Vocabulary();

// The words, separated by spaces.
std::string Spaced(const std::vector<std::string>& words);
// In single quotes, as POSIX shells read it.
std::string Quoted(const std::string& text);

std::string BashScript(const std::vector<CommandWords>& commands);
std::string ZshScript(const std::vector<CommandWords>& commands);
std::string FishScript(const std::vector<CommandWords>& commands);

}  // namespace memtool::commands
