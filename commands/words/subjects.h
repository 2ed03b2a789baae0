// What the libraries speak of in errors, as the command line calls it.
#pragma once

#include <string>

#include "memtool/profile/base/result.h"

namespace memtool::commands {

// ToString() with the option or the command in the place of every subject: "--at peak: ...".
std::string Worded(const Error& error);

}  // namespace memtool::commands
