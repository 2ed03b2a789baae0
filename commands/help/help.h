// Help texts, made from the command table and the declared options.
#pragma once

#include <boost/shared_ptr.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"

namespace memtool::commands {

// What memtool is and its commands, by the question that they answer; `all`: also what it reads and
// what its exit codes mean.
std::string Overview(bool all);
std::string VersionLine();  // "memtool 0.1.0"
// That line, and how this program was built.
std::string VersionText();
// The options that people use most, with descriptions.
std::vector<boost::shared_ptr<po::option_description>> OftenUsed(
    const Doc& doc, const po::options_description& options);
// The same and the columns of the answer.
std::string ShortHelp(const CommandEntry& entry, const Command& command,
                      const po::options_description& options);
// Examples first, then usage and all options.
std::string CommandHelp(const CommandEntry& entry, const Command& command,
                        const po::options_description& options);

}  // namespace memtool::commands
