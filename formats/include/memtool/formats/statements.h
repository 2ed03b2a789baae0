// What the lines of a log say about memory (memtool/profile/model/statement.h), as readers of logs
// find it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/base/string_table.h"
#include "memtool/profile/model/statement.h"

namespace memtool::formats {

struct Statements {
  std::vector<Statement> list;     // by line; the first ones, when there are very many
  StringTable strings;             // of their ids
  std::uint64_t found = 0;         // all of them
  bool report = false;             // once what a report has (memory_stats()), and nothing else
  std::uint64_t starts = 0;        // lines that say that a run begins
  std::vector<UnreadLine> unread;  // the first few
  std::uint64_t unread_count = 0;
};

namespace log {
class PatternTable;
}
// The table of wordings that the program has, as YAML.
std::string_view BuiltinLogPatterns();
// Another one, which is asked before it. Its examples are tried. Errors: kIo; kMalformed with line
// and column, or naming the pattern whose example gives something else; kLimit.
Result<std::shared_ptr<const log::PatternTable>> ReadLogPatterns(const std::string& path);

}  // namespace memtool::formats
