// What memtool leaks says about a series, in sentences with numbers.
#pragma once

#include <string>
#include <vector>

#include "memtool/profile/answers/leaks.h"

namespace memtool::commands {

// The first sentence is the verdict. GROWING is used only for rows whose evidence is strong.
std::vector<std::string> LeaksVerdict(const LeaksAnswer& answer);
// What did not change, so that a reader need not wonder.
std::string ConstantText(const LeaksAnswer& answer);

}  // namespace memtool::commands
