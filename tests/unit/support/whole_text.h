// Everything that a recording holds, as text.
#pragma once

#include <string>

#include "memtool/profile/model/recording.h"

namespace memtool::test {

// All rows of all tables by their numbers, but for Metadata::packing: equal texts, equal
// recordings.
std::string WholeText(const Recording& recording);

}  // namespace memtool::test
