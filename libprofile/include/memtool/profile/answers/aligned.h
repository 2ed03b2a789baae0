// What changed between two runs, step by step: which allocations of a step correspond, and which
// rows make up the difference at its peak. Refuses runs of different programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/selection.h"
#include "memtool/profile/steps/compare.h"

namespace memtool {

struct AlignedQuery {
  By by{};  // what rows are
  StepSearch search{};
};

// A row at the peaks of the two steps. Bytes; now less base is the sum of the parts, which are
// negative where there is less.
struct AlignedRow {
  SharedText name;
  SharedText file;
  std::int64_t line = 0;  // 0 = none
  std::int64_t base = 0;
  std::int64_t now = 0;
  std::int64_t changed = 0;  // by allocations with a partner of another size
  std::int64_t added = 0;    // by those without a partner
  std::int64_t removed = 0;
  std::int64_t held = 0;    // by partners of which only one is live then
  std::int64_t before = 0;  // by what was there before the steps

  [[nodiscard]] std::int64_t delta() const { return SaturatingSubtract(now, base); }
};

inline constexpr auto kAlignedFields = Fields<AlignedRow>({
    {"base", "BASE", Unit::kBytes, &AlignedRow::base,
     "what the row holds at the peak of the base's step", Drop(3)},
    {"new", "NEW", Unit::kBytes, &AlignedRow::now,
     "what it holds at the peak of the new run's step", Drop(2)},
    {"delta", "DELTA", Unit::kBytes, [](const AlignedRow& row) { return Value(row.delta()); },
     "NEW minus BASE", kSigns},
    {"changed", "CHANGED", Unit::kBytes, &AlignedRow::changed, "of this, partners of another size",
     Drop(4) | kSigns},
    {"added", "ADDED", Unit::kBytes, &AlignedRow::added, "allocations that only the new run makes",
     Drop(5) | kSigns},
    {"removed", "REMOVED", Unit::kBytes, &AlignedRow::removed,
     "allocations that only the base makes; negative", Drop(5) | kSigns},
    {"held", "HELD", Unit::kBytes, &AlignedRow::held,
     "partners that are live at one of the two peaks only", Drop(6) | kSigns},
    {"before", "BEFORE", Unit::kBytes, &AlignedRow::before, "what was there before the step",
     Drop(6) | kSigns},
    {"name", "WHERE", Unit::kText, &AlignedRow::name,
     "the function, or whatever else --by makes rows of"},
    {"file", "PLACE", Unit::kText, &AlignedRow::file, "the file that the name is in",
     Drop(1) | kPath},
    {"line", "", Unit::kOrdinal, [](const AlignedRow& row) { return LineValue(row.line); },
     "the line in that file"},
});

// Steps that correspond.
struct AlignedStep {
  std::int64_t base_step = 0;  // as StepsRow::step
  std::int64_t now_step = 0;
  PairedStep pair;
};

struct AlignedAnswer {
  AnswerHead head{.question = "diff-align"};
  std::int32_t base_device = -1;
  std::int32_t now_device = -1;
  std::vector<KeyShare> ladder;
  bool corresponds = false;  // false: no steps and no rows
  StepSource base_source = StepSource::kNone;
  StepSource now_source = StepSource::kNone;
  std::size_t base_steps = 0;
  std::size_t now_steps = 0;
  std::vector<AlignedStep> steps;
  std::optional<std::size_t> shown;  // row of `steps` whose peak the rows are of: the highest new
  std::vector<AlignedRow> rows;      // those that changed, the largest difference first
  std::int64_t unchanged = 0;        // bytes of the others
  std::uint64_t allocations = 0;     // of the compared steps, both sides
  std::uint64_t with_partner = 0;
  std::int64_t unaligned_bytes = 0;  // allocated by those without a partner
  // Peaks of the whole histories, for a refusal.
  std::int64_t base_peak = 0;
  std::int64_t now_peak = 0;

  [[nodiscard]] double partner_share() const {
    return allocations == 0 ? 0
                            : static_cast<double>(with_partner) / static_cast<double>(allocations);
  }
};

std::string_view ToName(KeyLevel level);

// Errors: kUnsupported for an input without allocations; kUsage for several devices of which none
// was chosen; those of GroupAllocations.
Result<AlignedAnswer> AlignRuns(const Selection& base, const Selection& now,
                                const AlignedQuery& query);
AnswerView MakeView(const AlignedAnswer& answer);

}  // namespace memtool
