#include "events/events_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "events/events_words.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/numbers.h"
#include "memtool/profile/base/sizes.h"
#include "output/tabulate.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

Percent Share(std::int64_t part, std::int64_t whole) {
  return {.ratio = whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0};
}

std::string LimitText(const ShortLived& limit) {
  return limit.nanos ? DurationText(*limit.nanos) : Counted(limit.events, "event");
}

std::string MedianText(const Churn& churn) {
  return churn.median_events ? LivedText(*churn.median_events, churn.median_nanos) : std::string{};
}

std::string Allocations(std::int64_t count) {
  return Counted(count, "allocation");
}

std::string RateText(double rate) {
  constexpr double kWhole = 100;  // from here on, fractions say nothing
  return rate < kWhole ? fmt::format("{:.3g}", rate)
                       : FormatCount(static_cast<std::int64_t>(std::min(rate, 9.2e18)));
}

void AddHead(const ChurnAnswer& answer, TextTable& table) {
  const Churn& all = answer.total;
  std::string first =
      fmt::format("{} of {} in all", Allocations(all.allocations), FormatSize(all.bytes));
  if (answer.allocations_per_second) {
    const double bytes = std::min(*answer.bytes_per_second, 9.2e18);
    first += fmt::format(" within {}: {} allocations and {} a second", DurationText(*answer.nanos),
                         RateText(*answer.allocations_per_second),
                         FormatSize(static_cast<std::int64_t>(bytes)));
  }
  table.head.push_back(std::move(first));
  if (all.without_address > 0) {
    table.head.push_back(
        fmt::format("{} of them without an address: when they were freed is not known",
                    FormatCount(all.without_address)));
    if (all.without_address == all.allocations) {
      return;
    }
  }
  table.head.push_back(fmt::format("short-lived, freed within {}: {} of {}, {:.1f}% of the bytes",
                                   LimitText(answer.limit), Allocations(all.short_lived),
                                   FormatSize(all.short_bytes),
                                   100 * Share(all.short_bytes, all.bytes).ratio));
  if (all.median_events) {
    table.head.push_back("median lifetime of what is freed: " + MedianText(all));
  }
  table.head.push_back(fmt::format("not freed before the file ends: {} of {}",
                                   Allocations(all.kept), FormatSize(all.kept_bytes)));
}

TableColumns<ChurnRow> Columns() {
  TableColumns<ChurnRow> columns(kChurnFields, true);
  columns["short_share"].get = [](const ChurnRow& row) {
    return Share(row.churn.short_bytes, row.churn.bytes);
  };
  columns["median_life"].get = [](const ChurnRow& row) { return MedianText(row.churn); };
  columns["name"].get = [](const ChurnRow& row) { return FrameText(row.name, row.file, row.line); };
  return columns;
}

}  // namespace

Result<ShortLived> ParseShortLived(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
      {{"us", 1e3}, {"ms", 1e6}, {"ns", 1}, {"s", 1e9}}};
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end(),
                                  [text](const auto& one) { return text.ends_with(one.first); });
  const std::string_view digits =
      text.substr(0, text.size() - (unit == kUnits.end() ? 0 : unit->first.size()));
  ShortLived limit;
  if (unit == kUnits.end()) {
    const auto events = ParseNumber<decltype(limit.events)>(digits);
    if (events && *events >= 0) {
      limit.events = *events;
      return limit;
    }
  } else {
    const double nanos = ParseNumber<double>(digits).value_or(-1) * unit->second;
    if (nanos >= 0 && nanos < 9e18) {
      limit.nanos = static_cast<std::int64_t>(nanos);
      return limit;
    }
  }
  return Fail(ErrorCode::kUsage,
              fmt::format("--short-lived: '{}' is neither a number of events nor a time", text),
              "100, 250us, 5ms or 1.5s");
}

TextTable ChurnTable(const ChurnAnswer& answer, std::size_t limit) {
  TextTable table;
  Tabulate(answer.rows, Columns().all(), limit, 0, table);
  AddHead(answer, table);
  return table;
}

}  // namespace memtool::commands
