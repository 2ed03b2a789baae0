// --columns: which columns of a table, or fields of an answer, are shown and in what order.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/base/result.h"
#include "output/text_table.h"

namespace memtool::commands {

// `list`: names separated by commas, each the title or the key of a column in any case. A column
// that wraps into further lines comes last. Errors: kUsage for an unknown name, listing all names.
Result<std::vector<std::size_t>> ChooseColumns(const TextTable& table, std::string_view list);
// The same answer with these fields only.
Result<AnswerView> ChooseFields(AnswerView view, std::string_view list);

}  // namespace memtool::commands
