#include "diff/diff_align.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "memtool/profile/answers/diff.h"
#include "memtool/profile/model/answerable.h"
#include "output/tabulate.h"
#include "rows/rows.h"
#include "words/refusals.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kMaxStepLines = 12;

std::string AlignedCount(std::uint64_t count) {
  return FormatCount(static_cast<std::int64_t>(count));
}

std::string SignedText(std::int64_t bytes) {
  return (bytes > 0 ? "+" : "") + FormatSize(bytes);
}

// "step 3", "steps 3 and 5", or "whole histories".
std::string NameOfSteps(const AlignedAnswer& answer, const AlignedStep& step) {
  if (answer.base_source == StepSource::kNone) {
    return "whole histories";
  }
  return step.base_step == step.now_step
             ? fmt::format("step {}", step.base_step)
             : fmt::format("base step {} and new step {}", step.base_step, step.now_step);
}

std::string PeakText(std::int64_t base, std::int64_t now) {
  const std::int64_t delta = SaturatingSubtract(now, base);
  const double growth = GrowthRatio(base, delta);
  return fmt::format("peak {} → {} · {}{}", FormatSize(base), FormatSize(now), SignedText(delta),
                     std::isfinite(growth) ? fmt::format(" ({:+.1f}%)", 100 * growth) : "");
}

std::string_view KeyText(KeyLevel level) {
  switch (level) {
    case KeyLevel::kInnermost:
      return "by their innermost function, because whole stacks differ";
    case KeyLevel::kOperation:
      return "by their operation only, because their functions differ";
    default:
      return "by their stacks, without lines and sizes";
  }
}

std::vector<std::string> HeadLines(const AlignedAnswer& answer, const std::string& base,
                                   const std::string& now) {
  const AlignedStep& shown = answer.steps[*answer.shown];
  const std::string compared = answer.base_source == StepSource::kNone
                                   ? std::string("no steps were found on both sides")
                                   : Counted(answer.steps.size(), "step") + " compared";
  std::vector<std::string> head{
      fmt::format("{}: {} · {}", NameOfSteps(answer, shown),
                  PeakText(shown.pair.peak.base, shown.pair.peak.now), compared),
      fmt::format("base {} → new {}", base, now),
      fmt::format("{} of {} allocations have a partner, {}{}", PartnersText(answer.partner_share()),
                  AlignedCount(answer.allocations), KeyText(answer.ladder.back().level),
                  answer.allocations == answer.with_partner
                      ? ""
                      : fmt::format(" · without: {}, {} allocated",
                                    AlignedCount(answer.allocations - answer.with_partner),
                                    FormatSize(answer.unaligned_bytes)))};
  if (answer.base_source != StepSource::kNone &&
      (answer.steps.size() < answer.base_steps || answer.steps.size() < answer.now_steps)) {
    head.push_back(fmt::format(
        "not compared: {} of {} base steps, {} of {} new ones (cut off, or the other has none)",
        answer.base_steps - answer.steps.size(), answer.base_steps,
        answer.now_steps - answer.steps.size(), answer.now_steps));
  }
  return head;
}

// What a line about a step says, besides its number.
std::string StepText(const AlignedStep& step) {
  const AllocationChange& all = step.pair.all;
  const PeakChange& peak = step.pair.peak;
  return fmt::format(
      "{:>10} → {:>10}  {:>11} · {} matched, {} of other size, {} added, {} removed{}",
      FormatSize(peak.base), FormatSize(peak.now), SignedText(peak.delta()),
      AlignedCount(all.matched), AlignedCount(all.changed), AlignedCount(all.added),
      AlignedCount(all.removed), step.pair.complete ? "" : " (parts too different to align)");
}

