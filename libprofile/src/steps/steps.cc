#include "memtool/profile/steps/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/numbers.h"
#include "memtool/profile/replay/replay.h"
#include "memtool/profile/steps/step_marks.h"
#include "steps/program_loops.h"

namespace memtool {

namespace {

constexpr std::string_view kOptimizerMark = "Optimizer.step";
// Of all allocations: what a loop has to cover to be the program's steps.
constexpr double kMinCovered = 0.5;

// Rows of allocations that begin a step; the last element ends the last step.
struct Cut {
  std::vector<std::size_t> begins;
  bool first_complete = true;
  bool last_complete = true;
};

std::optional<std::int64_t> ToNumber(std::string_view mark) {
  const std::string_view name = MarkWithoutNumber(mark);
  return name.size() == mark.size() ? std::nullopt
                                    : ParseNumber<std::int64_t>(mark.substr(name.size() + 1));
}

// Gives a step its allocations, by its events.
void FindAllocations(const TraceAllocations& allocations, ProgramStep& step) {
  const auto at = [&allocations](std::int64_t event) {
    return static_cast<std::size_t>(
        std::lower_bound(allocations.events.begin(), allocations.events.end(), event,
                         [](std::uint32_t a, std::int64_t b) { return a < b; }) -
        allocations.events.begin());
  };
  step.first = at(step.begin);
  step.count = at(step.end + 1) - step.first;
}

ProgramSteps StepsByMarks(std::span<const Event> events, const Trace& trace,
                          const TraceAllocations& allocations, std::string mark,
                          const StepSpans& spans) {
  ProgramSteps found{.source = StepSource::kMark, .mark = std::move(mark), .steps = {}};
  const std::vector<std::int64_t> clock = ForwardClock(events);
  const auto last_by = [&clock](std::int64_t time) -> std::int64_t {
    return std::upper_bound(clock.begin(), clock.end(), time) - clock.begin() - 1;
  };
  // An optimizer's mark ends a step and does not hold it.
  const bool ends_only = found.mark.starts_with(kOptimizerMark);
  std::int64_t done = -1;
  for (std::size_t i = 0; i < spans.list.size(); ++i) {
    const StepSpan& span = spans.list[i];
    ProgramStep step{.name = span.name, .number = ToNumber(span.name)};
    step.begin = ends_only ? done + 1 : std::max(done, last_by(span.begin)) + 1;
    step.end = last_by(span.end);
    if (step.end < step.begin) {
      continue;
    }
    done = step.end;
    const bool cut_off = spans.unfinished && i + 1 == spans.list.size();
    step.complete = !cut_off && (!trace.overflowed || step.begin > 0);
    FindAllocations(allocations, step);
    found.steps.push_back(std::move(step));
  }
  return found;
}

// Where steps end by the order of phases: where forward begins after an optimizer's run, or, in a
// program whose optimizer allocates once or never, after backward.
class PhaseCutter {
 public:
  explicit PhaseCutter(std::vector<PhaseRun> runs) : runs_(std::move(runs)) {
    for (const PhaseRun& run : runs_) {
      optimizers_ += run.phase == StepPhase::kOptimizer ? 1 : 0;
      backwards_ += run.phase == StepPhase::kBackward ? 1 : 0;
    }
  }

  // Empty where there are no steps.
  Cut Find() {
    if (optimizers_ == 0 && backwards_ == 0) {
      return {};
    }
    // What comes before the first forward, such as loading a model, is in no step.
    const bool leads = runs_.size() > 1 && runs_[0].phase == StepPhase::kOther &&
                       runs_[1].phase == StepPhase::kForward;
    cut_.begins.push_back(leads ? runs_[1].first : 0);
    cut_.first_complete =
        runs_[0].phase == StepPhase::kForward || runs_[0].phase == StepPhase::kOther;
    for (const PhaseRun& run : runs_) {
      Take(run);
    }
    cut_.begins.push_back(runs_.back().first + runs_.back().count);
    cut_.last_complete =
        optimizers_ > 1 || cut_.begins.size() == 2 ? optimizers_ == 0 || optimizer_ : backward_;
    return std::move(cut_);
  }

 private:
  void Take(const PhaseRun& run) {
    if (run.phase == StepPhase::kForward && Ends()) {
      cut_.begins.push_back(end_);
      optimizer_ = backward_ = false;
    } else if (run.phase == StepPhase::kOptimizer) {
      optimizer_ = true;
      ++optimizers_seen_;
    } else if (run.phase == StepPhase::kBackward) {
      backward_ = true;
    }
    if (run.phase == StepPhase::kOptimizer || run.phase == StepPhase::kBackward) {
      end_ = run.first + run.count;
    }
  }
  [[nodiscard]] bool Ends() const {
    const bool by_backward = optimizers_ < 2 && optimizers_seen_ == optimizers_;
    return optimizer_ || (by_backward && backward_);
  }

