// A user's settings: what options are when a command line does not give them.
//
//   theme: dark                 # an option of every command that has it
//   own: [mypackage, mylib]     # an option that may be repeated
//   top:                        # options of one command
//     columns: flat,where
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/result.h"

namespace memtool::formats {

struct Setting {
  std::string command;  // empty = of every one
  std::string option;
  std::vector<std::string> values;
  std::string place;  // "LINE:COLUMN"
};

// In the order of the file. Errors: kIo; kMalformed with line and column; kLimit as for keywords.
Result<std::vector<Setting>> ReadSettings(const std::string& path);
// The same from text; `name` goes into errors.
Result<std::vector<Setting>> ParseSettings(std::string_view text, const std::string& name);

}  // namespace memtool::formats
