// Showing a file to a person.
#pragma once

#include <string>

namespace memtool::commands {

// Opens a file with $BROWSER (commands separated by ":"), a browser that is installed, or xdg-open
// where there is a desktop: the first that does not give up at once. By argument vector, without a
// shell. Returns which one; empty when there is none.
std::string OpenInBrowser(const std::string& path);

}  // namespace memtool::commands
