// A user's settings (memtool/formats/settings.h) as options that a command line did not give.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/variables_map.hpp>
#include <string>
#include <vector>

#include "base/command.h"

namespace memtool::commands {

// The file that a user's command lines go by: $MEMTOOL_CONFIG, else ~/.config/memtool/config.yaml.
std::string UserSettings();

// Adds what `path` says to `values`, for the options that `command` has. Columns are chosen for
// tables only: what scripts read stays as it is. Errors: as ReadSettings(); kUsage for what is no
// setting.
Result<void> AddSettings(const std::string& path, std::string_view command,
                         const po::options_description& options, po::variables_map& values);

}  // namespace memtool::commands
