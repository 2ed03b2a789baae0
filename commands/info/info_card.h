// What memtool info says about one input, in words.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/answers/info.h"

namespace memtool::commands {

// Property and value.
std::vector<std::pair<std::string, std::string>> CardRows(const InputCard& card);

}  // namespace memtool::commands
