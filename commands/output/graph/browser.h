// Showing a file to a person.
#pragma once

#include <string>

#include "memtool/profile/base/result.h"

namespace memtool::commands {

// Opens a file with $BROWSER (commands separated by ":"), a browser that is installed, or xdg-open
// where there is a desktop: the first that does not give up at once. By argument vector, without a
// shell. Returns which one; empty when there is none.
std::string OpenInBrowser(const std::string& path);

// Creates an empty file in $TMPDIR or /tmp. Errors: kOutput.
Result<std::string> TemporaryFile(const std::string& suffix);

}  // namespace memtool::commands
