#include "leaks/leaks_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "output/escape.h"
#include "rows/rows.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kMaxNameWidth = 60;
constexpr std::size_t kNamed = 3;  // rows that a sentence names

std::string Text(const LeaksAnswer& answer, std::int64_t value, bool sign = false) {
  const std::int64_t nanos = NanosOf(answer.head.unit);
  return answer.bytes() ? FormatSize(value, SizeUnit::kAuto, sign)
         : nanos > 0    ? TimeText(value, nanos, sign)
                        : FormatCount(value, sign);
}

std::string LeakCount(std::size_t count) {
  return FormatCount(static_cast<std::int64_t>(count));
}

std::string Rows(const Finding& finding) {
  return Counted(finding.rows.size(), "row");
}

std::string_view Verb(const Finding& finding, std::string_view one, std::string_view many) {
  return finding.rows.size() == 1 ? one : many;
}

// What a figure of several rows is: for cumulative values, that of the steepest row.
std::string_view Together(const LeaksAnswer& answer, const Finding& finding) {
  return finding.rows.size() == 1 ? "" : answer.cum ? "the steepest " : "together ";
}

// What lies between two points, or the points themselves where they are parts of a history.
std::string_view Noun(const LeaksAnswer& answer) {
  return answer.in_parts() ? "part" : "step";
}

// "over the 9 steps", "over the 10 parts"
std::string Span(const LeaksAnswer& answer) {
  return answer.in_parts() ? Counted(answer.points.size(), "part")
                           : Counted(answer.whole.steps, "step");
}

// "a x.py:3, b y.py:4 and 5 more".
std::string Names(const LeaksAnswer& answer, const Finding& finding) {
  const bool frames = answer.by.kind == By::Kind::kFrame;
  const std::size_t count = finding.rows.size();
  std::string text;
  for (std::size_t i = 0; i < std::min(kNamed, count); ++i) {
    const FoundRow& row = finding.rows[i];
    const std::string place = PlaceText(row.file, row.line);
    std::string name = frames ? NameText(row.name) : row.name.str();
    if (!place.empty()) {
      name.append(" ").append(place);
    }
    text += (i > 0 ? ", " : "") + Shorten(EscapeText(name), kMaxNameWidth);
    if (row.more_lines > 0 && !place.empty()) {
      text += fmt::format(" and {}", Counted(row.more_lines, "more line"));
    }
    if (!row.device.empty()) {
      text += " on " + Shorten(EscapeText(row.device), kMaxNameWidth);
    }
  }
  return count <= kNamed ? text : text + fmt::format(" and {} more", LeakCount(count - kNamed));
}