  std::vector<PhaseRun> runs_;
  std::size_t optimizers_ = 0;
  std::size_t backwards_ = 0;
  std::size_t optimizers_seen_ = 0;
  bool optimizer_ = false;  // since the last step
  bool backward_ = false;
  std::size_t end_ = 0;  // of the last run of the two
  Cut cut_;
};

// The loop that covers most of the history, where it is one of steps.
Cut CutByLoops(const TraceAllocations& allocations, std::span<const Loop> loops,
               std::span<const LoopKind> kinds) {
  const Loop* best = nullptr;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (kinds[i] == LoopKind::kSteps && (best == nullptr || loops[i].length > best->length)) {
      best = &loops[i];
    }
  }
  Cut cut;
  if (best == nullptr ||
      static_cast<double>(best->length) < kMinCovered * static_cast<double>(allocations.size())) {
    return cut;
  }
  for (std::size_t i = 0; i <= best->repetitions(); ++i) {
    cut.begins.push_back(best->begin + i * best->period);
  }
  if (cut.begins.back() < best->end()) {
    cut.begins.push_back(best->end());
    cut.last_complete = false;
  }
  return cut;
}

ProgramSteps StepsByCut(std::span<const Event> events, const TraceAllocations& allocations,
                        const Cut& cut, StepSource source) {
  ProgramSteps found{.source = source, .mark = {}, .steps = {}};
  const auto event_of = [&](std::size_t row) {
    return row == 0                    ? 0
           : row == allocations.size() ? static_cast<std::int64_t>(events.size())
                                       : std::int64_t{allocations.events[row]};
  };
  for (std::size_t i = 0; i + 1 < cut.begins.size(); ++i) {
    found.steps.push_back({.name = {},
                           .begin = event_of(cut.begins[i]),
                           .end = event_of(cut.begins[i + 1]) - 1,
                           .first = cut.begins[i],
                           .count = cut.begins[i + 1] - cut.begins[i]});
  }
  if (!found.steps.empty()) {
    found.steps.front().complete = cut.first_complete;
    found.steps.back().complete = found.steps.back().complete && cut.last_complete;
  }
  return found;
}

// Keys for loops, see TraceAllocations::loop_keys.
class LoopKeys {
 public:
  explicit LoopKeys(const StackFacts& facts) : facts_(facts) {}
  std::uint32_t Of(const Event& event, StepPhase phase) {
    const std::uint32_t key =
        event.stack.valid() ? facts_.keys[event.stack.value()] : StackKeys::kNoFrames;
    if (key == StackKeys::kNoFrames) {
      return Interned(event.size, false);
    }
    return phase == StepPhase::kOptimizer ? Interned(facts_.lines[event.stack.value()], true) : key;
  }

 private:
  // Above all keys of stacks.
  std::uint32_t Interned(std::int64_t value, bool line) {
    constexpr std::uint32_t kFirst = 0x80000000;
    auto& known = line ? of_lines_ : of_sizes_;
    const auto next = static_cast<std::uint32_t>(of_lines_.size() + of_sizes_.size());
    return known.try_emplace(value, kFirst + next).first->second;
  }

  const StackFacts& facts_;
  KeyMap<std::int64_t, std::uint32_t> of_lines_;
  KeyMap<std::int64_t, std::uint32_t> of_sizes_;
};

ProgramSteps LocateSteps(const HistoryIndex& index, const Trace& trace,
                         const TraceAllocations& allocations, const StepSearch& search) {
  const auto events = GetEvents(index.recording(), trace);
  const auto looks_for = [&search](StepSource source) {
    return !search.only || *search.only == source;
  };
  if (looks_for(StepSource::kMark)) {
    auto [mark, spans] = search.mark.empty()
                             ? FindStepMarks(index.history(), 1)
                             : std::pair(search.mark, SpansOfMarks(index.history(), search.mark));
    ProgramSteps found = StepsByMarks(events, trace, allocations, std::move(mark), spans);
    if (!found.steps.empty()) {
      return found;
    }
  }
  Cut by_phases;
  if (looks_for(StepSource::kPhase)) {
    const std::vector<PhaseRun> runs = MakeRuns(allocations.phases);
    by_phases = PhaseCutter(runs).Find();
    // Without a forward that can be recognised, all steps look like one: loops may know better.
    const bool forward = std::any_of(runs.begin(), runs.end(), [](const PhaseRun& run) {
      return run.phase == StepPhase::kForward;
    });
    if (!by_phases.begins.empty() && (forward || !looks_for(StepSource::kLoop))) {
      return StepsByCut(events, allocations, by_phases, StepSource::kPhase);
    }
  }
  if (!looks_for(StepSource::kLoop)) {
    return {};
  }
  const std::vector<Loop> loops = FindLoops(allocations.keys);
  std::vector<LoopKind> kinds;
  kinds.reserve(loops.size());
  for (const Loop& loop : loops) {
    kinds.push_back(JudgeLoop(allocations, loop).kind);
  }
  const Cut cut = CutByLoops(allocations, loops, kinds);
  return !cut.begins.empty() ? StepsByCut(events, allocations, cut, StepSource::kLoop)
         : by_phases.begins.empty()
             ? ProgramSteps{}
             : StepsByCut(events, allocations, by_phases, StepSource::kPhase);
}

}  // namespace

