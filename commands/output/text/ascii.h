// For terminals, logs and mails that show ASCII only.
#pragma once

#include <string>
#include <string_view>

namespace memtool::commands {

// This program's own signs as one character each, so that columns stay where they are. Any other
// one, of a name from an input, is written as its number: nothing is lost.
std::string ToAscii(std::string_view text);

}  // namespace memtool::commands
