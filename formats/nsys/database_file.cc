#include "nsys/database_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/byte_cursor.h"

namespace memtool::formats::nsys {

namespace {

constexpr int kStepsBetween = 10'000;  // of SQLite's machine, between two looks at the sum
constexpr std::uint64_t kFreeSteps = 10'000'000;
constexpr std::uint64_t kStepsPerByte = 40;
constexpr std::uint64_t kMaxLength = std::uint64_t{1} << 30U;

// Reading columns is all that the statements here need.
int Allow(void* /*data*/, int action, const char* first, const char* /*second*/,
          const char* /*database*/, const char* /*trigger*/) {
  if (action == SQLITE_PRAGMA) {
    return std::string_view(first) == "table_xinfo" ? SQLITE_OK : SQLITE_DENY;
  }
  return action == SQLITE_SELECT || action == SQLITE_READ ? SQLITE_OK : SQLITE_DENY;
}

void Harden(sqlite3* db, const Limits& limits) {
  sqlite::api::sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite::api::sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite::api::sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite::api::sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite::api::sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  sqlite::api::sqlite3_limit(db, SQLITE_LIMIT_LENGTH,
                             static_cast<int>(std::min(limits.string_bytes, kMaxLength)));
  constexpr int kMaxSql = 100'000;
  constexpr int kMaxColumns = 500;
  constexpr int kMaxNesting = 50;
  sqlite::api::sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, kMaxSql);
  sqlite::api::sqlite3_limit(db, SQLITE_LIMIT_COLUMN, kMaxColumns);
  sqlite::api::sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, kMaxNesting);
  sqlite::api::sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
  sqlite::api::sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
  sqlite::api::sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
}

std::string QuotedName(std::string_view name) {
  return fmt::format("\"{}\"", name);  // names are this program's own
}

// SQLite fills up the last page of a file that ends inside of it.
bool EndsInPage(std::span<const std::byte> header, std::uint64_t size) {
  constexpr std::size_t kAt = 16;
  if (header.size() < kAt + 2) {
    return true;
  }
  constexpr std::uint64_t kMaxValue = 65536;  // written as 1
  const auto written = std::to_integer<std::uint64_t>(header[kAt]) << 8U |
                       std::to_integer<std::uint64_t>(header[kAt + 1]);
  const std::uint64_t page = written <= 1 ? kMaxValue : written;
  return size % page != 0;
}

// Returns the number of bytes. A database in write-ahead mode would want its second file, which is
// not here: the copy says that there is none.
Result<std::uint64_t> CopyTo(const ScratchFile& file, ByteWindow& in) {
  constexpr std::size_t kHeader = 100;
  constexpr std::size_t kModes = 18;  // for writing and for reading
  constexpr std::byte kWriteAhead{2};
  const auto head = in.Fill(kHeader);
  const auto first = head.first(std::min(head.size(), kHeader));
  std::vector<std::byte> header(first.begin(), first.end());
  for (std::size_t i = kModes; i < std::min(header.size(), kModes + 2); ++i) {
    header[i] = header[i] == kWriteAhead ? std::byte{1} : header[i];
  }
  MEMTOOL_TRY(file.Append(AsText(header)));
  in.Advance(header.size());
  std::uint64_t size = header.size();
  while (!in.AtEnd()) {
    const auto bytes = in.buffered();
    MEMTOOL_TRY(file.Append(AsText(bytes)));
    size += bytes.size();
    in.Advance(bytes.size());
  }
  if (EndsInPage(header, size)) {
    return Fail(ErrorCode::kTruncated, "the database ends inside a page");
  }
  return size;
}

// A path as SQLite's names of files: some bytes mean something there.
std::string ToUri(std::string_view path) {
  std::string uri = path.starts_with('/') ? "file://" : "file:";
  for (const char c : path) {
    uri += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02X}", static_cast<unsigned>(c))
                                            : std::string(1, c);
  }
  return uri + "?mode=ro";
}

}  // namespace

// Steps that a database has caused so far, and how many its size explains.
struct DatabaseFile::Work {
  std::uint64_t done = 0;
  std::uint64_t most = 0;

  static int Look(void* data) {
    auto* work = static_cast<Work*>(data);
    work->done += kStepsBetween;
    return work->done > work->most ? 1 : 0;
  }
};

DatabaseFile::DatabaseFile(sqlite::Database db, std::unique_ptr<Work> work, const Limits& limits)
    : work_(std::move(work)), db_(std::move(db)), max_rows_(limits.samples) {}
