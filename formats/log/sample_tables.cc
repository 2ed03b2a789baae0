#include "log/sample_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "log/line_time.h"
#include "log/pattern_text.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/numbers.h"

namespace memtool::formats::log {

namespace {

constexpr std::size_t kMaxRows = 400'000;
constexpr std::int64_t kMiB = 1048576;

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

std::vector<std::string_view> SplitAtCommas(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const std::size_t comma = line.find(',');
    fields.push_back(Trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) {
      return fields;
    }
    line.remove_prefix(comma + 1);
  }
}

std::vector<std::string_view> SplitAtBlanks(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t at = line.find_first_not_of(" \t\r"); at < line.size();) {
    const std::size_t end = std::min(line.find_first_of(" \t\r", at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(" \t\r", end);
  }
  return fields;
}

// "20261127" and "16:58:46", as dmon writes them.
std::optional<std::int64_t> TimeOf(std::string_view date, std::string_view time) {
  constexpr std::size_t kDate = 8;
  if (date.size() != kDate || !std::all_of(date.begin(), date.end(), IsDigit)) {
    return std::nullopt;
  }
  return GetTime(
      fmt::format("{}-{}-{} {}", date.substr(0, 4), date.substr(4, 2), date.substr(6, 2), time));
}

// "3599 MiB", "3599"; none for "[N/A]" and "-". nvidia-smi counts in whole MiB.
std::optional<ReadAmount> AmountOf(std::string_view field) {
  const std::size_t digits = std::min(field.find_first_not_of("0123456789."), field.size());
  const std::string_view unit = Trimmed(field.substr(digits));
  const std::int64_t bytes = unit.empty() ? kMiB : ParseUnit(unit);
  return digits == 0 || bytes == 0 ? std::nullopt
                                   : ParseAmount(field.substr(0, digits), bytes, false);
}

}  // namespace

bool SampleTables::Take(const LogLine& line) {
  if (TakeHeader(line.text)) {
    return true;
  }
  if (!open()) {
    return false;
  }
  if (TakeRow(line)) {
    misses_ = 0;
    return true;
  }
  ++misses_;
  return false;
}

bool SampleTables::TakeHeader(std::string_view line) {
  const bool blanks = line.starts_with("# gpu ") || line.starts_with("#Date ");
  if (line.starts_with('#') && !blanks) {
    return open();  // the units below a header
  }
  const auto fields = blanks ? SplitAtBlanks(line.substr(1)) : SplitAtCommas(line);
  std::vector<Column> columns;
  for (std::string_view field : fields) {
    field = Trimmed(field.substr(0, field.find('[')));
    static constexpr std::array<std::pair<std::string_view, Column>, 20> kNames = {
        {{"timestamp", Column::kTime},
         {"Timestamp", Column::kTime},
         {"Date", Column::kDate},
         {"Time", Column::kTime},
         {"index", Column::kIndex},
         {"gpu", Column::kIndex},
         {"DeviceId", Column::kIndex},
         {"uuid", Column::kId},
         {"gpu_uuid", Column::kId},
         {"pci.bus_id", Column::kId},
         {"gpu_bus_id", Column::kId},
         {"name", Column::kName},
         {"process_name", Column::kName},
         {"command", Column::kName},
         {"pid", Column::kPid},
         {"memory.used", Column::kUsed},
         {"used_memory", Column::kUsed},
         {"used_gpu_memory", Column::kUsed},
         {"memory.total", Column::kTotal},
         {"GPU Memory Used (MiB)", Column::kUsed}}};
    const auto* known = std::find_if(kNames.begin(), kNames.end(),
                                     [&](const auto& name) { return name.first == field; });
    columns.push_back(known != kNames.end()     ? known->second
                      : blanks && field == "fb" ? Column::kUsed
                                                : Column::kOther);
  }
  const auto has = [&columns](Column wanted) {
    return std::find(columns.begin(), columns.end(), wanted) != columns.end();
  };
  if (!has(Column::kUsed) || !(has(Column::kTime) || blanks)) {
    return false;
  }
  columns_ = std::move(columns);
  blanks_ = blanks;
  producer_ = line.find("GPU Memory Used") == std::string_view::npos ? "nvidia-smi" : "xpu-smi";
  misses_ = 0;
  return true;
}

std::vector<std::string_view> SampleTables::Split(std::string_view line) const {
  auto fields = blanks_ ? SplitAtBlanks(line) : SplitAtCommas(line);
  // The name of a process may have commas, or blanks at the end of the line.
  const auto name = static_cast<std::size_t>(
      std::find(columns_.begin(), columns_.end(), Column::kName) - columns_.begin());
  if (fields.size() > columns_.size() && name < columns_.size()) {
    const auto extra = static_cast<std::ptrdiff_t>(fields.size() - columns_.size());
    const auto first = fields.begin() + static_cast<std::ptrdiff_t>(name);
    const std::string_view last = *(first + extra);
    *first = {first->data(), static_cast<std::size_t>(last.data() + last.size() - first->data())};
    fields.erase(first + 1, first + 1 + extra);
  }
  return fields;
}

std::optional<SampleTables::Fields> SampleTables::Read(std::string_view line) const {
  const auto texts = Split(line);
  if (texts.size() != columns_.size()) {
    return std::nullopt;
  }
  Fields fields;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (const auto& [column, to] : {std::pair(Column::kDate, &fields.date),
                                     {Column::kTime, &fields.time},
                                     {Column::kIndex, &fields.index},
                                     {Column::kId, &fields.id},
                                     {Column::kName, &fields.name},
                                     {Column::kPid, &fields.pid}}) {
      *to = columns_[i] == column ? texts[i] : *to;
    }
    const auto amount = AmountOf(texts[i]);
    if (columns_[i] == Column::kUsed && amount) {
      fields.used = amount->value;
      fields.precision = amount->above;
    } else if (columns_[i] == Column::kTotal && amount) {
      fields.total = amount->value;
    }
  }
  return fields;
}

