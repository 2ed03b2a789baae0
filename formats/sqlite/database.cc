#include "sqlite/database.h"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace memtool::formats::sqlite {

namespace {

// Bytes stay where they are until the statement has run.
constexpr sqlite3_destructor_type kStatic = nullptr;

}  // namespace

std::string GetMessage(sqlite3* db) {
  if (db == nullptr) {
    return "out of memory";
  }
  // SQLite keeps the system's reason for some failures only; errno has it for the others.
  const int code = api::sqlite3_errcode(db) & 0xff;
  const bool system = code == SQLITE_IOERR || code == SQLITE_CANTOPEN;
  const int kept = system ? api::sqlite3_system_errno(db) : 0;
  const int number = system && kept == 0 ? errno : kept;
  return number == 0 ? std::string(api::sqlite3_errmsg(db))
                     : fmt::format("{}: {}", api::sqlite3_errmsg(db),
                                   std::generic_category().message(number));
}

Result<Statement> Statement::Prepare(sqlite3* db, std::string_view text, ErrorCode code) {
  sqlite3_stmt* handle = nullptr;
  const int status =
      api::sqlite3_prepare_v2(db, text.data(), static_cast<int>(text.size()), &handle, nullptr);
  Statement statement(handle, code);
  if (status != SQLITE_OK) {
    return Fail(code, "SQLite: " + GetMessage(db));
  }
  return statement;
}

void Statement::Bind(int parameter, std::string_view text) {
  api::sqlite3_bind_text64(handle_.get(), parameter, text.data() == nullptr ? "" : text.data(),
                           text.size(), kStatic, SQLITE_UTF8);
}

Error Statement::Failure(int status) const {
  sqlite3* db = api::sqlite3_db_handle(handle_.get());
  switch (status & 0xff) {
    case SQLITE_NOMEM:
      return {.code = ErrorCode::kLimit, .input = {}, .message = "SQLite: out of memory"};
    case SQLITE_TOOBIG:
      return {.code = ErrorCode::kLimit,
              .input = {},
              .message = "a text or row of the database is too long",
              .hint = "lift it with --max string-bytes=SIZE"};
    case SQLITE_INTERRUPT:
      return {.code = ErrorCode::kMalformed,
              .input = {},
              .message = "the database takes more steps to read than its size explains"};
    default:
      return {.code = code_, .input = {}, .message = "SQLite: " + GetMessage(db)};
  }
}

Result<bool> Statement::Step() {
  errno = 0;
  const int status = api::sqlite3_step(handle_.get());
  if (status == SQLITE_ROW || status == SQLITE_DONE) {
    return status == SQLITE_ROW;
  }
  return Fail(Failure(status));
}

Result<void> Statement::Run() {
  errno = 0;
  const int status = api::sqlite3_step(handle_.get());
  if (status != SQLITE_DONE && status != SQLITE_ROW) {
    return Fail(Failure(status));
  }
  api::sqlite3_reset(handle_.get());
  return {};
}

std::string_view Statement::Text(int column) const {
  const unsigned char* text = api::sqlite3_column_text(handle_.get(), column);
  const int size = api::sqlite3_column_bytes(handle_.get(), column);
  const auto* bytes = static_cast<const char*>(static_cast<const void*>(text));
  return text == nullptr ? std::string_view()
                         : std::string_view(bytes, static_cast<std::size_t>(size));
}

Result<void> Execute(sqlite3* db, const std::string& statements, ErrorCode code) {
  errno = 0;
  if (api::sqlite3_exec(db, statements.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return Fail(code, "SQLite: " + GetMessage(db));
  }
  return {};
}

}  // namespace memtool::formats::sqlite
