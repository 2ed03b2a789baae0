// Several inputs, one line for each.
#pragma once

#include "memtool/profile/answers/oom_inputs.h"
#include "output/text_table.h"

namespace memtool::commands {

// The answer with the words that its JSON has: places and headlines. Valid as long as `answer` is.
AnswerView ViewInWords(const OomInputsAnswer& answer);
// Fills a table that the session described, with all rows; printing applies the limit.
void Tabulate(const OomInputsAnswer& answer, TextTable& table);

}  // namespace memtool::commands
