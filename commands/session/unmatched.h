// Filters that matched nothing in any input, and what they could have matched.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/select/view.h"

namespace memtool::commands {

// What a regular expression could have meant that no function of the recording matches: "; did you
// mean forward?", "; labels match: use --tagfocus", or empty. `label_option` selects by labels
// instead; empty where no option does.
std::string NoFunctionHelp(const Recording& recording, const std::string& pattern,
                           std::string_view label_option);

class Unmatched {
 public:
  // Notes the filters of `view`, but for `except`, that matched nothing in its input. To be called
  // for every input.
  void Note(const View& view, std::string_view except);
  // A line for each filter that matched in none: "--tagfocus matched nothing; labels:
  // device=cuda:0".
  [[nodiscard]] std::vector<std::string> Lines() const;

 private:
  struct Option {
    std::string_view name;
    std::string help;  // what it could have matched, in the first input
  };
  std::vector<Option> options_;
  bool any_ = false;
};

}  // namespace memtool::commands
