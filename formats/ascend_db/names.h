// What the numbers in a database of Ascend's profilers stand for: texts, modules of CANN, and the
// words for what happens to memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/result.h"
#include "sqlite/database_file.h"

namespace memtool::formats::ascend_db {

class Names {
 public:
  // Texts are kept only of numbers in tables about memory.
  Result<void> Read(sqlite::DatabaseFile& file);

  // Of STRING_IDS; empty where it has none.
  [[nodiscard]] std::string_view Text(std::int64_t id) const;
  // "HCCL"; "module 78" where ENUM_MODULE has none.
  [[nodiscard]] std::string Module(std::int64_t id) const;

  enum class Word : std::uint8_t { kApp, kDevice, kAllocate, kRelease };
  // Of a column `type`: the number of a word in ENUM_MEMORY or, as newer versions write it, in
  // STRING_IDS.
  [[nodiscard]] std::optional<Word> WordOf(std::int64_t id) const;

 private:
  KeyMap<std::int64_t, std::string> texts_;
  KeyMap<std::int64_t, std::string> words_;  // ENUM_MEMORY
  KeyMap<std::int64_t, std::string> modules_;
};

}  // namespace memtool::formats::ascend_db
