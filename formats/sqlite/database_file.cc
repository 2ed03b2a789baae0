#include "sqlite/database_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/base/numbers.h"
#include "support/byte_cursor.h"

namespace memtool::formats::sqlite {

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
  api::sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  api::sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  api::sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  api::sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  api::sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  api::sqlite3_limit(db, SQLITE_LIMIT_LENGTH,
                     static_cast<int>(std::min(limits.string_bytes, kMaxLength)));
  constexpr int kMaxSql = 100'000;
  constexpr int kMaxColumns = 500;
  constexpr int kMaxNesting = 50;
  api::sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, kMaxSql);
  api::sqlite3_limit(db, SQLITE_LIMIT_COLUMN, kMaxColumns);
  api::sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, kMaxNesting);
  api::sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
  api::sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
  api::sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
}

std::string QuotedName(std::string_view name) {
  return fmt::format("\"{}\"", name);  // names are this program's own, or words
}

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c) || c == '_';
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

constexpr std::size_t kHeader = 100;

std::span<const std::byte> HeaderOf(ByteWindow& in) {
  const auto head = in.Fill(kHeader);
  return head.first(std::min(head.size(), kHeader));
}

Result<void> CheckSize(std::span<const std::byte> header, std::uint64_t size) {
  if (EndsInPage(header, size)) {
    return Fail(ErrorCode::kTruncated, "the database ends inside a page");
  }
  return {};
}

// Returns the number of bytes. A database in write-ahead mode would want its second file, which is
// not here: the copy says that there is none.
Result<std::uint64_t> CopyTo(const ScratchFile& file, ByteWindow& in) {
  constexpr std::size_t kModes = 18;  // for writing and for reading
  constexpr std::byte kWriteAhead{2};
  const auto first = HeaderOf(in);
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
  MEMTOOL_TRY(CheckSize(header, size));
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

int OpenReadOnly(const std::string& uri, Database& db) {
  sqlite3* opened = nullptr;
  const int status = api::sqlite3_open_v2(
      uri.c_str(), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  db = Database(opened);
  return status;
}

}  // namespace

bool IsDatabase(std::span<const std::byte> head) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  return AsText(head).starts_with(kMagic);
}

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

DatabaseFile::DatabaseFile(Database db, std::unique_ptr<Work> work, const Limits& limits)
    : work_(std::move(work)), db_(std::move(db)), max_rows_(limits.samples) {}
DatabaseFile::DatabaseFile(DatabaseFile&&) noexcept = default;
DatabaseFile::~DatabaseFile() = default;

Result<DatabaseFile> DatabaseFile::Open(ByteWindow& in, const Limits& limits) {
  MEMTOOL_TRY(LoadSqlite());
  if (auto in_place = OpenInPlace(in, limits)) {
    return *std::move(in_place);
  }
  auto copy = CopyToScratch(in, limits);
  if (!copy && copy.error().code == ErrorCode::kOutput) {
    copy.error().code = ErrorCode::kLimit;  // the machine's: no output is at fault
  }
  return copy;
}

// None where it is no plain file, or has no name that SQLite could open. As "immutable", SQLite
// neither locks it nor looks for files beside it: what a write-ahead log has is not in it.
std::optional<Result<DatabaseFile>> DatabaseFile::OpenInPlace(ByteWindow& in,
                                                              const Limits& limits) {
  const auto file = in.AsPlainFile();
  Database db;
  if (!file || OpenReadOnly(ToUri(fmt::format("/proc/self/fd/{}", file->fd)) + "&immutable=1",
                            db) != SQLITE_OK) {
    return std::nullopt;
  }
  if (auto whole = CheckSize(HeaderOf(in), file->size); !whole) {
    return Fail(std::move(whole.error()));
  }
  in.Seek(file->size);
  return Finish(std::move(db), file->size, limits);
}

Result<DatabaseFile> DatabaseFile::CopyToScratch(ByteWindow& in, const Limits& limits) {
  auto file = ScratchFile::Make();
  MEMTOOL_TRY(file);
  // It is opened while it is still empty, so that it has a name for a moment only; SQLite looks at
  // its size later.
  Database db;
  const int status = OpenReadOnly(ToUri(file->path()), db);
  file->Unlink();
  if (status != SQLITE_OK) {
    return Fail(ErrorCode::kLimit, "its copy: SQLite: " + GetMessage(db.get()),
                "TMPDIR names another folder for it");
  }
  const auto size = CopyTo(*file, in);
  MEMTOOL_TRY(size);
  return Finish(std::move(db), *size, limits);
}

