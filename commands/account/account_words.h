// The steps of the account in words.
#pragma once

#include <string>
#include <string_view>

#include "memtool/profile/answers/account.h"

namespace memtool::commands {

// "other processes"; for a bucket, its name.
std::string_view StepName(const AccountRow& row);
// What a step is, or which input would show it; for a bucket, who has the most of it.
std::string StepNote(const AccountRow& row, const AccountFacts& facts);

}  // namespace memtool::commands
