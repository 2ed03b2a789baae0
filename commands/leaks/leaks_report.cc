#include "leaks/leaks_report.h"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "leaks/leaks_verdict.h"
#include "output/escape.h"
#include "rows/rows.h"

namespace memtool::commands {

namespace {

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

constexpr std::size_t kWidestShape = 24;

std::string Rendered(const GrowthSeries& series) {
  rapidjson::StringBuffer buffer;
  Json json(buffer);
  const auto number = [&json](const char* key, std::int64_t value, bool known) {
    json.Key(key);
    if (known) {
      json.Int64(value);
    } else {
      json.Null();
    }
  };
  json.StartArray();
  for (const GrowthPoint& point : series.points) {
    const std::string name = ToUtf8(point.name);
    json.StartObject();
    json.Key("name");
    json.String(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    number("time_us", point.time / 1000, point.time != kNoTime);
    number("event", point.event, point.event >= 0);
    number("total", point.total, true);
    number("unknown", point.unknown, true);
    json.EndObject();
  }
  json.EndArray();
  return {buffer.GetString(), buffer.GetSize()};
}

std::string Rendered(const std::vector<std::string>& sentences) {
  rapidjson::StringBuffer buffer;
  Json json(buffer);
  json.StartArray();
  for (const std::string& sentence : sentences) {
    const std::string text = ToUtf8(sentence);
    json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  }
  json.EndArray();
  return {buffer.GetString(), buffer.GetSize()};
}

std::string KindText(const Growth& growth) {
  switch (growth.detail) {
    case GrowthDetail::kNone:
    case GrowthDetail::kEven:
    case GrowthDetail::kRepeated:
      return std::string(KindWord(growth.kind));
    case GrowthDetail::kOnce:
      return "one step";
    default:
      return fmt::format("{}, {}", KindWord(growth.kind), DetailWord(growth.detail));
  }
}

Cell EvidenceCell(GrowthEvidence evidence) {
  constexpr std::array<std::string_view, 4> kWords{"", "weak", "strong", "freed"};
  const std::string_view word = kWords[static_cast<std::size_t>(evidence)];
  return word.empty() ? Cell{} : Cell(std::string(word));
}

std::vector<Cell> RowCells(const GrowthRow& row, const LeaksContext& context) {
  const Growth& growth = row.growth;
  const auto amount = [&context](std::int64_t value, bool sign = false) {
    return Amount{.value = value, .bytes = context.bytes, .sign = sign};
  };
  const auto count = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  const auto of = [](std::size_t part, std::size_t whole) {
    return fmt::format("{} of {}", part, whole);
  };
  const auto unknown = [&row](bool last) {
    return row.unknown.empty() ? std::int64_t{0} : last ? row.unknown.back() : row.unknown.front();
  };
  const std::string_view detail = DetailWord(growth.detail);
  return {amount(growth.slope, true),
          amount(growth.first),
          amount(growth.last),
          amount(growth.delta(), true),
          of(growth.grew, growth.steps),
          growth.fit ? Cell(Percent{*growth.fit}) : Cell{},
          row.kept ? Cell(of(row.kept->steps, row.series.size())) : Cell{},
          KindText(growth),
          Sparkline(row.series),
          row.name,
          context.frames ? NameText(row.name) : row.name,
          PlaceText(row.file, row.line),
          row.file,
          LineCell(row.line),
          row.via,
          NameText(row.via),
          std::string(KindWord(growth.kind)),
          detail.empty() ? Cell{} : Cell(std::string(detail)),
          count(growth.steps),
          count(growth.grew),
          count(growth.shrank),
          amount(growth.least_step),
          amount(growth.most_step),
          amount(growth.bend),
          growth.limit ? Cell(amount(*growth.limit)) : Cell{},
          EvidenceCell(growth.evidence),
          growth.grew > 0 && growth.steps > 1 ? Cell(Percent{growth.chance}) : Cell{},
          row.kept ? Cell(amount(row.kept->bytes)) : Cell{},
          row.kept ? Cell(count(row.kept->steps)) : Cell{},
          unknown(false),
          unknown(true),
          RawJson{fmt::format("[{}]", fmt::join(row.series, ","))}};
}

std::string UnknownText(const GrowthSeries& series) {
  std::vector<std::int64_t> counts;
  for (const GrowthPoint& point : series.points) {
    counts.push_back(point.unknown);
  }
  const Growth growth = JudgeGrowth(counts);
  if (growth.kind == GrowthKind::kConstant && growth.last == 0) {
    return {};
  }
  return fmt::format(
      "executables of unknown size (the runtime wrote -1): {} at first, {} at last, "
      "more after {} of {} steps; not in the sums",
      FormatCount(growth.first), FormatCount(growth.last), growth.grew, growth.steps);
}

}  // namespace

std::string_view KindWord(GrowthKind kind) {
  constexpr std::array<std::string_view, 5> kWords{"constant", "steady", "stepwise", "shrinking",
                                                   "noisy"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string_view DetailWord(GrowthDetail detail) {
  constexpr std::array<std::string_view, 12> kWords{"",         "even",   "accelerating", "slowing",
                                                    "uneven",   "once",   "stopped",      "late",
                                                    "repeated", "rising", "falling",      "level"};
  return kWords[static_cast<std::size_t>(detail)];
}

std::string Sparkline(const std::vector<std::int64_t>& series) {
  constexpr std::array<std::string_view, 8> kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t width = std::min(kWidestShape, series.size());
  const auto [least, most] = std::minmax_element(series.begin(), series.end());
  const auto low = static_cast<double>(*least);
  const double span = static_cast<double>(*most) - low;
  std::string text;
  for (std::size_t i = 0; i < width; ++i) {
    // The highest of the column's share, so that no peak is lost.
    const auto from = series.begin() + static_cast<std::ptrdiff_t>(i * series.size() / width);
    const auto to = series.begin() + static_cast<std::ptrdiff_t>((i + 1) * series.size() / width);
    const double height = static_cast<double>(*std::max_element(from, to)) - low;
    const double share = span > 0 ? height / span : 0;
    text += kBlocks[std::min<std::size_t>(static_cast<std::size_t>(share * 8), 7)];
  }
  return text;
}

Report LeaksReport(const GrowthSeries& series, const LeaksContext& context) {
  Report report{.command = "leaks"};
  report.columns = {{"slope", "PER STEP"},
                    {"first", "FIRST"},
                    {"last", "LAST"},
                    {"delta", ""},
                    {.key = "", .title = "GREW", .drop = 2},
                    {.key = "fit", .title = "FIT", .drop = 5},
                    {.key = "", .title = context.history ? "KEPT" : "", .drop = 4},
                    {.key = "", .title = "KIND", .left = true, .drop = 1},
                    {.key = "", .title = "SHAPE", .left = true, .drop = 3},
                    {"name", ""},
                    {"", "WHERE", true, true},
                    {"", "PLACE", true, true},
                    {"file", ""},
                    {"line", ""},
                    {"via", ""},
                    {"", "VIA", true, true},
                    {"kind", ""},
                    {"detail", ""},
                    {"steps", ""},
                    {"grew", ""},
                    {"shrank", ""},
                    {"least_step", ""},
                    {"most_step", ""},
                    {"bend", ""},
                    {"limit", ""},
                    {"evidence", ""},
                    {"chance", ""},
                    {"kept", ""},
                    {"kept_steps", ""},
                    {"unknown_first", ""},
                    {"unknown_last", ""},
                    {"series", ""}};
  report.measure = 2;
  std::int64_t total = 0;
  for (const GrowthRow& row : series.rows) {
    total = SaturatingAdd(total, row.growth.delta());
    if (context.all || row.growth.kind != GrowthKind::kConstant) {
      report.rows.push_back(RowCells(row, context));
    }
  }
  const std::vector<std::string> verdict = LeaksVerdict(series, context);
  report.totals = {{"total", total},
                   {"total_first", series.whole.first},
                   {"total_last", series.whole.last},
                   {"total_slope", series.whole.slope},
                   {"total_kind", std::string(KindWord(series.whole.kind))},
                   {"verdict", RawJson{Rendered(verdict)}},
                   {"points", RawJson{Rendered(series)}}};
  report.foot.push_back(ConstantText(series, context));
  if (std::string unknown = UnknownText(series); !unknown.empty()) {
    report.foot.push_back(std::move(unknown));
  }
  return report;
}

}  // namespace memtool::commands
