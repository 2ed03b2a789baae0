// The steps of a program, from the history of one device: by marks, else by the order of phases,
// else by loops in the program's own code; and the loops inside them, such as layers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/align/stack_keys.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/steps/loops.h"
#include "memtool/profile/steps/phases.h"

namespace memtool {

// The allocations of a trace, in order, as columns.
struct TraceAllocations {
  std::vector<std::uint32_t> events;  // of the trace
  std::vector<std::uint32_t> keys;    // of their stacks
  // What loops are found by, within one recording: the keys, but with lines in the optimizer, which
  // does the same for parameter after parameter, and the size where there is no stack.
  std::vector<std::uint32_t> loop_keys;
  std::vector<StepPhase> phases;
  std::vector<bool> modules;  // inside a module's call

  [[nodiscard]] std::size_t size() const { return events.size(); }
};

// What a recording's stacks say, worked out once for all its traces.
struct StackFacts {
  std::vector<std::uint32_t> keys;   // StackKeys::Of
  std::vector<std::uint32_t> lines;  // the same of KeyLevel::kFramesAndLines
  StackPhases phases;
};
// `keys`: shared by the recordings whose allocations are compared.
StackFacts FactsOfStacks(const Recording& recording, StackKeys& keys);

TraceAllocations CollectAllocations(const HistoryIndex& index, const Trace& trace,
                                    const StackFacts& facts);

enum class StepSource : std::uint8_t { kNone, kMark, kPhase, kLoop };
// "none", "mark", "phase", "loop"
std::string_view ToName(StepSource source);

// Events `begin` to `end` of a trace, and the allocations among them: rows of TraceAllocations.
struct ProgramStep {
  std::string name;                      // of its mark; empty without
  std::optional<std::int64_t> number{};  // of its mark: 3 for "ProfilerStep#3"
  std::int64_t begin = 0;                // the first event
  std::int64_t end = 0;                  // the last one
  std::size_t first = 0;
  std::size_t count = 0;
  bool complete = true;  // false: the history begins or ends within it
  // Bytes. Live before and after it, and the most in between, after event `peak_event` (the one
  // before `begin` when it only falls).
  std::int64_t start_live = 0;
  std::int64_t end_live = 0;
  std::int64_t peak = 0;
  std::int64_t peak_event = -1;
  std::int64_t allocated = 0;  // what its allocations add up to
  std::uint64_t shape = 0;     // equal for steps that allocate by the same keys in the same order
};

struct ProgramSteps {
  StepSource source = StepSource::kNone;
  std::string mark;  // whose marks they are
  std::vector<ProgramStep> steps;

  // What step `row` is called: the number of its mark; without one its place, from 1.
  [[nodiscard]] std::int64_t NumberOf(std::size_t row) const {
    return steps[row].number.value_or(static_cast<std::int64_t>(row) + 1);
  }
};

enum class LoopKind : std::uint8_t { kOther, kLayers, kParameters, kSteps };
// "other", "layers", "parameters", "steps"
std::string_view ToName(LoopKind kind);

// A loop inside a step (or, without steps, anywhere).
struct ProgramLoop {
  Loop loop;                            // rows of TraceAllocations
  std::int64_t begin = 0;               // the event of its first allocation
  StepPhase phase = StepPhase::kOther;  // of most of its allocations
  LoopKind kind = LoopKind::kOther;
  std::size_t step = 0;   // row of ProgramSteps::steps where it was found first
  std::size_t steps = 1;  // how many steps of that shape there are
  // Of the repetition in the middle, by size. Bytes.
  std::int64_t kept = 0;       // still live when the loop has ended
  std::int64_t allocated = 0;  // all that one repetition allocates
};

struct StepSearch {
  std::string mark;                  // only marks of this name; empty = those of profilers
  std::optional<StepSource> only{};  // none = marks, else phases, else loops
};

// Without steps, the source is kNone and the list is empty. The caller names a mark only when the
// history has it.
ProgramSteps FindSteps(const HistoryIndex& index, const Trace& trace,
                       const TraceAllocations& allocations, const StepSearch& search = {});

// "step:3" as the events after which that step begins, on each device that `device` chooses; other
// moments as they are. Errors: kUsage where a device has no such step.
Result<MomentSpec> PlaceStep(MomentSpec moment, const HistoryIndex& index, std::string_view device);

// Fills in what was live and allocated in steps whose events and allocations are known; in order,
// without overlap. FindSteps has done so.
void MeasureSteps(const HistoryIndex& index, const Trace& trace,
                  const TraceAllocations& allocations, std::vector<ProgramStep>& steps);

// In the order of the history. Steps of one shape are looked at once.
std::vector<ProgramLoop> FindProgramLoops(const HistoryIndex& index, const Trace& trace,
                                          const TraceAllocations& allocations,
                                          const ProgramSteps& steps);

}  // namespace memtool