// Steps in a row that say the same are one line.
std::vector<std::string> StepLines(const AlignedAnswer& answer, std::size_t limit) {
  struct Line {
    std::size_t first;
    std::size_t last;
    std::string text;
  };
  std::vector<Line> all;
  for (std::size_t i = 0; i < answer.steps.size(); ++i) {
    std::string text = StepText(answer.steps[i]);
    if (!all.empty() && all.back().text == text) {
      all.back().last = i;
    } else {
      all.push_back({i, i, std::move(text)});
    }
  }
  const auto side = [&answer](const Line& line, std::int64_t AlignedStep::*step) {
    const std::int64_t first = answer.steps[line.first].*step;
    const std::int64_t last = answer.steps[line.last].*step;
    return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  };
  const std::size_t shown = limit == 0 ? all.size() : std::min(all.size(), kMaxStepLines);
  std::vector<std::string> names;
  std::size_t width = 0;
  for (const Line& line : all) {
    std::string name = side(line, &AlignedStep::base_step);
    const std::string other = side(line, &AlignedStep::now_step);
    names.push_back(name == other ? name : fmt::format("{} and {}", name, other));
    width = std::max(width, names.back().size());
  }
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < shown; ++i) {
    lines.push_back(fmt::format("  step {:<{}}  {}", names[i], width, all[i].text));
  }
  if (shown < all.size()) {
    lines.push_back(
        fmt::format("  … {} (-n 0 shows all)", Counted(all.size() - shown, "more line")));
  }
  return lines;
}

// Parts that no row has are left out, and zeros are not printed: most rows have one part.
TableColumns<AlignedRow> Columns(const std::vector<AlignedRow>& rows) {
  TableColumns<AlignedRow> columns(kAlignedFields, true);
  for (const auto& [key, part] :
       {std::pair("changed", &AlignedRow::changed), std::pair("added", &AlignedRow::added),
        std::pair("removed", &AlignedRow::removed), std::pair("held", &AlignedRow::held),
        std::pair("before", &AlignedRow::before)}) {
    columns[key].style.off =
        std::none_of(rows.begin(), rows.end(),
                     [member = part](const AlignedRow& row) { return row.*member != 0; });
    columns[key].get = [member = part](const AlignedRow& row) {
      return row.*member == 0 ? Cell() : Cell(Amount{.value = row.*member, .sign = true});
    };
  }
  PutPlaces(true, columns);
  return columns;
}

}  // namespace

Result<AlignedAnswer> AlignSides(const Selection& base, const Selection& now, const By& by) {
  for (const Selection* side : {&base, &now}) {
    if (!CanAnswer(side->source(), "steps")) {
      auto refusal = Refuse(ErrorCode::kUnsupported, side->source(),
                            "without allocations has no steps to compare",
                            "two moments can be compared without --align");
      refusal.value().input = side->name();
      return refusal;
    }
  }
  return AlignRuns(base, now, {.by = by});
}

std::string PartnersText(double share) {
  return fmt::format("{:.2f}%", std::floor(share * 10000) / 100);
}

std::string AlignRefusal(const AlignedAnswer& answer) {
  if (answer.corresponds) {
    return answer.shown ? "" : "no step of the one run corresponds to one of the other";
  }
  const KeyShare& whole = answer.ladder.front();
  return fmt::format(
      "the runs do not correspond: {} of the {} allocations of the smaller have a partner by their "
      "stacks, {:.0f}% are needed",
      PartnersText(whole.share()), AlignedCount(whole.smaller), 100 * whole.least());
}

TextTable AlignedTable(const AlignedAnswer& answer, const std::string& base, const std::string& now,
                       std::size_t limit) {
  TextTable table;
  table.row_unit = true;
  constexpr std::size_t kDelta = 2;
  Tabulate(answer.rows, Columns(answer.rows).all(), limit, kDelta, table);
  if (!answer.shown) {
    table.head = {"no rows: " + AlignRefusal(answer),
                  "totals only: " + PeakText(answer.base_peak, answer.now_peak),
                  fmt::format("base {} → new {}", base, now)};
    return table;
  }
  table.head = HeadLines(answer, base, now);
  table.foot.push_back("unchanged: " + FormatSize(answer.unchanged));
  if (answer.base_source != StepSource::kNone) {
    table.foot.emplace_back("steps, by their peaks, with all that they allocate:");
    for (std::string& line : StepLines(answer, limit)) {
      table.foot.push_back(std::move(line));
    }
  }
  table.column_notes = {{"CHANGED", "CHANGED: by partners of another size"},
                        {"ADDED", "ADDED: by allocations of the new run without a partner"},
                        {"REMOVED", "REMOVED: by those of the base"},
                        {"HELD", "HELD: by partners of which only one is live at its peak"},
                        {"BEFORE", "BEFORE: by what was there before the step"}};
  return table;
}

}  // namespace memtool::commands
