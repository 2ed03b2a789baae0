// A SQLite database from an input, opened so that nothing in it is executed: read-only and as one
// that nobody changes, without extensions, views, triggers, functions or generated columns, and
// with an upper bound on the work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/limits.h"
#include "memtool/profile/base/result.h"
#include "sqlite/database.h"
#include "support/scratch_file.h"

namespace memtool::formats::sqlite {

// Whether a file begins as SQLite's databases do.
bool IsDatabase(std::span<const std::byte> head);

// Rows of one table in the order in which the file holds them.
class TableScan {
 public:
  // True when there is a row to look at. Errors: kMalformed for a damaged database; kLimit.
  Result<bool> Next();
  // A column of those that were asked for, by its place; one that the table lacks is none.
  [[nodiscard]] std::optional<std::int64_t> Number(int column) const {
    return there_[static_cast<std::size_t>(column)] && rows_.IsInteger(column)
               ? std::optional(rows_.Number(column))
               : std::nullopt;
  }
  // Whether it is there and not empty of a value.
  [[nodiscard]] bool Has(int column) const {
    return there_[static_cast<std::size_t>(column)] && !rows_.IsNull(column);
  }
  // Empty for none. Valid until the next row.
  [[nodiscard]] std::string_view Text(int column) const { return rows_.Text(column); }

 private:
  friend class DatabaseFile;
  TableScan(Statement rows, std::vector<bool> there, std::uint64_t most)
      : rows_(std::move(rows)), there_(std::move(there)), most_(most) {}

  Statement rows_;
  std::vector<bool> there_;  // per column: the table has it
  std::uint64_t most_;
  std::uint64_t seen_ = 0;
};

// Leaves out the rows of which a column has this text or is empty, of which a producer writes many:
// SQLite compares faster than it hands rows out. What a table lacks leaves out nothing.
struct Except {
  std::string_view column;
  std::string_view text;  // this program's own
};

class DatabaseFile {
 public:
  // Reads `in` to its end: a plain file where it is, anything else as a copy without a name.
  // Errors: kMalformed, kTruncated for what is no database; kLimit when it cannot be copied.
  static Result<DatabaseFile> Open(ByteWindow& in, const Limits& limits);

  // None when there is no such table, or something else has its name.
  Result<std::optional<TableScan>> Scan(std::string_view table,
                                        std::initializer_list<std::string_view> columns,
                                        std::optional<Except> except = {});
  Result<bool> HasTable(std::string_view table);
  // What follows `prefix` in the names of tables, sorted: producers may give the tables of a
  // recording one suffix. Names of other than letters, digits and "_" are none of theirs.
  Result<std::vector<std::string>> SuffixesOf(std::string_view prefix);
  // Calls visit(scan) for each row; does nothing where there is no such table.
  template <class Visit>
  Result<void> ForEach(std::string_view table, std::initializer_list<std::string_view> columns,
                       Visit visit, std::optional<Except> except = {});

 private:
  struct Work;
  static Result<DatabaseFile> CopyToScratch(ByteWindow& in, const Limits& limits);
  static std::optional<Result<DatabaseFile>> OpenInPlace(ByteWindow& in, const Limits& limits);
  Result<std::vector<std::string>> ColumnsOf(std::string_view table);
  static Result<DatabaseFile> Finish(Database db, std::uint64_t size, const Limits& limits);
  DatabaseFile(Database db, std::unique_ptr<Work> work, const Limits& limits);

  std::unique_ptr<Work> work_;  // outlives the database, which refers to it
  Database db_;
  std::uint64_t max_rows_;

 public:
  DatabaseFile(DatabaseFile&&) noexcept;
  DatabaseFile(const DatabaseFile&) = delete;
  DatabaseFile& operator=(const DatabaseFile&) = delete;
  DatabaseFile& operator=(DatabaseFile&&) = delete;
  ~DatabaseFile();
};

template <class Visit>
Result<void> DatabaseFile::ForEach(std::string_view table,
                                   std::initializer_list<std::string_view> columns, Visit visit,
                                   std::optional<Except> except) {
  auto scan = Scan(table, columns, except);
  MEMTOOL_TRY(scan);
  if (!*scan) {
    return {};
  }
  while (true) {
    auto row = (*scan)->Next();
    MEMTOOL_TRY(row);
    if (!*row) {
      return {};
    }
    visit(**scan);
  }
}

}  // namespace memtool::formats::sqlite
