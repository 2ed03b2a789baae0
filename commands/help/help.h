// Help texts, made from the command table and the declared options.
#pragma once

#include <string>
#include <string_view>

#include "base/command.h"

namespace memtool::commands {

std::string Overview();
std::string VersionLine();  // "memtool 0.1.0"
// That line, and how this program was built.
std::string VersionText();
// Examples first, then usage and options.
std::string CommandHelp(const CommandEntry& entry, const Command& command,
                        const po::options_description& options);

}  // namespace memtool::commands