// How fast rows grow: "+214.84 KiB per step, every step 39.06 KiB more than the one before".
std::string PaceText(const LeaksAnswer& answer, const Growth& growth) {
  std::string text = fmt::format("{} per {}", Text(answer, growth.slope, true), Noun(answer));
  if (growth.detail == GrowthDetail::kAccelerating) {
    text += fmt::format(" and accelerating: {} {} adds {} more than the one before",
                        growth.even_acceleration ? "every" : "on average a", Noun(answer),
                        Text(answer, growth.acceleration));
  } else if (growth.detail == GrowthDetail::kSlowing) {
    text += fmt::format(
        " and slowing, from {} to {}{}", Text(answer, growth.max_step, true),
        Text(answer, growth.min_step, true),
        growth.limit ? fmt::format(", which leads to {} at most", Text(answer, *growth.limit))
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

std::string OneStepText(const LeaksAnswer& answer, const Finding& finding) {
  return fmt::format(
      "{} a difference, not a trend: {}; five points or more tell "
      "growth from chance",
      answer.in_parts() ? "two parts show" : "one step shows",
      finding.rows.empty()
          ? "nothing grew"
          : fmt::format("{} grew {}by {}: {}", Rows(finding), Together(answer, finding),
                        Text(answer, finding.sum.delta()), Names(answer, finding)));
}

std::string HowText(const LeaksAnswer& answer, GrowthShape shape) {
  const std::size_t steps = answer.whole.steps;
  switch (shape) {
    case GrowthShape::kSteady:
      return answer.in_parts() ? fmt::format("from each of {} to the next", Span(answer))
             : steps == 2      ? "at both of 2 steps"
                               : fmt::format("at every one of {} steps", LeakCount(steps));
    case GrowthShape::kRepeated:
      return fmt::format("again and again, though not {} every {}", answer.in_parts() ? "in" : "at",
                         Noun(answer));
    default:
      return "on the whole, with ups and downs";
  }
}

// Growth that chance does not explain.
std::string GrowingText(const LeaksAnswer& answer, const Finding& finding) {
  return fmt::format(
      "{} {} {}, {}{}: {}{}", Rows(finding), Verb(finding, "grows", "grow"),
      HowText(answer, finding.shape), Together(answer, finding), PaceText(answer, finding.sum),
      Names(answer, finding),
      finding.shape == GrowthShape::kRising ? "; " + ChanceText(finding.chance) : std::string());
}

// Why rows may rise by chance only.
std::string DoubtText(const LeaksAnswer& answer, const Finding& finding) {
  if (finding.doubt == Doubt::kFewRises) {
    return "two rises are not a trend yet";
  }
  const std::string among =
      finding.among > 0 ? fmt::format(" among {} rows that rise and fall", LeakCount(finding.among))
                        : "";
  return finding.doubt == Doubt::kFewPoints
             ? fmt::format("{} points are too few to tell growth from chance{}: {}",
                           LeakCount(answer.points.size()), among, ChanceText(finding.chance))
             : fmt::format("that may be chance{}: {}", among, ChanceText(finding.chance));
}

std::string MaybeText(const LeaksAnswer& answer, const Finding& finding) {
  return fmt::format("maybe growing: {} {} {}, {}{}: {}; {}", Rows(finding),
                     Verb(finding, "rises", "rise"), HowText(answer, finding.shape),
                     Together(answer, finding), PaceText(answer, finding.sum),
                     Names(answer, finding), DoubtText(answer, finding));
}

// What a history shows to be freed later.
std::string FreedText(const LeaksAnswer& answer, const Finding& finding) {
  return fmt::format(
      "{} {} {}, {}{}, but {} nothing: what the {}s allocated is all freed later: {}",
      Rows(finding), Verb(finding, "rises", "rise"), HowText(answer, finding.shape),
      Together(answer, finding), PaceText(answer, finding.sum), Verb(finding, "keeps", "keep"),
      Noun(answer), Names(answer, finding));
}

// What rises while others shrink as much.
std::string GivenBackText(const LeaksAnswer& answer, const Finding& finding) {
  const std::string total = finding.least == finding.most
                                ? "at " + Text(answer, finding.least)
                                : fmt::format("between {} and {}", Text(answer, finding.least),
                                              Text(answer, finding.most));
  return fmt::format("{} {} {}by {}, which other rows give back: the total stays {}: {}",
                     Rows(finding), Verb(finding, "rises", "rise"), Together(answer, finding),
                     Text(answer, finding.sum.delta()), total, Names(answer, finding));
}

// What rises in parts of what may be a single iteration.
std::string OneIterationText(const LeaksAnswer& answer, const Finding& finding) {
  const std::string_view through = finding.phase == Phase::kBackward    ? "its backward pass"
                                   : finding.phase == Phase::kOptimizer ? "its optimizer step"
                                                                        : "it";
  return fmt::format(
      "{}, as far as this shows: memory rises through {}, {} {}by {}: {}; three iterations or more "
      "would show a trend",
      answer.history && answer.history->few_iterations > 1 ? "two iterations" : "one iteration",
      answer.history && answer.history->few_iterations > 1 && through == "it" ? "them" : through,
      Rows(finding), Together(answer, finding), Text(answer, finding.sum.delta()),
      Names(answer, finding));
}

std::string TooShortText(const LeaksAnswer& answer) {
  const bool log = answer.history && answer.history->of_log;
  return fmt::format(
      "too short to show growth: {}, where {} or more would; memtool top shows what "
      "is live",
      Counted(answer.points.size(), log ? "value" : "event"), log ? "ten" : "three iterations");
}

// Where single jumps are: "at step 5 of 9 (memory6.prof)".
std::string JumpText(const LeaksAnswer& answer, const Finding& finding) {
  return finding.step == 0 ? fmt::format("at different {}s", Noun(answer))
         : answer.in_parts()
             ? fmt::format("in part {} of {}", LeakCount(finding.step + 1),
                           LeakCount(answer.points.size()))
             : fmt::format("at step {} of {} ({})", LeakCount(finding.step),
                           LeakCount(answer.whole.steps),
                           Shorten(EscapeText(answer.points[finding.step].name), kMaxNameWidth));
}

// Growth in a part of the steps only.
std::string PartText(const LeaksAnswer& answer, const Finding& finding) {
  const bool jump = finding.code == FindingCode::kLastJump || finding.code == FindingCode::kJump;
  const std::string how = jump ? "stepped up once, " + JumpText(answer, finding)
                          : finding.code == FindingCode::kLate ? "began to grow later"
                                                               : "grew";
  const bool one = answer.history && answer.history->few_iterations > 0;
  const std::string_view then =
      finding.code == FindingCode::kLate       ? " since"
      : finding.code == FindingCode::kLastJump ? ", which is not a trend yet"
      : one ? ", and then stayed, as start-up, caches and a single iteration do"
            : ", and then stayed, as start-up and caches do";
  return fmt::format("{} {}, {}by {}{}: {}", Rows(finding), how, Together(answer, finding),
                     Text(answer, finding.sum.delta()), then, Names(answer, finding));
}

std::string LittleText(const LeaksAnswer& answer, const Finding& finding) {
  return fmt::format("{} {} {}by {}, too little to matter: {}", Rows(finding),
                     Verb(finding, "grows", "grow"), Together(answer, finding),
                     Text(answer, finding.sum.delta()), Names(answer, finding));
}

// When live bytes that keep growing reach the capacity.
std::string GrowthText(const LeaksAnswer& answer, const Reach& reach) {
  const Growth& whole = reach.whole;
  const std::string size = FormatSize(reach.capacity);
  const std::string from_to = FormatSize(whole.last) + " to --capacity " + size;
  std::string text;
  switch (reach.code) {
    case ReachCode::kNever:
      return fmt::format(
          "growth is slowing, and at that rate live bytes reach {} at most: --capacity {} is "
          "not reached",
          FormatSize(*whole.limit), size);
    case ReachCode::kAtLeast:
      text = fmt::format(
          "growth is slowing: live bytes go from {} in no fewer than {}, if ever (the last added "
          "{})",
          from_to, Counted(reach.steps, Noun(answer)), FormatSize(whole.last_step));
      break;
    case ReachCode::kAccelerating:
      text = fmt::format(
          "if every {} goes on to add {} more than the one before (the last added {}), live "
          "bytes go from {} in about {}",
          Noun(answer), FormatSize(whole.acceleration), FormatSize(whole.last_step), from_to,
          Counted(reach.steps, Noun(answer)));
      break;
    default:
      text = fmt::format("at {} per {} live bytes go from {} in about {}",
                         FormatSize(whole.slope, SizeUnit::kAuto, true), Noun(answer), from_to,
                         Counted(reach.steps, Noun(answer)));
  }
  return text + "; what else the device holds makes it earlier";
}

std::string ReachText(const LeaksAnswer& answer, const Reach& reach) {
  const Growth& whole = reach.whole;
  if (reach.code == ReachCode::kReached) {
    return fmt::format("the last point holds {}: --capacity {} is reached already",
                       FormatSize(whole.last), FormatSize(reach.capacity));
  }
  if (reach.code == ReachCode::kNotGrowing) {
    return fmt::format(
        "all rows together do not keep growing{}: there is no telling when {} is full",
        reach.rows_grow ? ", as others shrink or vary" : "", FormatSize(reach.capacity));
  }
  return (reach.maybe ? "if this is growth: " : "") + GrowthText(answer, reach);
}

}  // namespace

std::vector<std::string> LeaksVerdict(const LeaksAnswer& answer) {
  std::vector<std::string> lines;
  const auto no_growth = [&] {
    if (lines.empty()) {
      lines.push_back(fmt::format("no row keeps growing over the {}", Span(answer)));
    }
  };
  for (const Finding& finding : answer.findings) {
    switch (finding.code) {
      case FindingCode::kOneStep:
        lines.push_back(OneStepText(answer, finding));
        break;
      case FindingCode::kTooShort:
        lines.push_back(TooShortText(answer));
        break;
      case FindingCode::kGrowing:
        lines.push_back((lines.empty() ? "GROWING: " : "") + GrowingText(answer, finding));
        break;
      case FindingCode::kMaybe:
        lines.push_back(MaybeText(answer, finding));
        break;
      case FindingCode::kFreed:
        no_growth();
        lines.push_back(FreedText(answer, finding));
        break;
      case FindingCode::kGivenBack:
        no_growth();
        lines.push_back(GivenBackText(answer, finding));
        break;
      case FindingCode::kOneIteration:
        lines.push_back(OneIterationText(answer, finding));
        break;
      case FindingCode::kLittle:
        no_growth();
        lines.push_back(LittleText(answer, finding));
        break;
      case FindingCode::kConstant:
        break;  // ConstantText
      default:
        no_growth();
        lines.push_back(PartText(answer, finding));
    }
  }
  no_growth();
  if (answer.reach && answer.whole.steps > 1) {
    const std::string device = EscapeText(answer.reach->device);
    lines.push_back((device.empty() ? "" : Shorten(device, kMaxNameWidth) + ": ") +
                    ReachText(answer, *answer.reach));
  }
  return lines;
}

std::string ConstantText(const LeaksAnswer& answer) {
  if (answer.findings.empty() || answer.findings.back().code != FindingCode::kConstant) {
    return "constant: nothing";
  }
  const Finding& finding = answer.findings.back();
  return fmt::format("constant: {} in {}", Text(answer, finding.sum.last), Names(answer, finding));
}

}  // namespace memtool::commands
