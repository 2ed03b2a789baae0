#include "steps/program_loops.h"

#include <algorithm>
#include <array>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/replay/replay.h"

namespace memtool {

namespace {

// Of a repetition: a phase with less of it is noise.
constexpr double kNoise = 0.05;

// Finds loops in one stretch of a history after the other.
class LoopFinder {
 public:
  LoopFinder(const HistoryIndex& index, const Trace& trace, const TraceAllocations& allocations)
      : replay_(index.replay(trace)),
        events_(GetEvents(index.recording(), trace)),
        allocations_(allocations) {}

  // Loops of rows `first` to `first + count`; in a loop of whole passes also those of its first
  // repetition.
  void Find(std::size_t first, std::size_t count, ProgramLoop model) {
    for (const ProgramLoop& outer : GetLoops(first, count, model)) {
      found_.push_back(outer);
      if (outer.kind == LoopKind::kSteps) {
        for (const ProgramLoop& inner : GetLoops(outer.loop.begin, outer.loop.period, model)) {
          found_.push_back(inner);
        }
      }
    }
  }
  std::vector<ProgramLoop> Take() { return std::move(found_); }

 private:
  std::vector<ProgramLoop> GetLoops(std::size_t first, std::size_t count, ProgramLoop model) const {
    std::vector<ProgramLoop> loops;
    for (Loop loop : FindLoops(std::span(allocations_.loop_keys).subspan(first, count))) {
      loop.begin += first;
      const JudgedLoop judged = JudgeLoop(allocations_, loop);
      model.loop = loop;
      model.begin = allocations_.events[loop.begin];
      model.phase = judged.phase;
      model.kind = judged.kind;
      Measure(model);
      loops.push_back(model);
    }
    return loops;
  }

  void Measure(ProgramLoop& found) const {
    const Loop& loop = found.loop;
    const std::uint32_t end = allocations_.events[loop.end() - 1];
    std::vector<std::int64_t> kept(loop.repetitions(), 0);
    std::vector<std::int64_t> allocated(loop.repetitions(), 0);
    for (std::size_t i = 0; i < loop.repetitions() * loop.period; ++i) {
      const std::uint32_t event = allocations_.events[loop.begin + i];
      const std::uint32_t freed = replay_.partners()[event];
      const std::int64_t size = events_[event].size;
      std::int64_t& all = allocated[i / loop.period];
      all = SaturatingAdd(all, size);
      if (freed == Replay::kNoEvent || freed > end) {
        std::int64_t& own = kept[i / loop.period];
        own = SaturatingAdd(own, size);
      }
    }
    found.kept = Middle(kept);
    found.allocated = Middle(allocated);
  }
  static std::int64_t Middle(std::vector<std::int64_t>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

  const Replay& replay_;
  std::span<const Event> events_;
  const TraceAllocations& allocations_;
  std::vector<ProgramLoop> found_;
};

}  // namespace

std::string_view ToName(LoopKind kind) {
  switch (kind) {
    case LoopKind::kLayers:
      return "layers";
    case LoopKind::kParameters:
      return "parameters";
    case LoopKind::kSteps:
      return "steps";
    case LoopKind::kOther:
      break;
  }
  return "other";
}

// Layers: forward inside a module's call, or backward. Whole passes of the program: forward that is
// partly outside of any module, more than one phase, or nothing to go by.
JudgedLoop JudgeLoop(const TraceAllocations& allocations, const Loop& loop) {
  std::array<std::size_t, kPhases> counts{};
  bool in_module = true;
  bool varies = false;
  for (std::size_t row = loop.begin; row < loop.begin + loop.period; ++row) {
    ++counts.at(static_cast<std::size_t>(allocations.phases[row]));
    in_module = in_module && allocations.modules[row];
    varies = varies || allocations.loop_keys[row] != allocations.loop_keys[loop.begin];
  }
  const auto most = std::max_element(counts.begin(), counts.end());
  const auto phase = static_cast<StepPhase>(most - counts.begin());
  const auto others = std::count_if(counts.begin(), counts.end(), [&](std::size_t count) {
    return static_cast<double>(count) > kNoise * static_cast<double>(loop.period);
  });
  if (!varies) {
    return {phase, LoopKind::kOther};  // one place again and again
  }
  if (others > 1) {
    return {phase, LoopKind::kSteps};
  }
  switch (phase) {
    case StepPhase::kOptimizer:
      return {phase, LoopKind::kParameters};
    case StepPhase::kBackward:
      return {phase, LoopKind::kLayers};
    case StepPhase::kForward:
      return {phase, in_module ? LoopKind::kLayers : LoopKind::kSteps};
    case StepPhase::kOther:
      break;
  }
  return {phase, LoopKind::kSteps};
}

std::vector<ProgramLoop> FindProgramLoops(const HistoryIndex& index, const Trace& trace,
                                          const TraceAllocations& allocations,
                                          const ProgramSteps& steps) {
  LoopFinder finder(index, trace, allocations);
  if (steps.steps.empty()) {
    finder.Find(0, allocations.size(), {});
    return finder.Take();
  }
  KeyMap<std::uint64_t, std::size_t> shapes;
  for (const ProgramStep& step : steps.steps) {
    ++shapes[step.shape];
  }
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    const ProgramStep& step = steps.steps[i];
    std::size_t& count = shapes[step.shape];
    if (count > 0) {
      finder.Find(step.first, step.count, {.loop = {}, .step = i, .steps = count});
      count = 0;  // the others of this shape have the same
    }
  }
  return finder.Take();
}

}  // namespace memtool
