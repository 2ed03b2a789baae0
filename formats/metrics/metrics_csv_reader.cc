// A table of metrics with a header: Lightning's CSVLogger writes one row per call, most of whose
// fields are empty.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/numbers.h"
#include "metrics/metrics_readers.h"
#include "metrics/series.h"
#include "support/byte_cursor.h"
#include "support/text/csv_fields.h"
#include "support/text/lines.h"

namespace memtool::formats {

namespace {

using metrics::Moment;
using metrics::Series;

constexpr std::string_view kTableHint =
    "Lightning writes them with DeviceStatsMonitor() among the callbacks and a CSVLogger";

// Where what is wanted stands in a row.
struct Columns {
  std::optional<std::size_t> step, time;
  std::vector<std::pair<std::size_t, std::string>> tags;
  std::size_t count = 0;
};

Columns FindColumns(const CsvFields& header, Series& series) {
  Columns columns{.step = {}, .time = {}, .tags = {}, .count = header.size()};
  for (std::size_t at = 0; at < header.size(); ++at) {
    const std::string_view name = header[at];
    if (metrics::IsStep(name)) {
      columns.step = at;
    } else if (metrics::IsTime(name)) {
      columns.time = at;
    } else if (series.Wants(name, 1)) {
      columns.tags.emplace_back(at, name);
    }
  }
  return columns;
}

void TakeRow(const CsvFields& row, const Columns& columns, std::uint64_t line, Series& series) {
  Moment moment{.place = line, .step = {}};
  if (columns.step) {
    moment.step = ParseNumber<std::int64_t>(row[*columns.step]);
  }
  if (columns.time) {
    const auto seconds = ParseNumber<double>(row[*columns.time]);
    moment.time = seconds ? metrics::TimeOf(*seconds) : kNoTime;
  }
  for (const auto& [at, tag] : columns.tags) {
    if (const std::string_view text = row[at]; !text.empty()) {
      if (const auto number = metrics::NumberInText(text)) {
        series.Add(moment, tag, *number);
      } else {
        series.AddBad();
      }
    }
  }
}

}  // namespace

Match MetricsCsvReader::Sniff(std::span<const std::byte> head) const {
  std::string_view line = AfterSpace(AsText(head));
  line = line.substr(0, line.find_first_of("\r\n"));
  CsvFields fields;
  if (line.find(',') == std::string_view::npos || !fields.Split(line)) {
    return Match::kNo;
  }
  bool step = false;
  for (std::size_t at = 0; at < fields.size(); ++at) {
    step = step || metrics::IsStep(fields[at]) || fields[at] == "epoch";
  }
  if (!step) {
    return Match::kNo;
  }
  Series series;
  return FindColumns(fields, series).tags.empty() ? Match::kNo : Match::kCertain;
}

Result<Recording> MetricsCsvReader::Read(ByteWindow& in, const Limits& limits) const {
  Series series;
  Lines lines(in, limits);
  CsvFields fields;
  std::string_view line;
  Columns columns;
  std::uint64_t bad = 0;
  std::optional<std::uint64_t> first_bad;
  if (lines.Next(line) && fields.Split(AfterSpace(line))) {
    columns = FindColumns(fields, series);
  }
  while (lines.Next(line)) {
    if (line.empty()) {
      continue;
    }
    if (!fields.Split(line) || fields.size() != columns.count) {
      first_bad = first_bad.value_or(lines.offset());
      ++bad;
      continue;
    }
    TakeRow(fields, columns, lines.number(), series);
  }
  auto recording = series.Finish(
      {.display = "table of metrics", .noun = "a table of metrics", .rows_by_stage = false},
      in.offset(), kTableHint);
  if (recording && bad > 0) {
    recording->diagnostics.push_back(
        {.severity = Severity::kDamage,
         .code = "bad_row",
         .message = "rows with more or fewer fields than the header: left out",
         .offset = first_bad,
         .count = bad});
  }
  return recording;
}

}  // namespace memtool::formats
