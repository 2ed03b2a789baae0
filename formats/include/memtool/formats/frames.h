// Files that say which frames are the program's own code, and the rules in force as such a file.
//
//   own: [mypackage, "/mylib/nn/"]     # a package, or a regular expression of function or file
//   not_own:                           # a list, or lists with names
//     Helpers: [helpers]
//   through: [call_wrapped]            # functions that do not say which call it was
#pragma once

#include <string>
#include <string_view>

#include "memtool/profile/base/result.h"
#include "memtool/profile/select/frame_rules.h"

namespace memtool::formats {

// One layer, without what is built in. Errors: kIo; kMalformed with line and column; kLimit as for
// keywords.
Result<FrameRules> ReadFrameRules(const std::string& path);
// The same from text; `name` goes into errors.
Result<FrameRules> ParseFrameRules(std::string_view text, const std::string& name);
// YAML that ParseFrameRules reads, with all layers as one; native rules have no place in such a
// file and are written as comments.
std::string FormatFrameRules(const FrameRules& rules);

}  // namespace memtool::formats
