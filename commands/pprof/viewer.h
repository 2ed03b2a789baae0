// Shows a file to the user, for -web.
#pragma once

#include <string>

namespace memtool::commands::pprof {

// Starts the first browser that there is ($BROWSER, well-known ones, xdg-open on a desktop) with
// `path` as its last argument, without a shell. The browser's name; empty when none could be
// started.
std::string OpenInBrowser(const std::string& path);

}  // namespace memtool::commands::pprof
