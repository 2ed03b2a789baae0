// Runs Graphviz's dot as a child: by argument vector, without a shell, killed after a time limit.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "memtool/profile/base/result.h"

namespace memtool::commands {

// The picture of a DOT text in one of dot's formats ("svg", "png", "pdf"). Errors: kOutput when dot
// is not installed, fails, or takes longer than `limit`.
Result<std::string> LayOut(std::string_view dot_text, const std::string& format,
                           std::chrono::milliseconds limit);

}  // namespace memtool::commands
