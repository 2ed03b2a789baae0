#include "sqlite/sqlite_writer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <concepts>
#include <functional>
#include <optional>
#include <system_error>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/escape.h"
#include "memtool/profile/base/once_per_text.h"
#include "memtool/profile/history/events.h"
#include "memtool/profile/model/clamped_sums.h"
#include "memtool/profile/replay/replay.h"
#include "sqlite/database.h"
#include "sqlite/tables.h"
#include "support/scratch_file.h"

namespace memtool::formats {

namespace {

using sqlite::Database;
using sqlite::Execute;
using sqlite::Statement;

std::string_view SqlName(Role role) {
  switch (role) {
    case Role::kCount:
      return "count";
    case Role::kBytes:
      return "bytes";
    case Role::kRequestedBytes:
      return "requested";
    case Role::kOther:
      break;
  }
  return "other";
}

std::string_view SqlName(DomainKind kind) {
  constexpr std::array<std::string_view, 6> kNames{"device", "managed", "pinned",
                                                   "host",   "vmm",     "cpu"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view SqlName(DomainLevel level) {
  constexpr std::array<std::string_view, 3> kNames{"driver", "allocator", "user"};
  return kNames[static_cast<std::size_t>(level)];
}

std::string_view SqlName(BlockState state) {
  constexpr std::array<std::string_view, 3> kNames{"active", "pending_free", "inactive"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view SqlName(Severity severity) {
  constexpr std::array<std::string_view, 3> kNames{"note", "warning", "damage"};
  return kNames[static_cast<std::size_t>(severity)];
}

// A reference into another table; NULL for none.
template <class Tag>
std::optional<std::int64_t> Ref(Id<Tag> id) {
  return id.valid() ? std::optional<std::int64_t>(id.value()) : std::nullopt;
}

std::optional<std::int64_t> Time(std::int64_t time) {
  return time == kNoTime ? std::nullopt : std::optional(time);
}

// One row of a table: values in the order of its columns. An error sticks to the table.
class Table {
 public:
  Table(sqlite3* db, std::string_view name, int columns, Result<void>& state) : state_(state) {
    std::string text = fmt::format("INSERT INTO {} VALUES(", name);
    for (int i = 0; i < columns; ++i) {
      text += i == 0 ? "?" : ",?";
    }
    auto made = Statement::Prepare(db, text + ")", ErrorCode::kOutput);
    if (made) {
      insert_.emplace(*std::move(made));
    } else {
      state_ = Fail(std::move(made.error()));
    }
  }

  template <class... Values>
  void Add(const Values&... values) {
    if (!state_ || !insert_) {
      return;
    }
    int parameter = 0;
    (Bind(++parameter, values), ...);
    state_ = insert_->Run();
  }

 private:
  void Bind(int parameter, const std::string& text) {
    insert_->Bind(parameter, std::string_view(text));
  }
  void Bind(int parameter, std::string_view text) { insert_->Bind(parameter, text); }
  void Bind(int parameter, const char* text) { insert_->Bind(parameter, std::string_view(text)); }
  void Bind(int parameter, bool value) { insert_->Bind(parameter, std::int64_t{value}); }
  template <class Number>
  requires std::integral<Number>
  void Bind(int parameter, Number value) {
    insert_->Bind(parameter, static_cast<std::int64_t>(value));
  }
  void Bind(int parameter, const std::optional<std::int64_t>& value) {
    insert_->Bind(parameter, value);
  }
  void Bind(int parameter, const std::optional<std::string>& text) {
    text ? insert_->Bind(parameter, std::string_view(*text)) : insert_->BindNull(parameter);
  }

  Result<void>& state_;
  std::optional<Statement> insert_;
};

class Filler {
 public:
  Filler(sqlite3* db, const Recording& recording)
      : db_(db), recording_(recording), texts_(Into("texts", 2)) {}

  Result<void> Fill() {
    FillMeta();
    FillCode();
    FillStacks();
    FillLabels();
    FillSamples();
    FillHistory();
    FillState();
    return state_;
  }

 private:
  using Null = std::optional<std::int64_t>;

  [[nodiscard]] Table Into(std::string_view name, int columns) {
    return {db_, name, columns, state_};
  }
  [[nodiscard]] std::string Text(StringId id) const { return ToUtf8(recording_.Text(id)); }
  // The row of `texts` that has the text.
  std::int64_t TextRow(StringId id) { return text_rows_(id); }

  void FillMeta();
  void FillCode();
  void FillStacks();
  void FillLabels();
  void FillSamples();
  void FillHistory();
  void FillEvents(std::size_t pool, Table& events, Table& base);
  void FillState();

  sqlite3* db_;
  const Recording& recording_;
  Result<void> state_;
  Table texts_;
  OncePerText<std::function<std::int64_t(StringId)>> text_rows_{[this](StringId id) {
    texts_.Add(id.value(), Text(id));
    return std::int64_t{id.value()};
  }};
};

void Filler::FillMeta() {
  const Metadata& metadata = recording_.metadata;
  Table meta = Into("meta", 2);
  meta.Add("schema", "memtool.sqlite/1");
  meta.Add("format", ToUtf8(metadata.format));
  meta.Add("input", ToUtf8(metadata.format_display));
  if (metadata.time_nanos != 0) {
    meta.Add("time_ns", metadata.time_nanos);
  }
  if (metadata.origin.process) {
    meta.Add("process", *metadata.origin.process);
  }
  if (!metadata.origin.host.empty()) {
    meta.Add("host", ToUtf8(metadata.origin.host));
  }
  if (!metadata.origin.rank.empty()) {
    meta.Add("rank", ToUtf8(metadata.origin.rank));
  }
  for (std::size_t i = 0; i < metadata.origin.device_names.size(); ++i) {
    meta.Add(fmt::format("device {}", i), ToUtf8(metadata.origin.device_names[i]));
  }
  if (recording_.history) {
    constexpr std::array<std::string_view, 3> kClocks{"none", "unix", "relative"};
    meta.Add("clock", kClocks[static_cast<std::size_t>(recording_.history->clock)]);
  }
  Table settings = Into("settings", 2);
  for (const Setting& setting : recording_.settings) {
    settings.Add(ToUtf8(setting.name), ToUtf8(setting.value));
  }
  Table diagnostics = Into("diagnostics", 4);
  for (const Diagnostic& one : recording_.diagnostics) {
    diagnostics.Add(SqlName(one.severity), one.code, ToUtf8(one.message), one.count);
  }
}

void Filler::FillCode() {
  Table mappings = Into("mapping_rows", 3);
  for (std::size_t i = 0; i < recording_.mappings.size(); ++i) {
    const Mapping& mapping = recording_.mappings[i];
    mappings.Add(i, TextRow(mapping.filename), TextRow(mapping.build_id));
  }
  Table functions = Into("function_rows", 5);
  for (std::size_t i = 0; i < recording_.functions.size(); ++i) {
    const Function& function = recording_.functions[i];
    functions.Add(i, TextRow(function.name), TextRow(function.system_name),
                  TextRow(function.filename), function.start_line);
  }
  Table frames = Into("frames", 3);
  for (std::size_t i = 0; i < recording_.lines.size(); ++i) {
    frames.Add(i, Ref(recording_.lines[i].function), recording_.lines[i].line);
  }
}

void Filler::FillStacks() {
  Table locations = Into("locations", 5);
  for (std::size_t i = 0; i < recording_.locations.size(); ++i) {
    const Location& location = recording_.locations[i];
    locations.Add(i, Ref(location.mapping), location.address, location.first_line,
                  location.line_count);
  }
  Table stacks = Into("stacks", 3);
  for (std::size_t i = 0; i < recording_.stack_count(); ++i) {
    std::int64_t position = 0;
    for (const LocationId location : recording_.Stack(StackId(i))) {
      stacks.Add(i, position++, Ref(location));
    }
  }
}

void Filler::FillLabels() {
  Table labels = Into("label_rows", 6);
  std::int64_t row = 0;
  for (std::size_t i = 0; i < recording_.label_set_count(); ++i) {
    for (const Label& label : recording_.Labels(LabelSetId(i))) {
      if (label.numeric) {
        labels.Add(row++, i, TextRow(label.key), Null(), label.number, TextRow(label.unit));
      } else {
        labels.Add(row++, i, TextRow(label.key), TextRow(label.text), Null(), Null());
      }
    }
  }
}

void Filler::FillSamples() {
  if (!recording_.profile) {
    return;
  }
  const Profile& profile = *recording_.profile;
  Table types = Into("sample_types", 4);
  for (std::size_t i = 0; i < profile.types.size(); ++i) {
    const SampleType& type = profile.types[i];
    types.Add(i, Text(type.type), Text(type.unit), SqlName(type.role));
  }
  Table samples = Into("samples", 4);
  Table values = Into("sample_values", 3);
  for (std::size_t i = 0; i < profile.size(); ++i) {
    const bool unknown =
        std::binary_search(profile.unknown_size.begin(), profile.unknown_size.end(), i);
    samples.Add(i, Ref(profile.stacks[i]), Ref(profile.label_sets[i]), unknown);
    for (std::size_t type = 0; type < profile.types.size(); ++type) {
      values.Add(i, type, profile.values[type][i]);
    }
  }
}

void Filler::FillHistory() {
  if (!recording_.history) {
    return;
  }
  const History& history = *recording_.history;
  Table domains = Into("ledgers", 7);
  for (std::size_t i = 0; i < history.domains.size(); ++i) {
    const MemoryDomain& domain = history.domains[i];
    domains.Add(i, ToUtf8(domain.name), domain.device, SqlName(domain.kind), SqlName(domain.level),
                Ref(domain.parent), domain.capacity);
  }
  Table marks = Into("marks", 5);
  for (std::size_t i = 0; i < history.marks.size(); ++i) {
    const Mark& mark = history.marks[i];
    marks.Add(i, ToUtf8(mark.name), mark.device, Time(mark.begin), Time(mark.end));
  }
  Table events = Into("events", 14);
  Table base = Into("base_blocks", 5);
  for (std::size_t pool = 0; pool < history.traces.size(); ++pool) {
    FillEvents(pool, events, base);
  }
}

void Filler::FillEvents(std::size_t pool, Table& events, Table& base) {
  const History& history = *recording_.history;
  const Trace& trace = history.traces[pool];
  const Replay replay(recording_, trace);
  const TraceSummary summary = replay.Summarize();
  Into("pools", 17)
      .Add(pool, ToUtf8(trace.name), trace.device, trace.event_count, Ref(trace.blocks),
           Ref(trace.segments), summary.base_bytes, summary.preexisting_bytes, summary.start_bytes,
           summary.peak_bytes, summary.peak_event, summary.end_bytes, summary.reserved_base_bytes,
           summary.reserved_peak_bytes, summary.reserved_end_bytes, summary.unmatched_frees,
           summary.reconciles());
  const auto rows = GetEvents(recording_, trace);
  std::int64_t live = summary.base_bytes;
  std::int64_t reserved = summary.reserved_base_bytes;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    const Event& event = rows[i];
    live = SaturatingAdd(live, replay.ChangeAt(i));
    reserved = SaturatingAdd(reserved, ReservedChange(event));
    const std::uint32_t partner = replay.partners()[i];
    const LabelSetId labels =
        history.labels.empty() ? LabelSetId() : history.labels[trace.first_event + i];
    events.Add(trace.first_event + i, pool, i, ActionName(event.action), event.key, event.size,
               Time(event.time), Ref(event.stack), history.streams[event.stream], Ref(labels),
               event.domain, partner == Replay::kNoEvent ? Null() : Null(partner), live, reserved);
  }
  for (const std::uint32_t event : replay.unmatched()) {
    base.Add(pool, rows[event].key, rows[event].size, Null(), event);
  }
  for (const std::uint32_t row : replay.unopened()) {
    const Block& block = recording_.state->blocks[row];
    base.Add(pool, block.address, block.requested, Ref(block.stack), Null());
  }
  for (const std::int64_t sum : {replay.preexisting(), replay.base_without_address()}) {
    if (sum != 0) {
      base.Add(pool, Null(), sum, Null(), Null());
    }
  }
}

void Filler::FillState() {
  if (!recording_.state) {
    return;
  }
  const AllocatorState& state = *recording_.state;
  Table segments = Into("segments", 14);
  Table blocks = Into("blocks", 7);
  for (std::size_t i = 0; i < state.segments.size(); ++i) {
    const Segment& segment = state.segments[i];
    const std::uint64_t stream =
        recording_.history ? recording_.history->streams[segment.stream] : segment.stream;
    segments.Add(i, segment.device, segment.address, segment.size, segment.allocated,
                 segment.active, segment.requested, stream, Ref(segment.stack), segment.small,
                 segment.expandable, segment.pool_owner, segment.pool_id, segment.host);
    for (std::uint32_t k = 0; k < segment.block_count; ++k) {
      const Block& block = state.blocks[segment.first_block + k];
      blocks.Add(segment.first_block + k, i, block.address, block.size,
                 block.state == BlockState::kInactive ? Null() : Null(block.requested),
                 SqlName(block.state), Ref(block.stack));
    }
  }
}

// A rollback is never needed: the file is thrown away instead. One transaction, and pages leave
// memory as they fill.
constexpr const char* kBegin =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; "
    "PRAGMA cache_size = -16000; BEGIN";

Result<void> MakeDatabase(const Recording& recording, ScratchFile& file) {
  MEMTOOL_TRY(sqlite::LoadSqlite());
  sqlite3* opened = nullptr;
  const int status = sqlite::api::sqlite3_open_v2(
      file.path().c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  const Database db(opened);
  file.Unlink();
  if (status != SQLITE_OK) {
    return Fail(ErrorCode::kOutput, "SQLite: " + sqlite::GetMessage(db.get()));
  }
  MEMTOOL_TRY(Execute(db.get(), kBegin, ErrorCode::kOutput));
  MEMTOOL_TRY(Execute(db.get(), sqlite::kTables, ErrorCode::kOutput));
  MEMTOOL_TRY(Filler(db.get(), recording).Fill());
  MEMTOOL_TRY(Execute(db.get(), sqlite::kViews, ErrorCode::kOutput));
  return Execute(db.get(), "COMMIT", ErrorCode::kOutput);
}

Result<void> HandOver(const ScratchFile& file, const ByteSink& sink) {
  std::vector<char> buffer(std::size_t{256} << 10U);
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(file.fd(), buffer.data(), buffer.size(), at);
    if (got < 0 && errno != EINTR) {
      return Fail(ErrorCode::kOutput,
                  "a temporary file cannot be read: " + std::generic_category().message(errno));
    }
    if (got == 0) {
      return {};
    }
    if (got > 0) {
      MEMTOOL_TRY(sink({buffer.data(), static_cast<std::size_t>(got)}));
      at += got;
    }
  }
}

}  // namespace

std::span<const std::string_view> SqliteWriter::endings() const {
  static constexpr std::array<std::string_view, 2> kEndings{".sqlite", ".db"};
  return kEndings;
}

Result<void> SqliteWriter::Write(const Recording& recording, const WriteOptions& /*options*/,
                                 const ByteSink& sink) const {
  if (!recording.profile && !recording.history) {
    return Fail(ErrorCode::kUnsupported, "holds neither samples nor events");
  }
  if (recording.history && !HistorySumsFit(recording)) {
    return Fail(ErrorCode::kLimit, "sums of sizes exceed the 64-bit range");
  }
  auto file = ScratchFile::Make();
  MEMTOOL_TRY(file);
  MEMTOOL_TRY(MakeDatabase(recording, *file));
  return HandOver(*file, sink);
}

}  // namespace memtool::formats
