// Growth over the steps of one history: where its steps are, and what each row held in them.
//
// What "held in a step" means decides what is found:
// * at the end of a step: right when steps are the program's own (by marks, phases or loops),
//   because every step ends in the same state;
// * the lowest inside a step: right for equal parts, which begin anywhere within the program's
//   iterations. The lowest does not include what an iteration frees again; what leaks raises it;
// * kept: allocated up to the end of the step, and never freed in the whole range. Nothing that is
//   freed counts, however late; but the last iteration's own memory does, and a buffer that is
//   replaced by a larger one counts only once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "memtool/profile/growth/growth.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/rows/node_space.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/view.h"

namespace memtool {

enum class StepMeasure : std::uint8_t { kEnd, kLow, kRetained };

// What the steps are: equal parts, or the program's own.
enum class StepsBy : std::uint8_t { kParts, kMarks, kPhases, kLoops };

struct StepOptions {
  // Marks of this name are the steps, numbers after '#' aside. Empty = ProfilerStep, or else
  // Optimizer.step, when there are at least three of them; or else what FindSteps finds, likewise;
  // or else equal parts.
  std::string mark;
  std::size_t parts = 0;  // equal parts instead of marks; 0 = marks if there are any
  bool by_time = false;   // parts of equal time instead of equal event counts
  MomentRange range{};
  std::string device;                  // empty = all of GetTraces
  std::optional<StepMeasure> measure;  // none = low for parts, else end
};

inline constexpr std::size_t kDefaultParts = 10;
inline constexpr std::size_t kMaxParts = 1000;
// Rows times steps; each value takes 24 bytes while a history is walked through.
inline constexpr std::size_t kMaxValues = std::size_t{1} << 24U;

struct HistoryGrowth {
  // Except with StepMeasure::kLow, rows sum to the points' totals. Lows do not: rows are low at
  // different times, and the totals are the lows of the whole.
  GrowthSeries series;
  std::string mark;  // whose marks the steps are
  StepsBy source = StepsBy::kParts;
  StepMeasure measure = StepMeasure::kEnd;
  std::size_t devices = 0;
  std::size_t merged = 1;  // steps per point, where there are more than kMaxParts
  // a last mark without an end was left out: the recording stops within it
  bool unfinished = false;
  std::size_t iterations = 1;  // where the series shows too few of them, see GrowthSeries: how many
};

// `view`: of the index's recording. `space`: where the nodes of rows are interned. Errors: kUsage
// for a mark, moment, device or grouping that the history does not have, and for fewer than two
// steps; kLimit for more than kMaxValues.
Result<HistoryGrowth> GrowthOfHistory(const HistoryIndex& index, const View& view, const By& by,
                                      const StepOptions& options, NodeSpace& space);

}  // namespace memtool