bool SampleTables::TakeRow(const LogLine& line) {
  const auto fields = Read(line.text);
  if (!fields || !fields->used) {
    return false;
  }
  Row row{
      .line = line.number,
      .time = (fields->date.empty() ? GetTime(fields->time) : TimeOf(fields->date, fields->time))
                  .value_or(kNoTime),
      .subject = {},
      .used = *fields->used,
      .total = fields->total,
      .precision = fields->precision};
  if (row.time == kNoTime && !blanks_ && producer_ == "nvidia-smi") {
    return false;
  }
  // Rows of one call have nearly the same time.
  constexpr std::int64_t kRound = 100'000'000;
  const bool same_time = row.time != kNoTime && last_time_ != kNoTime &&
                         SaturatingSubtract(row.time, last_time_) < kRound &&
                         row.time >= last_time_;
  if (!same_time) {
    EndRound(line.number, row.time);
  }
  row.subject.device = DeviceOf(fields->index, fields->id, same_time);
  if (!fields->pid.empty()) {
    row.subject.process =
        fmt::format("{}{}{}", fields->name, fields->name.empty() ? "" : " ", fields->pid);
    last_row_[row.subject] = line.number;
  }
  last_time_ = row.time;
  if (rows_.size() < kMaxRows) {
    rows_.push_back(std::move(row));
  } else {
    ++left_out_;
  }
  return true;
}

// A process that the round before did not list has ended.
void SampleTables::EndRound(std::uint64_t line, std::int64_t time) {
  for (auto at = last_row_.begin(); at != last_row_.end();) {
    if (at->second < round_line_) {
      rows_.push_back({.line = line, .time = time, .subject = at->first, .used = 0, .total = {}});
      at = last_row_.erase(at);
    } else {
      ++at;
    }
  }
  round_line_ = line;
}

// The number that a row gives; else in the order in which ids came; else its place in the round.
std::int32_t SampleTables::DeviceOf(std::string_view index, std::string_view id, bool same_time) {
  position_ = same_time ? position_ + 1 : 0;
  if (const auto number = ParseNumber<std::int32_t>(index); number && *number >= 0) {
    return *number;
  }
  if (!id.empty()) {
    return ids_.try_emplace(std::string(id), static_cast<std::int32_t>(ids_.size())).first->second;
  }
  return std::find(columns_.begin(), columns_.end(), Column::kPid) == columns_.end() ? position_
                                                                                     : 0;
}

void SampleTables::GiveTo(Statements& statements) && {
  std::map<Subject, std::size_t> counts;
  bool series = false;
  for (const Row& row : rows_) {
    series = ++counts[row.subject] > 1 || series;
  }
  if (!series) {
    return;
  }
  const std::uint8_t used = *FindAmount("used");
  const std::uint8_t process = *FindAmount("process");
  const std::uint8_t total = *FindAmount("total");
  const StringId producer = statements.strings.Intern(producer_);
  std::vector<Statement> given;  // by line, as the rows are
  for (const Row& row : rows_) {
    Statement statement{
        .line = row.line,
        .time = row.time,
        .value = row.used,
        .below = row.precision,
        .above = row.precision,
        .producer = producer,
        .process = {},
        .device = statements.strings.Intern(fmt::format("GPU {}", row.subject.device)),
        .stage = {},
        .amount = row.subject.process.empty() ? used : process};
    if (!row.subject.process.empty()) {
      statement.process = statements.strings.Intern(row.subject.process);
    }
    given.push_back(statement);
    if (row.total) {
      statement.amount = total;
      statement.value = *row.total;
      given.push_back(statement);
    }
  }
  statements.found += given.size() + left_out_;
  std::vector<Statement> all;
  std::merge(statements.list.begin(), statements.list.end(), given.begin(), given.end(),
             std::back_inserter(all),
             [](const Statement& a, const Statement& b) { return a.line < b.line; });
  statements.list = std::move(all);
}

}  // namespace memtool::formats::log