Result<DatabaseFile> DatabaseFile::Finish(Database db, std::uint64_t size, const Limits& limits) {
  Harden(db.get(), limits);
  MEMTOOL_TRY(Execute(
      db.get(), "PRAGMA cell_size_check = ON; PRAGMA automatic_index = OFF; PRAGMA mmap_size = 0",
      ErrorCode::kMalformed));
  auto work = std::make_unique<Work>();
  work->most = kFreeSteps + size * kStepsPerByte;
  api::sqlite3_progress_handler(db.get(), kStepsBetween, &Work::Look, work.get());
  api::sqlite3_set_authorizer(db.get(), &Allow, nullptr);
  return DatabaseFile(std::move(db), std::move(work), limits);
}

// The pages of a virtual table are not there: its root is 0.
Result<bool> DatabaseFile::HasTable(std::string_view table) {
  auto found = Statement::Prepare(
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

Result<std::vector<std::string>> DatabaseFile::SuffixesOf(std::string_view prefix) {
  auto found = Statement::Prepare(
      db_.get(), "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0",
      ErrorCode::kMalformed);
  MEMTOOL_TRY(found);
  std::vector<std::string> suffixes;
  while (true) {
    auto row = found->Step();
    MEMTOOL_TRY(row);
    if (!*row) {
      break;
    }
    const std::string_view name = found->Text(0);
    if (name.starts_with(prefix) && std::all_of(name.begin(), name.end(), IsWordCharacter)) {
      suffixes.emplace_back(name.substr(prefix.size()));
    }
  }
  std::sort(suffixes.begin(), suffixes.end());
  return suffixes;
}

// The names of columns that are in the file: generated ones compute something.
Result<std::vector<std::string>> DatabaseFile::ColumnsOf(std::string_view table) {
  auto info = Statement::Prepare(
      db_.get(), fmt::format("PRAGMA table_xinfo({})", QuotedName(table)), ErrorCode::kMalformed);
  MEMTOOL_TRY(info);
  std::vector<std::string> stored;
  while (true) {
    auto row = info->Step();
    MEMTOOL_TRY(row);
    if (!*row) {
      return stored;
    }
    constexpr int kName = 1;
    constexpr int kHidden = 6;
    if (info->Number(kHidden) == 0) {
      stored.emplace_back(info->Text(kName));
    }
  }
}

Result<std::optional<TableScan>> DatabaseFile::Scan(std::string_view table,
                                                    std::initializer_list<std::string_view> columns,
                                                    std::optional<Except> except) {
  const auto exists = HasTable(table);
  MEMTOOL_TRY(exists);
  if (!*exists) {
    return std::optional<TableScan>();
  }
  const auto stored = ColumnsOf(table);
  MEMTOOL_TRY(stored);
  const auto has = [&stored](std::string_view column) {
    return std::find(stored->begin(), stored->end(), column) != stored->end();
  };
  std::string list;
  std::vector<bool> there;
  for (const std::string_view column : columns) {
    there.push_back(has(column));
    list += (list.empty() ? "" : ", ") + (there.back() ? QuotedName(column) : std::string("NULL"));
  }
  const std::string where =
      except && has(except->column)
          ? fmt::format(" WHERE {} <> '{}'", QuotedName(except->column), except->text)
          : std::string();
  auto rows = Statement::Prepare(
      db_.get(), fmt::format("SELECT {} FROM {} NOT INDEXED{}", list, QuotedName(table), where),
      ErrorCode::kMalformed);
  MEMTOOL_TRY(rows);
  return std::optional<TableScan>(TableScan(*std::move(rows), std::move(there), max_rows_));
}

Result<bool> TableScan::Next() {
  auto row = rows_.Step();
  if (row && *row && ++seen_ > most_) {
    return Fail(ErrorCode::kLimit, fmt::format("a table of more than {} rows", most_),
                "lift it with --max samples=N");
  }
  return row;
}

}  // namespace memtool::formats::sqlite