DatabaseFile::DatabaseFile(DatabaseFile&&) noexcept = default;
DatabaseFile::~DatabaseFile() = default;

Result<DatabaseFile> DatabaseFile::Copy(ByteWindow& in, const Limits& limits) {
  auto copy = CopyToScratch(in, limits);
  if (!copy && copy.error().code == ErrorCode::kOutput) {
    copy.error().code = ErrorCode::kLimit;  // the machine's: no output is at fault
  }
  return copy;
}

Result<DatabaseFile> DatabaseFile::CopyToScratch(ByteWindow& in, const Limits& limits) {
  MEMTOOL_TRY(sqlite::LoadSqlite());
  auto file = ScratchFile::Make();
  MEMTOOL_TRY(file);
  // It is opened while it is still empty, so that it has a name for a moment only; SQLite looks at
  // its size later.
  sqlite3* opened = nullptr;
  const int status = sqlite::api::sqlite3_open_v2(
      ToUri(file->path()).c_str(), &opened,
      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  sqlite::Database db(opened);
  file->Unlink();
  if (status != SQLITE_OK) {
    return Fail(ErrorCode::kLimit, "its copy: SQLite: " + sqlite::GetMessage(db.get()),
                "TMPDIR names another folder for it");
  }
  const auto size = CopyTo(*file, in);
  MEMTOOL_TRY(size);
  Harden(db.get(), limits);
  MEMTOOL_TRY(sqlite::Execute(
      db.get(), "PRAGMA cell_size_check = ON; PRAGMA automatic_index = OFF; PRAGMA mmap_size = 0",
      ErrorCode::kMalformed));
  auto work = std::make_unique<Work>();
  work->most = kFreeSteps + *size * kStepsPerByte;
  sqlite::api::sqlite3_progress_handler(db.get(), kStepsBetween, &Work::Look, work.get());
  sqlite::api::sqlite3_set_authorizer(db.get(), &Allow, nullptr);
  return DatabaseFile(std::move(db), std::move(work), limits);
}

// The pages of a virtual table are not there: its root is 0.
Result<bool> DatabaseFile::HasTable(std::string_view table) {
  auto found = sqlite::Statement::Prepare(
      db_.get(), "SELECT type, rootpage FROM sqlite_schema WHERE name = ?1", ErrorCode::kMalformed);
  MEMTOOL_TRY(found);
  found->Bind(1, table);
  while (true) {
    auto row = found->Step();
    MEMTOOL_TRY(row);
    if (!*row) {
      return false;
    }
    if (found->Text(0) == "table" && found->Number(1) > 0) {
      return true;
    }
  }
}

Result<std::optional<TableScan>> DatabaseFile::Scan(
    std::string_view table, std::initializer_list<std::string_view> columns) {
  const auto exists = HasTable(table);
  MEMTOOL_TRY(exists);
  if (!*exists) {
    return std::optional<TableScan>();
  }
  auto info = sqlite::Statement::Prepare(
      db_.get(), fmt::format("PRAGMA table_xinfo({})", QuotedName(table)), ErrorCode::kMalformed);
  MEMTOOL_TRY(info);
  std::vector<std::string> stored;
  while (true) {
    auto row = info->Step();
    MEMTOOL_TRY(row);
    if (!*row) {
      break;
    }
    constexpr int kName = 1;
    constexpr int kHidden = 6;  // generated columns compute something
    if (info->Number(kHidden) == 0) {
      stored.emplace_back(info->Text(kName));
    }
  }
  std::string list;
  for (const std::string_view column : columns) {
    const bool there = std::find(stored.begin(), stored.end(), column) != stored.end();
    list += (list.empty() ? "" : ", ") + (there ? QuotedName(column) : std::string("NULL"));
  }
  auto rows = sqlite::Statement::Prepare(
      db_.get(), fmt::format("SELECT {} FROM {} NOT INDEXED", list, QuotedName(table)),
      ErrorCode::kMalformed);
  MEMTOOL_TRY(rows);
  return std::optional<TableScan>(TableScan(*std::move(rows), max_rows_));
}

Result<bool> TableScan::Next() {
  auto row = rows_.Step();
  if (row && *row && ++seen_ > most_) {
    return Fail(ErrorCode::kLimit, fmt::format("a table of more than {} rows", most_),
                "lift it with --max samples=N");
  }
  return row;
}

std::optional<std::int64_t> TableScan::Number(int column) const {
  return rows_.IsInteger(column) ? std::optional(rows_.Number(column)) : std::nullopt;
}

}  // namespace memtool::formats::nsys
