#include "sqlite/sqlite_library.h"

#include <string>

#include "memtool/profile/base/late_library.h"

namespace memtool::formats::sqlite {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables,bugprone-macro-parentheses):
// see the header
namespace api {
#define MEMTOOL_DEFINE(name) decltype(&::name) name = MEMTOOL_LATE_FUNCTION(::name);
MEMTOOL_SQLITE_FUNCTIONS(MEMTOOL_DEFINE)
#undef MEMTOOL_DEFINE
}  // namespace api
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables,bugprone-macro-parentheses)

namespace {

std::string FindSqlite() {
  LateLibrary library("libsqlite3.so.0");
#define MEMTOOL_FIND(name) library.Find(#name, api::name);
  MEMTOOL_SQLITE_FUNCTIONS(MEMTOOL_FIND)
#undef MEMTOOL_FIND
  return library.Missing();
}

}  // namespace

Result<void> LoadSqlite() {
  static const std::string missing = FindSqlite();
  if (!missing.empty()) {
    return Fail(ErrorCode::kUnsupported,
                "databases need SQLite, which cannot be opened: " + missing,
                "install it (Debian: libsqlite3-0)");
  }
  return {};
}

}  // namespace memtool::formats::sqlite
