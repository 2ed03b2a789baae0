// The steps of training runs, where they were found (marks, phases, loops), and what repeats inside
// them: layers, parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memtool/profile/advise/keepers.h"
#include "memtool/profile/answers/answer.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/steps/steps.h"

namespace memtool {

struct StepsQuery {
  StepSearch search;
  std::string device;  // empty = all
};

// One device of one input.
struct SteppedTrace {
  std::size_t input = 0;  // row of AnswerHead::inputs
  std::int32_t device = -1;
  std::string trace;  // "device 0", or its name
  StepSource source = StepSource::kNone;
  std::string mark;
  std::vector<PhaseRun> runs;  // of the whole history, in order
  std::size_t allocations = 0;
  std::size_t folded = 0;     // allocations that are left when of each loop one repetition is kept
  std::size_t steps = 0;      // rows
  std::size_t first_row = 0;  // in StepsAnswer::rows
  std::vector<ProgramLoop> loops;
  std::vector<ForwardKeeper> keepers;  // those that keep most, where requests can be replayed
};

struct StepsRow {
  std::int64_t step = 0;  // the number of its mark; without one its place, from 1
  std::int64_t begin = 0;
  std::int64_t end = 0;
  StepSource from = StepSource::kNone;
  std::int64_t peak = 0;  // bytes; clamped: unknown
  std::int64_t peak_event = 0;
  std::int64_t end_live = 0;  // likewise
  std::int64_t allocated = 0;
  std::uint64_t allocations = 0;
  bool complete = true;
  std::int32_t device = -1;
  std::string name;   // of its mark
  std::string input;  // its path
};

inline constexpr auto kStepsFields = Fields<StepsRow>({
    {"step", "STEP", Unit::kOrdinal, &StepsRow::step, "the number of the step; * = not whole"},
    {"peak", "PEAK", Unit::kBytes, [](const StepsRow& row) { return Unclamped(row.peak); },
     "the most that was live in it", kOrUnknown},
    {"peak_event", "AT EVENT", Unit::kOrdinal, &StepsRow::peak_event, "when that was", Drop(4)},
    {"live_at_end", "AT ITS END", Unit::kBytes,
     [](const StepsRow& row) { return Unclamped(row.end_live); }, "what is live when it ends",
     Drop(3) | kOrUnknown},
    {"allocated", "ALLOCATED", Unit::kBytes, &StepsRow::allocated,
     "bytes that were allocated in it", Drop(5)},
    {"allocations", "ALLOCATIONS", Unit::kCount, &StepsRow::allocations,
     "how many allocations these were", Drop(2)},
    {"begin", "BEGIN", Unit::kOrdinal, &StepsRow::begin, "its first event", Drop(6)},
    {"end", "END", Unit::kOrdinal, &StepsRow::end, "the event after its last one", Drop(6)},
    {"from", "FROM", Unit::kText, [](const StepsRow& row) { return Value(ToName(row.from)); },
     "how the step was found", Drop(1), R"("mark"|"phase"|"loop")"},
    {"complete", "", Unit::kText, &StepsRow::complete, "whether the recording has all of it"},
    {"device", "DEVICE", Unit::kOrdinal, &StepsRow::device, "the device"},
    {"mark", "MARK", Unit::kText,
     [](const StepsRow& row) { return row.name.empty() ? Value() : Value(row.name); },
     "the mark that it begins with", Drop(7), "string|null"},
    {"input", "INPUT", Unit::kText, &StepsRow::input, "the input"},
});

struct StepsAnswer {
  AnswerHead head{.question = "steps"};
  std::vector<SteppedTrace> traces;  // those with allocations
  std::vector<StepsRow> rows;
};

// Takes inputs one after the other.
class StepsMaker {
 public:
  explicit StepsMaker(StepsQuery query) : query_(std::move(query)) {}
  // Errors: kUsage for a mark or a device that the history does not have.
  Result<void> Add(const HistoryIndex& index, const std::string& name);
  StepsAnswer Make() && { return std::move(answer_); }

 private:
  StepsQuery query_;
  StepsAnswer answer_;
  std::size_t inputs_ = 0;
};

AnswerView MakeView(const StepsAnswer& answer);

}  // namespace memtool
