// The subjects of the libraries' errors, as the command line calls them.
#pragma once

#include <string>

#include "memtool/profile/base/result.h"

namespace memtool::commands {

// ToString() with the option or the command in place of every subject: "--at peak: ...".
std::string Worded(const Error& error);

}  // namespace memtool::commands
