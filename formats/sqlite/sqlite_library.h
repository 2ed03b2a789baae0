// The functions of SQLite that are used, under their own names: it is opened when a database is
// read or written (base/late_library.h).
#pragma once

#include <sqlite3.h>

#include "memtool/profile/base/result.h"

#define MEMTOOL_SQLITE_FUNCTIONS(X) \
  X(sqlite3_bind_int64)             \
  X(sqlite3_bind_null)              \
  X(sqlite3_bind_text64)            \
  X(sqlite3_close_v2)               \
  X(sqlite3_column_bytes)           \
  X(sqlite3_column_int64)           \
  X(sqlite3_column_text)            \
  X(sqlite3_column_type)            \
  X(sqlite3_db_config)              \
  X(sqlite3_db_handle)              \
  X(sqlite3_errcode)                \
  X(sqlite3_errmsg)                 \
  X(sqlite3_exec)                   \
  X(sqlite3_finalize)               \
  X(sqlite3_limit)                  \
  X(sqlite3_open_v2)                \
  X(sqlite3_prepare_v2)             \
  X(sqlite3_progress_handler)       \
  X(sqlite3_reset)                  \
  X(sqlite3_set_authorizer)         \
  X(sqlite3_step)                   \
  X(sqlite3_system_errno)

namespace memtool::formats::sqlite {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables,bugprone-macro-parentheses):
// set once, by LoadSqlite()
namespace api {
#define MEMTOOL_DECLARE(name) extern decltype(&::name) name;
MEMTOOL_SQLITE_FUNCTIONS(MEMTOOL_DECLARE)
#undef MEMTOOL_DECLARE
}  // namespace api
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables,bugprone-macro-parentheses)

// Before any of them is called; any number of times, from any thread. Errors: kUnsupported where
// the library is not installed.
Result<void> LoadSqlite();

}  // namespace memtool::formats::sqlite
