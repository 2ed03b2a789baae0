// Showing a file to a person.
#pragma once

#include <string>

#include "memtool/profile/result.h"

namespace memtool::commands {

// Opens a file with $BROWSER, xdg-open, sensible-browser or open, the first that is installed; by
// argument vector, without a shell, and without waiting. Returns which one; empty when there is
// none.
std::string OpenInBrowser(const std::string& path);

// An empty file of its own in $TMPDIR or /tmp. Errors: kOutput.
Result<std::string> TemporaryFile(const std::string& suffix);

}  // namespace memtool::commands
