#include "leaks/leaks_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "output/escape.h"
#include "rows/rows.h"

namespace memtool::commands {

namespace {

__extension__ using Wide = __int128;

constexpr std::size_t kWidestName = 60;
constexpr std::size_t kNamed = 3;  // rows that a sentence names

std::string Text(const LeaksContext& context, std::int64_t value, bool sign = false) {
  return context.bytes ? FormatSize(value, SizeUnit::kAuto, sign) : FormatCount(value, sign);
}

std::string Count(std::size_t count) {
  return FormatCount(static_cast<std::int64_t>(count));
}

std::string Plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", Count(count), noun, count == 1 ? "" : "s");
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
  double chance = 0;  // of the row that is the least sure

  template <class Wanted>
  Group(const GrowthSeries& series, const LeaksContext& context, Wanted wanted) {
    std::vector<std::int64_t> values(series.points.size(), 0);
    for (const GrowthRow& row : series.rows) {
      if (wanted(row.growth)) {
        rows.push_back(&row);
        chance = std::max(chance, row.growth.chance);
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
  [[nodiscard]] std::string_view Verb(std::string_view one, std::string_view many) const {
    return rows.size() == 1 ? one : many;
  }

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
    return rows.size() <= kNamed ? text
                                 : text + fmt::format(" and {} more", Count(rows.size() - kNamed));
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
    text += fmt::format(
        " and slowing, from {} to {}{}", Text(context, growth.most_step, true),
        Text(context, growth.least_step, true),
        growth.limit ? fmt::format(", which leads to {} at most", Text(context, *growth.limit))
                     : "");
  }
  return text;
}

// "1 of 6 series without a trend rises as much".
std::string ChanceText(double chance) {
  constexpr std::int64_t kRarest = 10'000;
  const auto one_of =
      static_cast<std::int64_t>(std::min(std::round(1 / chance), static_cast<double>(kRarest)));
  return fmt::format("{} of {} series without a trend rises as much",
                     one_of == kRarest ? "less than 1" : "1", FormatCount(one_of));
}

// Two points.
std::string OneStepText(const GrowthSeries& series, const LeaksContext& context) {
  const Group grew(series, context, [](const Growth& growth) { return growth.grew > 0; });
  return fmt::format(
      "one step shows a difference, not a trend: {}; five points or more tell "
      "growth from chance",
      grew.empty() ? "nothing grew"
                   : fmt::format("{} grew {}by {}: {}", Plural(grew.rows.size(), "row"),
                                 grew.Together(context), Text(context, grew.sum.delta()),
                                 grew.Names(context)));
}

// The shapes that go on, each with its words.
enum class Shape : std::uint8_t { kSteady, kRepeated, kRising };
constexpr std::array kShapes{Shape::kSteady, Shape::kRepeated, Shape::kRising};

Shape ShapeOf(const Growth& growth) {
  return growth.kind == GrowthKind::kSteady         ? Shape::kSteady
         : growth.detail == GrowthDetail::kRepeated ? Shape::kRepeated
                                                    : Shape::kRising;
}

std::string HowText(Shape shape, std::size_t steps) {
  switch (shape) {
    case Shape::kSteady:
      return steps == 2 ? "at both of 2 steps"
                        : fmt::format("at every one of {} steps", Count(steps));
    case Shape::kRepeated:
      return "again and again, though not at every step";
    case Shape::kRising:
      break;
  }
  return "on the whole, with ups and downs";
}

Group GroupOf(const GrowthSeries& series, const LeaksContext& context, GrowthEvidence evidence,
              Shape shape) {
  return {series, context, [=](const Growth& growth) {
            return growth.evidence == evidence && ShapeOf(growth) == shape;
          }};
}

// Growth that chance does not explain.
void AddSure(const GrowthSeries& series, const LeaksContext& context,
             std::vector<std::string>& lines) {
  for (const Shape shape : kShapes) {
    const Group group = GroupOf(series, context, GrowthEvidence::kStrong, shape);
    if (group.empty()) {
      continue;
    }
    lines.push_back(
        fmt::format("{}{} {} {}, {}{}: {}{}", lines.empty() ? "GROWING: " : "",
                    Plural(group.rows.size(), "row"), group.Verb("grows", "grow"),
                    HowText(shape, series.whole.steps), group.Together(context),
                    PaceText(group.sum, context), group.Names(context),
                    shape == Shape::kRising ? "; " + ChanceText(group.chance) : std::string()));
  }
}

// Why a group may rise by chance only.
std::string DoubtText(const Group& group, Shape shape, const GrowthSeries& series) {
  if (shape == Shape::kRepeated && group.sum.grew < kFewestRises) {
    return "two rises are no trend yet";
  }
  const std::string among =
      series.noisy > 1 && group.chance <= kSure
          ? fmt::format(" among {} rows that rise and fall", Count(series.noisy))
          : "";
  return shape == Shape::kSteady
             ? fmt::format("{} points are too few to tell from chance{}: {}",
                           Count(series.points.size()), among, ChanceText(group.chance))
             : fmt::format("that may be chance{}: {}", among, ChanceText(group.chance));
}

void AddDoubtful(const GrowthSeries& series, const LeaksContext& context,
                 std::vector<std::string>& lines) {
  for (const Shape shape : kShapes) {
    const Group group = GroupOf(series, context, GrowthEvidence::kWeak, shape);
    if (!group.empty()) {
      lines.push_back(fmt::format(
          "maybe growing: {} {} {}, {}{}: {}; {}", Plural(group.rows.size(), "row"),
          group.Verb("rises", "rise"), HowText(shape, series.whole.steps), group.Together(context),
          PaceText(group.sum, context), group.Names(context), DoubtText(group, shape, series)));
    }
  }
}

// What a history shows to be freed later.
void AddFreed(const GrowthSeries& series, const LeaksContext& context,
              std::vector<std::string>& lines) {
  for (const Shape shape : kShapes) {
    const Group group = GroupOf(series, context, GrowthEvidence::kFreed, shape);
    if (!group.empty()) {
      lines.push_back(fmt::format(
          "{} {} {}, {}{}, but {} nothing: what the steps allocated is all freed later: {}",
          Plural(group.rows.size(), "row"), group.Verb("rises", "rise"),
          HowText(shape, series.whole.steps), group.Together(context), PaceText(group.sum, context),
          group.Verb("keeps", "keep"), group.Names(context)));
    }
  }
}

// Where a group of single jumps jumps: "at step 5 of 9 (memory6.prof)".
std::string JumpText(const Group& group, const GrowthSeries& series) {
  const std::size_t at = group.rows.front()->growth.last_rise;
  const bool same = std::all_of(group.rows.begin(), group.rows.end(),
                                [at](const GrowthRow* row) { return row->growth.last_rise == at; });
  return !same ? "at different steps"
               : fmt::format("at step {} of {} ({})", Count(at), Count(series.whole.steps),
                             Shorten(EscapeText(series.points[at].name), kWidestName));
}

// Growth in a part of the steps only.
void AddPartial(const GrowthSeries& series, const LeaksContext& context,
                std::vector<std::string>& lines) {
  const auto add = [&](const Group& group, const std::string& how, std::string_view then) {
    if (!group.empty()) {
      lines.push_back(fmt::format("{} {}, {}by {}{}: {}", Plural(group.rows.size(), "row"), how,
                                  group.Together(context), Text(context, group.sum.delta()), then,
                                  group.Names(context)));
    }
  };
  const auto of = [&](GrowthDetail detail) {
    return Group(series, context, [detail](const Growth& g) { return g.detail == detail; });
  };
  const auto jumps = [&](bool at_last) {
    const Group group(series, context, [at_last](const Growth& g) {
      return g.detail == GrowthDetail::kOnce && (g.last_rise == g.steps) == at_last;
    });
    add(group, group.empty() ? std::string() : "stepped up once, " + JumpText(group, series),
        at_last ? ", which is no trend yet" : ", and then stayed, as start-up and caches do");
  };
  add(of(GrowthDetail::kLate), "began to grow later", " since");
  jumps(true);
  jumps(false);
  add(of(GrowthDetail::kStopped), "grew", ", and then stayed, as start-up and caches do");
}

// The fewest steps in which `more` bytes come together when the last step added `step` and each
// adds `bend` more than the one before; both are not below zero, and one is above.
std::int64_t StepsUntil(std::int64_t more, std::int64_t step, std::int64_t bend) {
  const auto reached = [&](std::int64_t n) {
    const Wide steps = n;
    const Wide bends = steps * (steps + 1) / 2;
    // Divided first: the product may not fit.
    return (bend > 0 && bends > more / bend) || steps * step + bends * bend >= more;
  };
  std::int64_t low = 0;  // not reached
  std::int64_t high = more;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (reached(middle) ? high : low) = middle;
  }
  return high;
}

std::string StepsText(std::int64_t steps) {
  return FormatCount(steps) + (steps == 1 ? " step" : " steps");
}

std::string ReachText(const Growth& whole, std::int64_t capacity) {
  const std::string size = FormatSize(capacity);
  const std::string from_to = FormatSize(whole.last) + " to --capacity " + size;
  const std::int64_t more = SaturatingSubtract(capacity, whole.last);
  std::string text;
  if (whole.limit && *whole.limit <= capacity) {
    return fmt::format(
        "growth is slowing, and at that trend live bytes lead to {} at most: --capacity {} is not "
        "reached",
        FormatSize(*whole.limit), size);
  }
  if (whole.detail == GrowthDetail::kSlowing) {
    text = fmt::format(
        "growth is slowing: live bytes go from {} in no fewer than {}, if ever (the last added {})",
        from_to, StepsText(StepsUntil(more, whole.last_step, 0)), FormatSize(whole.last_step));
  } else if (whole.detail == GrowthDetail::kAccelerating) {
    text = fmt::format(
        "if every step goes on to add {} more than the one before (the last added {}), live bytes "
        "go from {} in about {}",
        FormatSize(whole.bend), FormatSize(whole.last_step), from_to,
        StepsText(StepsUntil(more, whole.last_step, whole.bend)));
  } else {
    text = fmt::format("at {} per step live bytes go from {} in about {}",
                       FormatSize(whole.slope, SizeUnit::kAuto, true), from_to,
                       StepsText(StepsUntil(more, whole.slope, 0)));
  }
  return text + "; what else the device holds makes it earlier";
}

// By the sum of all rows: what one row takes another may give back.
std::string CapacityText(const GrowthSeries& series, std::int64_t capacity) {
  const Growth& whole = series.whole;
  if (whole.last >= capacity) {
    return fmt::format("the last point holds {}: --capacity {} is reached already",
                       FormatSize(whole.last), FormatSize(capacity));
  }
  const bool goes_on = whole.goes_on() || whole.evidence == GrowthEvidence::kWeak;
  if (!goes_on || whole.slope <= 0) {
    const bool rows_grow = std::any_of(series.rows.begin(), series.rows.end(),
                                       [](const GrowthRow& row) { return row.growth.goes_on(); });
    return fmt::format("all rows together do not keep growing{}: nothing tells when {} are full",
                       rows_grow ? ", as others shrink or vary" : "", FormatSize(capacity));
  }
  return (whole.goes_on() ? "" : "if this is growth: ") + ReachText(whole, capacity);
}

}  // namespace

std::vector<std::string> LeaksVerdict(const GrowthSeries& series, const LeaksContext& context) {
  if (series.whole.steps == 1) {
    return {OneStepText(series, context)};
  }
  std::vector<std::string> lines;
  AddSure(series, context, lines);
  AddDoubtful(series, context, lines);
  if (lines.empty()) {
    lines.push_back(
        fmt::format("no row keeps growing over the {} steps", Count(series.whole.steps)));
  }
  AddFreed(series, context, lines);
  AddPartial(series, context, lines);
  if (context.capacity && context.bytes) {
    lines.push_back(CapacityText(series, *context.capacity));
  }
  return lines;
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
}  // namespace memtool::commands