StackFacts FactsOfStacks(const Recording& recording, StackKeys& keys) {
  StackKeys lines(KeyLevel::kFramesAndLines);
  return {.keys = keys.Of(recording),
          .lines = lines.Of(recording),
          .phases = PhasesOfStacks(recording)};
}

TraceAllocations CollectAllocations(const HistoryIndex& index, const Trace& trace,
                                    const StackFacts& facts) {
  const auto events = GetEvents(index.recording(), trace);
  const Replay& replay = index.replay(trace);
  TraceAllocations allocations;
  LoopKeys loop_keys(facts);
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (replay.TakesMemory(i)) {
      const StackId stack = events[i].stack;
      const StackPhase& phase = facts.phases.Of(stack);
      allocations.events.push_back(i);
      allocations.keys.push_back(stack.valid() ? facts.keys[stack.value()] : StackKeys::kNoFrames);
      allocations.loop_keys.push_back(loop_keys.Of(events[i], phase.phase));
      allocations.phases.push_back(phase.phase);
      allocations.modules.push_back(phase.module);
    }
  }
  return allocations;
}

std::string_view ToName(StepSource source) {
  switch (source) {
    case StepSource::kMark:
      return "mark";
    case StepSource::kPhase:
      return "phase";
    case StepSource::kLoop:
      return "loop";
    case StepSource::kNone:
      break;
  }
  return "none";
}

void MeasureSteps(const HistoryIndex& index, const Trace& trace,
                  const TraceAllocations& allocations, std::vector<ProgramStep>& steps) {
  const Replay& replay = index.replay(trace);
  const auto events = GetEvents(index.recording(), trace);
  std::int64_t live = index.summary(trace).base_bytes;
  std::int64_t event = 0;
  for (ProgramStep& step : steps) {
    for (; event < step.begin; ++event) {
      live = RunningAdd(live, replay.ChangeAt(static_cast<std::uint32_t>(event)));
    }
    step.start_live = live;
    for (; event <= step.end; ++event) {
      live = RunningAdd(live, replay.ChangeAt(static_cast<std::uint32_t>(event)));
      if (step.peak_event < 0 || live > step.peak) {
        step.peak = live;
        step.peak_event = event;
      }
    }
    step.end_live = live;
    for (std::size_t row = step.first; row < step.first + step.count; ++row) {
      step.allocated = SaturatingAdd(step.allocated, events[allocations.events[row]].size);
    }
    step.shape =
        HashRows<std::uint32_t>(std::span(allocations.keys).subspan(step.first, step.count));
  }
}

ProgramSteps FindSteps(const HistoryIndex& index, const Trace& trace,
                       const TraceAllocations& allocations, const StepSearch& search) {
  ProgramSteps found = LocateSteps(index, trace, allocations, search);
  MeasureSteps(index, trace, allocations, found.steps);
  return found;
}

namespace {

// The step that has the number, or, when it is negative, that place from the end.
const ProgramStep* FindStep(const ProgramSteps& found, std::int64_t number) {
  const std::size_t count = found.steps.size();
  if (number < 0) {
    const auto back = static_cast<std::uint64_t>(-(number + 1));
    return back < count ? &found.steps[count - 1 - back] : nullptr;
  }
  for (std::size_t row = 0; row < count; ++row) {
    if (found.NumberOf(row) == number) {
      return &found.steps[row];
    }
  }
  return nullptr;
}

}  // namespace

Result<MomentSpec> PlaceStep(MomentSpec moment, const HistoryIndex& index,
                             std::string_view device) {
  if (moment.kind != MomentSpec::Kind::kStep) {
    return moment;
  }
  const auto traces = GetTraces(index.recording(), device);
  MEMTOOL_TRY(traces);
  StackKeys keys;
  const StackFacts facts = FactsOfStacks(index.recording(), keys);
  moment.placed.assign(index.history().traces.size(), -1);
  for (const std::size_t i : *traces) {
    const Trace& trace = index.history().traces[i];
    const ProgramSteps found =
        LocateSteps(index, trace, CollectAllocations(index, trace, facts), {});
    const ProgramStep* step = FindStep(found, moment.index);
    if (step == nullptr) {
      const std::string what = fmt::format("{} {}: ", moment.option, moment.text);
      return found.steps.empty()
                 ? Fail(ErrorCode::kUsage, what + "no steps are found on " + TraceText(trace))
                 : Fail(ErrorCode::kUsage,
                        fmt::format("{}the steps of {} are {} to {}", what, TraceText(trace),
                                    found.NumberOf(0), found.NumberOf(found.steps.size() - 1)),
                        "memtool steps lists them");
    }
    moment.placed[i] = step->begin - 1;
  }
  return moment;
}

}  // namespace memtool
