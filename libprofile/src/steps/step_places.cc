#include "memtool/profile/steps/step_places.h"

#include <algorithm>
#include <utility>

#include "memtool/profile/base/key_hash.h"

namespace memtool {

StepPlaces::StepPlaces(const HistoryIndex& index) {
  StackKeys keys;
  const StackFacts facts = FactsOfStacks(index.recording(), keys);
  for (const Trace& trace : index.history().traces) {
    traces_.push_back(Find(index, trace, facts));
  }
}

StepPlaces::OfTrace StepPlaces::Find(const HistoryIndex& index, const Trace& trace,
                                     const StackFacts& facts) {
  TraceAllocations allocations = CollectAllocations(index, trace, facts);
  if (allocations.size() == 0) {
    return {};
  }
  OfTrace found{.events = {},
                .runs = MakeRuns(allocations.phases),
                .steps = FindSteps(index, trace, allocations),
                .models = {},
                .loops = {}};
  found.loops = FindProgramLoops(index, trace, allocations, found.steps);
  std::erase_if(found.loops, [](const ProgramLoop& loop) {
    return loop.kind != LoopKind::kLayers && loop.kind != LoopKind::kParameters;
  });
  std::stable_sort(
      found.loops.begin(), found.loops.end(),
      [](const ProgramLoop& a, const ProgramLoop& b) { return a.loop.begin < b.loop.begin; });
  KeyMap<std::uint64_t, std::size_t> first_of_shape;
  for (std::size_t i = 0; i < found.steps.steps.size(); ++i) {
    found.models.push_back(first_of_shape.try_emplace(found.steps.steps[i].shape, i).first->second);
  }
  found.events = std::move(allocations.events);
  return found;
}

std::optional<StepPlace> StepPlaces::Of(std::size_t trace, std::int64_t event) const {
  const OfTrace& of = traces_[trace];
  const auto at = std::lower_bound(of.events.begin(), of.events.end(), event);
  if (at == of.events.end() || *at != event) {
    return std::nullopt;
  }
  const auto row = static_cast<std::size_t>(at - of.events.begin());
  const auto run =
      std::upper_bound(of.runs.begin(), of.runs.end(), row,
                       [](std::size_t wanted, const PhaseRun& one) { return wanted < one.first; });
  StepPlace place{.phase = run == of.runs.begin() ? StepPhase::kOther : std::prev(run)->phase};
  PutStep(of, row, place);
  return place;
}

void StepPlaces::PutStep(const OfTrace& trace, std::size_t row, StepPlace& place) {
  const std::vector<ProgramStep>& steps = trace.steps.steps;
  if (steps.empty()) {
    place.repetition = RepetitionAt(trace, row);
    return;
  }
  const auto after = std::upper_bound(
      steps.begin(), steps.end(), row,
      [](std::size_t wanted, const ProgramStep& step) { return wanted < step.first; });
  if (after == steps.begin() || row - std::prev(after)->first >= std::prev(after)->count) {
    return;  // between two steps
  }
  const auto step = static_cast<std::size_t>(after - steps.begin()) - 1;
  place.step = trace.steps.NumberOf(step);
  place.repetition = RepetitionAt(trace, row - steps[step].first + steps[trace.models[step]].first);
}

// Those within a loop of whole passes are known of its first repetition.
std::optional<StepPlace::Repetition> StepPlaces::RepetitionAt(const OfTrace& trace,
                                                              std::size_t row) {
  const auto after = std::upper_bound(
      trace.loops.begin(), trace.loops.end(), row,
      [](std::size_t wanted, const ProgramLoop& one) { return wanted < one.loop.begin; });
  if (after == trace.loops.begin()) {
    return std::nullopt;
  }
  const ProgramLoop& found = *std::prev(after);
  const std::size_t number = (row - found.loop.begin) / found.loop.period;
  return number < found.loop.repetitions() ? std::optional(StepPlace::Repetition{
                                                 found.kind, number + 1, found.loop.repetitions()})
                                           : std::nullopt;
}

}  // namespace memtool
