// Where in a run an allocation is made: in which step, phase and layer. Found once for all
// allocations of a history.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/steps/steps.h"

namespace memtool {

struct StepPlace {
  // A repetition of a loop of layers or parameters.
  struct Repetition {
    LoopKind kind = LoopKind::kLayers;
    std::size_t number = 0;  // from 1
    std::size_t of = 0;
  };
  std::optional<std::int64_t> step{};  // ProgramSteps::NumberOf
  StepPhase phase = StepPhase::kOther;
  std::optional<Repetition> repetition{};
};

class StepPlaces {
 public:
  explicit StepPlaces(const HistoryIndex& index);
  // `event`: an entry of the trace; none where it is no allocation.
  [[nodiscard]] std::optional<StepPlace> Of(std::size_t trace, std::int64_t event) const;

 private:
  struct OfTrace {
    std::vector<std::uint32_t> events;  // of allocations
    std::vector<PhaseRun> runs;
    ProgramSteps steps;
    std::vector<std::size_t> models;  // per step: the first of its shape, whose loops are known
    std::vector<ProgramLoop> loops;   // of layers and parameters, by their first row
  };
  static OfTrace Find(const HistoryIndex& index, const Trace& trace, const StackFacts& facts);
  static void PutStep(const OfTrace& trace, std::size_t row, StepPlace& place);
  static std::optional<StepPlace::Repetition> RepetitionAt(const OfTrace& trace, std::size_t row);

  std::vector<OfTrace> traces_;  // as those of the history
};

}  // namespace memtool
