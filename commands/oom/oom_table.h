// One failure, as JSON and as people read it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/answers/oom.h"
#include "output/text_table.h"

namespace memtool::commands {

// The answer with its conclusion in words. Valid as long as `answer` is. `rest`: see Sentence.
AnswerView ViewInWords(const OomAnswer& answer, std::string_view rest);

struct OomTableStyle {
  std::size_t limit = 0;             // rows; 0 = all
  bool fold = false;                 // holders after the first few are one row
  bool names_next = true;            // whether commands to go on with stand below it
  std::string source;                // where the figures come from
  std::string filters;               // in force; may be empty
  std::vector<std::string> moments;  // of a snapshot
};
// Fills a table that the session described: the answer above the parts, what to do below them.
void Tabulate(const OomAnswer& answer, const OomTableStyle& style, std::string_view rest,
              TextTable& table);

}  // namespace memtool::commands
