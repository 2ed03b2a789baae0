#include "events/events_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <tuple>

#include "events/events_words.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/model/label_text.h"
#include "rows/rows.h"

namespace memtool::commands {

namespace {

Percent Share(std::int64_t part, std::int64_t whole) {
  return {.ratio = whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0.0};
}

std::string LimitText(const ShortLived& limit) {
  return limit.nanos
             ? DurationText(*limit.nanos)
             : fmt::format("{} event{}", FormatCount(limit.events), limit.events == 1 ? "" : "s");
}

std::string MedianText(const Churn& churn) {
  if (!churn.median_events) {
    return {};
  }
  const std::string text = fmt::format("{} event{}", FormatCount(*churn.median_events),
                                       *churn.median_events == 1 ? "" : "s");
  return churn.median_nanos ? text + ", " + DurationText(*churn.median_nanos) : text;
}

Cell Optional(const std::optional<std::int64_t>& number, std::int64_t divisor = 1) {
  return number ? Cell(*number / divisor) : Cell();
}

std::string Allocations(std::int64_t count) {
  return fmt::format("{} allocation{}", FormatCount(count), count == 1 ? "" : "s");
}

// Per second of the span; nothing when it has no length.
std::optional<double> Rate(std::int64_t amount, const std::optional<std::int64_t>& nanos) {
  return nanos && *nanos > 0
             ? std::optional(static_cast<double>(amount) / (static_cast<double>(*nanos) / 1e9))
             : std::nullopt;
}

std::string RateText(double rate) {
  constexpr double kWhole = 100;  // from here on, parts of one say nothing
  return rate < kWhole ? fmt::format("{:.3g}", rate)
                       : FormatCount(static_cast<std::int64_t>(std::min(rate, 9.2e18)));
}

void AddHead(const ChurnSums& sums, const ShortLived& limit, Report& report) {
  const Churn& all = sums.total;
  std::string first =
      fmt::format("{} of {} in all", Allocations(all.allocations), FormatSize(all.bytes));
  if (const auto rate = Rate(all.allocations, sums.nanos)) {
    first += fmt::format(
        " within {}: {} allocations and {} a second", DurationText(*sums.nanos), RateText(*rate),
        FormatSize(static_cast<std::int64_t>(std::min(*Rate(all.bytes, sums.nanos), 9.2e18))));
  }
  report.head.push_back(std::move(first));
  report.head.push_back(fmt::format("short-lived, freed within {}: {} of {}, {:.1f}% of the bytes",
                                    LimitText(limit), Allocations(all.short_lived),
                                    FormatSize(all.short_bytes),
                                    100 * Share(all.short_bytes, all.bytes).ratio));
  if (all.median_events) {
    report.head.push_back("median lifetime of what is freed: " + MedianText(all));
  }
  report.head.push_back(fmt::format("not freed before the file ends: {} of {}",
                                    Allocations(all.kept), FormatSize(all.kept_bytes)));
}

std::vector<Cell> RowOf(const AllocationGroups::Name& group, const Churn& churn) {
  const std::string place = PlaceText(group.file, group.line);
  return {Amount{.value = churn.bytes},
          churn.allocations,
          Amount{.value = churn.short_bytes},
          Share(churn.short_bytes, churn.bytes),
          Amount{.value = churn.kept_bytes},
          MedianText(churn),
          NameText(group.name) + (place.empty() ? "" : "  " + place),
          churn.short_lived,
          churn.kept,
          Optional(churn.median_events),
          Optional(churn.median_nanos, 1000),
          group.name,
          group.file,
          LineCell(group.line)};
}

}  // namespace

Result<ShortLived> ParseShortLived(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
      {{"us", 1e3}, {"ms", 1e6}, {"ns", 1}, {"s", 1e9}}};
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end(),
                                  [text](const auto& one) { return text.ends_with(one.first); });
  const std::string_view digits =
      text.substr(0, text.size() - (unit == kUnits.end() ? 0 : unit->first.size()));
  const char* end = digits.data() + digits.size();
  ShortLived limit;
  if (unit == kUnits.end()) {
    const auto [at, error] = std::from_chars(digits.data(), end, limit.events);
    if (error == std::errc{} && at == end && limit.events >= 0) {
      return limit;
    }
  } else {
    double value = 0;
    const auto [at, error] = std::from_chars(digits.data(), end, value);
    const double nanos = value * unit->second;
    if (error == std::errc{} && at == end && nanos >= 0 && nanos < 9e18) {
      limit.nanos = static_cast<std::int64_t>(nanos);
      return limit;
    }
  }
  return Fail(ErrorCode::kUsage,
              fmt::format("--short-lived: '{}' is no number of events and no time", text),
              "100, 250us, 5ms or 1.5s");
}

std::vector<Column> SummaryColumns() {
  return {{"bytes", "BYTES"},
          {"allocations", "COUNT"},
          {"short_bytes", "SHORT-LIVED"},
          {.key = "", .title = "SHORT%", .drop = 1},
          {.key = "kept_bytes", .title = "KEPT", .drop = 2},
          {.key = "", .title = "MEDIAN LIFE", .drop = 3},
          {.key = "", .title = "BY", .left = true, .shrink = true},
          {"short_lived", ""},
          {"kept", ""},
          {"median_events", ""},
          {"median_us", ""},
          {"name", ""},
          {"file", ""},
          {"line", ""}};
}

void AddSummary(const ChurnSums& sums, const AllocationGroups& groups, const ShortLived& limit,
                Report& report) {
  const AllocationGroups::Name rest{.name = std::string(kNoStack)};
  const auto name = [&](std::size_t group) -> const AllocationGroups::Name& {
    return group < groups.names.size() ? groups.names[group] : rest;
  };
  std::vector<std::size_t> order(sums.groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&sums](std::size_t group) { return sums.groups[group].allocations == 0; });
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const AllocationGroups::Name& x = name(a);
    const AllocationGroups::Name& y = name(b);
    return std::tuple(-sums.groups[a].bytes, -sums.groups[a].allocations, x.name, x.file, x.line) <
           std::tuple(-sums.groups[b].bytes, -sums.groups[b].allocations, y.name, y.file, y.line);
  });
  for (const std::size_t group : order) {
    report.rows.push_back(RowOf(name(group), sums.groups[group]));
  }
  const Churn& all = sums.total;
  const auto rate = [&sums](std::int64_t amount) {
    const auto value = Rate(amount, sums.nanos);
    return value ? Cell(Percent{.ratio = *value}) : Cell();
  };
  report.totals = {{"total", all.bytes},
                   {"allocations", all.allocations},
                   {"duration_us", Optional(sums.nanos, 1000)},
                   {"allocations_per_second", rate(all.allocations)},
                   {"bytes_per_second", rate(all.bytes)},
                   {"short_lived_events", limit.nanos ? Cell() : Cell(limit.events)},
                   {"short_lived_us", Optional(limit.nanos, 1000)},
                   {"short_lived", all.short_lived},
                   {"short_bytes", all.short_bytes},
                   {"kept", all.kept},
                   {"kept_bytes", all.kept_bytes},
                   {"median_events", Optional(all.median_events)},
                   {"median_us", Optional(all.median_nanos, 1000)}};
  AddHead(sums, limit, report);
}

}  // namespace memtool::commands
