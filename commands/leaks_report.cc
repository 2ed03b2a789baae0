#include "leaks_report.h"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "output/escape.h"
#include "rows.h"

namespace memtool::commands {

namespace {

using Json = rapidjson::Writer<rapidjson::StringBuffer>;

constexpr std::size_t kWidestShape = 24;
constexpr std::size_t kWidestName = 60;
constexpr std::size_t kNamed = 3;  // rows that a sentence names

std::string Text(const LeaksContext& context, std::int64_t value, bool sign = false) {
  return context.bytes ? FormatSize(value, SizeUnit::kAuto, sign) : FormatCount(value, sign);
}

std::string Plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", FormatCount(static_cast<std::int64_t>(count)), noun,
                     count == 1 ? "" : "s");
}

std::string RowText(const GrowthRow& row, const LeaksContext& context) {
  const std::string place = PlaceText(row.file, row.line);
  const std::string name = context.frames ? NameText(row.name) : row.name;
  return Shorten(EscapeText(name + (place.empty() ? "" : " " + place)), kWidestName);
}

// Rows that one sentence is about, and their sum as one series.
struct Group {
  std::vector<const GrowthRow*> rows;
  Growth sum;

  template <class Wanted>
  Group(const GrowthSeries& series, const LeaksContext& context, Wanted wanted) {
    std::vector<std::int64_t> values(series.points.size(), 0);
    for (const GrowthRow& row : series.rows) {
      if (wanted(row.growth)) {
        rows.push_back(&row);
        if (context.cum && rows.size() > 1) {
          continue;  // the first holds the others, or stands for them
        }
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = SaturatingAdd(values[i], row.series[i]);
        }
      }
    }
    sum = JudgeGrowth(values);
  }
  [[nodiscard]] bool empty() const { return rows.empty(); }

  // What a figure of the group is: of cumulative values that of the steepest row.
  [[nodiscard]] std::string_view Together(const LeaksContext& context) const {
    return rows.size() == 1 ? "" : context.cum ? "the steepest " : "together ";
  }
  // "a x.py:3, b y.py:4 and 5 more".
  [[nodiscard]] std::string Names(const LeaksContext& context) const {
    std::string text;
    for (std::size_t i = 0; i < std::min(kNamed, rows.size()); ++i) {
      text += (i > 0 ? ", " : "") + RowText(*rows[i], context);
    }
    return rows.size() <= kNamed ? text : text + fmt::format(" and {} more", rows.size() - kNamed);
  }
};

// How fast a group grows: "+214.84 KiB per step, every step 39.06 KiB more than the one before".
std::string PaceText(const Growth& growth, const LeaksContext& context) {
  std::string text = Text(context, growth.slope, true) + " per step";
  if (growth.detail == GrowthDetail::kAccelerating) {
    text += fmt::format(" and accelerating: {} {} more than the one before",
                        growth.even_bend ? "every step adds" : "on average a step adds",
                        Text(context, growth.bend));
  } else if (growth.detail == GrowthDetail::kSlowing) {
    text += fmt::format(" and slowing, from {} to {}", Text(context, growth.most_step, true),
                        Text(context, growth.least_step, true));
  }
  return text;
}

// Two points.
std::string OneStepText(const GrowthSeries& series, const LeaksContext& context) {
  const Group grew(series, context, [](const Growth& growth) { return growth.grew > 0; });
  return fmt::format(
      "one step shows a difference, not a trend: {}; three points or more tell "
      "growth from chance",
      grew.empty() ? "nothing grew"
                   : fmt::format("{} grew {}by {}: {}", Plural(grew.rows.size(), "row"),
                                 grew.Together(context), Text(context, grew.sum.delta()),
                                 grew.Names(context)));
}

std::string CapacityText(const Growth& growth, std::int64_t held, std::int64_t capacity) {
  const std::string size = FormatSize(capacity);
  if (held >= capacity) {
    return fmt::format("the last point holds {}: --capacity {} is reached already",
                       FormatSize(held), size);
  }
  if (growth.slope <= 0) {
    return fmt::format("no row grows at every step: nothing tells when {} are full", size);
  }
  const double steps = std::ceil((static_cast<double>(capacity) - static_cast<double>(held)) /
                                 static_cast<double>(growth.slope));
  const std::string_view about = growth.detail == GrowthDetail::kAccelerating ? "less than"
                                 : growth.detail == GrowthDetail::kSlowing    ? "more than"
                                                                              : "about";
  return fmt::format(
      "at {} per step live bytes go from {} to --capacity {} in {} {:.0f} steps; what else the "
      "device holds makes it earlier",
      FormatSize(growth.slope, SizeUnit::kAuto, true), FormatSize(held), size, about, steps);
}

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
          of(row.kept_steps, row.series.size()),
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
          context.history ? Cell(amount(row.kept)) : Cell{},
          context.history ? Cell(count(row.kept_steps)) : Cell{},
          unknown(false),
          unknown(true),
          RawJson{fmt::format("[{}]", fmt::join(row.series, ","))}};
}

// What did not change, so that a reader need not wonder.
std::string ConstantText(const GrowthSeries& series, const LeaksContext& context) {
  const Group group(series, context, [](const Growth& growth) {
    return growth.kind == GrowthKind::kConstant && growth.last != 0;
  });
  if (group.empty()) {
    return "constant: nothing";
  }
  return fmt::format("constant: {} in {}", Text(context, group.sum.last), group.Names(context));
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

std::vector<std::string> LeaksVerdict(const GrowthSeries& series, const LeaksContext& context) {
  if (series.whole.steps == 1) {
    return {OneStepText(series, context)};
  }
  const std::size_t steps = series.whole.steps;
  const Group steady(series, context,
                     [](const Growth& g) { return g.kind == GrowthKind::kSteady; });
  const auto of = [&](GrowthDetail detail) {
    return Group(series, context, [detail](const Growth& g) { return g.detail == detail; });
  };
  std::vector<std::string> lines;
  const auto grows = [&](const Group& group, const std::string& how) {
    if (!group.empty()) {
      lines.push_back(fmt::format(
          "{}{} {} {}, {}{}: {}", lines.empty() ? "GROWING: " : "",
          Plural(group.rows.size(), "row"), group.rows.size() == 1 ? "grows" : "grow", how,
          group.Together(context), PaceText(group.sum, context), group.Names(context)));
    }
  };
  grows(steady, fmt::format("at every one of {} steps", steps));
  grows(of(GrowthDetail::kRepeated), "again and again, though not at every step");
  grows(of(GrowthDetail::kRising), "on the whole, with ups and downs");
  if (lines.empty()) {
    lines.push_back(fmt::format("no row keeps growing over the {} steps", steps));
  }
  if (const Group late = of(GrowthDetail::kLate); !late.empty()) {
    lines.push_back(fmt::format("{} began to grow later, {}by {} since: {}",
                                Plural(late.rows.size(), "row"), late.Together(context),
                                Text(context, late.sum.delta()), late.Names(context)));
  }
  const Group settled(series, context, [](const Growth& g) {
    return g.detail == GrowthDetail::kOnce || g.detail == GrowthDetail::kStopped;
  });
  if (!settled.empty()) {
    lines.push_back(fmt::format("{} grew, {}by {}, and then stayed, as start-up and caches do: {}",
                                Plural(settled.rows.size(), "row"), settled.Together(context),
                                Text(context, settled.sum.delta()), settled.Names(context)));
  }
  if (context.capacity && context.bytes) {
    lines.push_back(
        CapacityText(steady.empty() ? Growth{} : steady.sum, series.whole.last, *context.capacity));
  }
  return lines;
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
