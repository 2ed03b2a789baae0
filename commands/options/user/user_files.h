// Files of the user, beside nothing that is read.
#pragma once

#include <string>
#include <string_view>

namespace memtool::commands {

// What $VARIABLE names (empty = none), else ~/.config/memtool/NAME where it is there; empty if
// none.
std::string UserFile(const char* variable, std::string_view name);

}  // namespace memtool::commands
