// A SQLite database from an input, opened so that nothing in it is executed: a copy without
// a name, read-only, without extensions, views, triggers, functions or generated columns, and with
// an upper bound on the work.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/limits.h"
#include "memtool/profile/base/result.h"
#include "sqlite/database.h"
#include "support/scratch_file.h"

namespace memtool::formats::nsys {

// Rows of one table in the order in which the file holds them.
class TableScan {
 public:
  // True when there is a row to look at. Errors: kMalformed for a damaged database; kLimit.
  Result<bool> Next();
  // A column of those that were asked for, by its place; one that the table lacks is none.
  [[nodiscard]] std::optional<std::int64_t> Number(int column) const;
  // Empty for none. Valid until the next row.
  [[nodiscard]] std::string_view Text(int column) const { return rows_.Text(column); }

 private:
  friend class DatabaseFile;
  TableScan(sqlite::Statement rows, std::uint64_t most) : rows_(std::move(rows)), most_(most) {}

  sqlite::Statement rows_;
  std::uint64_t most_;
  std::uint64_t seen_ = 0;
};

class DatabaseFile {
 public:
  // Reads `in` to its end. Errors: kMalformed, kTruncated for what is no database; kLimit when it
  // cannot be copied.
  static Result<DatabaseFile> Copy(ByteWindow& in, const Limits& limits);

  // None when there is no such table, or something else has its name.
  Result<std::optional<TableScan>> Scan(std::string_view table,
                                        std::initializer_list<std::string_view> columns);
  Result<bool> HasTable(std::string_view table);

 private:
  struct Work;
  static Result<DatabaseFile> CopyToScratch(ByteWindow& in, const Limits& limits);
  DatabaseFile(sqlite::Database db, std::unique_ptr<Work> work, const Limits& limits);

  std::unique_ptr<Work> work_;  // outlives the database, which refers to it
  sqlite::Database db_;
  std::uint64_t max_rows_;

 public:
  DatabaseFile(DatabaseFile&&) noexcept;
  DatabaseFile(const DatabaseFile&) = delete;
  DatabaseFile& operator=(const DatabaseFile&) = delete;
  DatabaseFile& operator=(DatabaseFile&&) = delete;
  ~DatabaseFile();
};

}  // namespace memtool::formats::nsys
