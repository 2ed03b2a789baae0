#include "ascend_db/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace memtool::formats::ascend_db {

namespace {

using sqlite::TableScan;

struct WordNumber {
  std::string_view text;
  Names::Word word;
  std::int64_t number;  // in ENUM_MEMORY
};
constexpr std::array<WordNumber, 4> kWords{{{"app", Names::Word::kApp, 0},
                                            {"device", Names::Word::kDevice, 1},
                                            {"allocate", Names::Word::kAllocate, 5},
                                            {"release", Names::Word::kRelease, 6}}};

// Columns that hold numbers of STRING_IDS, of tables about memory.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kTexts{
    {{"NPU_OP_MEM", "operatorName"},
     {"NPU_OP_MEM", "component"},
     {"NPU_OP_MEM", "type"},
     {"NPU_MEM", "type"},
     {"OP_MEMORY", "name"},
     {"MEMORY_RECORD", "component"}}};

// By text or number, whichever is asked for.
template <class Value>
std::optional<Names::Word> FindWord(Value WordNumber::*member, const Value& value) {
  const auto* found =
      std::find_if(kWords.begin(), kWords.end(),
                   [member, &value](const WordNumber& word) { return word.*member == value; });
  return found == kWords.end() ? std::nullopt : std::optional(found->word);
}

Result<void> ReadNames(sqlite::DatabaseFile& file, std::string_view table,
                       KeyMap<std::int64_t, std::string>& names) {
  return file.ForEach(table, {"id", "name"}, [&names](const TableScan& row) {
    if (const auto id = row.Number(0)) {
      names.emplace(*id, row.Text(1));
    }
  });
}

}  // namespace

Result<void> Names::Read(sqlite::DatabaseFile& file) {
  KeySet<std::int64_t> used;
  for (const auto& [table, column] : kTexts) {
    MEMTOOL_TRY(file.ForEach(table, {column}, [&used](const TableScan& row) {
      if (const auto id = row.Number(0)) {
        used.insert(*id);
      }
    }));
  }
  MEMTOOL_TRY(file.ForEach("STRING_IDS", {"id", "value"}, [&](const TableScan& row) {
    const auto id = row.Number(0);
    if (id && used.contains(*id)) {
      texts_.emplace(*id, row.Text(1));
    }
  }));
  MEMTOOL_TRY(ReadNames(file, "ENUM_MEMORY", words_));
  return ReadNames(file, "ENUM_MODULE", modules_);
}

std::string_view Names::Text(std::int64_t id) const {
  const auto known = texts_.find(id);
  return known == texts_.end() ? std::string_view() : known->second;
}

std::string Names::Module(std::int64_t id) const {
  const auto known = modules_.find(id);
  return known == modules_.end() ? fmt::format("module {}", id) : known->second;
}

std::optional<Names::Word> Names::WordOf(std::int64_t id) const {
  const auto known = words_.find(id);
  if (known != words_.end()) {
    return FindWord<std::string_view>(&WordNumber::text, known->second);
  }
  const auto said = FindWord(&WordNumber::text, Text(id));
  return said ? said : FindWord(&WordNumber::number, id);
}

}  // namespace memtool::formats::ascend_db
