// SQLite's C interface with owners and errors as values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "memtool/profile/base/result.h"
#include "sqlite/sqlite_library.h"

namespace memtool::formats::sqlite {

struct CloseDatabase {
  void operator()(sqlite3* db) const { api::sqlite3_close_v2(db); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

// What SQLite says of its last failure, in its own words and the system's.
std::string GetMessage(sqlite3* db);

// A prepared statement; `code` of its errors is for the caller to choose.
class Statement {
 public:
  // Errors: `code`, when the text does not compile.
  static Result<Statement> Prepare(sqlite3* db, std::string_view text, ErrorCode code);

  // Parameters count from 1 and keep their values between rows.
  void Bind(int parameter, std::int64_t value) {
    api::sqlite3_bind_int64(handle_.get(), parameter, value);
  }
  // The bytes are needed until the next Step() or Run().
  void Bind(int parameter, std::string_view text);
  void BindNull(int parameter) { api::sqlite3_bind_null(handle_.get(), parameter); }
  template <class Value>
  void Bind(int parameter, const std::optional<Value>& value) {
    value ? Bind(parameter, static_cast<std::int64_t>(*value)) : BindNull(parameter);
  }
  // True when there is a row to look at, false after the last one.
  Result<bool> Step();
  // Executes a statement that has no rows, once.
  Result<void> Run();

  // Columns of the current row count from 0.
  [[nodiscard]] bool IsInteger(int column) const {
    return api::sqlite3_column_type(handle_.get(), column) == SQLITE_INTEGER;
  }
  [[nodiscard]] bool IsNull(int column) const {
    return api::sqlite3_column_type(handle_.get(), column) == SQLITE_NULL;
  }
  [[nodiscard]] std::int64_t Number(int column) const {
    return api::sqlite3_column_int64(handle_.get(), column);
  }
  // Valid until the next Step().
  [[nodiscard]] std::string_view Text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { api::sqlite3_finalize(statement); }
  };
  Statement(sqlite3_stmt* handle, ErrorCode code) : handle_(handle), code_(code) {}
  [[nodiscard]] Error Failure(int status) const;

  std::unique_ptr<sqlite3_stmt, Finalize> handle_;
  ErrorCode code_;
};

// Runs statements without parameters, separated by semicolons. Errors: `code`.
Result<void> Execute(sqlite3* db, const std::string& statements, ErrorCode code);

}  // namespace memtool::formats::sqlite
