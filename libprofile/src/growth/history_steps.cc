#include "growth/history_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "memtool/profile/align/stack_keys.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/replay/replay.h"
#include "memtool/profile/steps/step_marks.h"
#include "memtool/profile/steps/steps.h"

namespace memtool {

namespace {

constexpr std::size_t kMinMarks = 3;
// Of the allocations: what few steps must hold to be all that the program did.
constexpr double kNearlyAll = 0.9;

// The last event of the range that has happened by `time`.
std::int64_t LastBy(const std::vector<std::int64_t>& clock, std::int64_t time, const Step& range) {
  const auto after = std::upper_bound(clock.begin(), clock.end(), time);
  return std::clamp<std::int64_t>(after - clock.begin() - 1, range.first, range.last);
}

std::vector<Step> StepsBySpans(std::span<const Event> events, const Step& range,
                               const std::vector<StepSpan>& spans) {
  const std::vector<std::int64_t> clock = ForwardClock(events);
  std::vector<Step> steps;
  steps.reserve(spans.size());
  for (const StepSpan& span : spans) {
    steps.push_back({LastBy(clock, span.begin, range), LastBy(clock, span.end, range)});
  }
  return steps;
}

std::vector<Step> EqualSteps(const Step& range, std::size_t parts) {
  const std::int64_t all = range.last - range.first;
  const auto count = static_cast<std::int64_t>(parts);
  std::vector<Step> steps;
  for (std::int64_t i = 0; i < count; ++i) {
    // Quotient and remainder separately: all · i may overflow.
    const auto at = [&](std::int64_t part) {
      return range.first + all / count * part + all % count * part / count;
    };
    steps.push_back({at(i), at(i + 1)});
  }
  return steps;
}

// The traces that are looked at, each with the part that was asked for.
Result<std::vector<ChosenTrace>> ChooseTraces(const HistoryIndex& index,
                                              const StepOptions& options) {
  const auto traces = GetTraces(index.recording(), options.device);
  MEMTOOL_TRY(traces);
  std::vector<ChosenTrace> chosen;
  for (const std::size_t i : *traces) {
    const Trace& trace = index.history().traces[i];
    if (trace.event_count == 0) {
      continue;
    }
    const auto span = ResolveRange(index, trace, options.range);
    MEMTOOL_TRY(span);
    if (span->first == span->last) {
      const MomentRange& range = options.range;
      if (range.from.text == "start" && range.to.text == "end") {
        return Fail(ErrorCode::kUsage,
                    fmt::format("{} has one moment: no step lies in it", TraceText(trace)));
      }
      return Fail(ErrorCode::kUsage,
                  fmt::format("{} {} and {} {} are both event {} of {}: no step lies between",
                              range.from.option, range.from.text, range.to.option, range.to.text,
                              span->first, TraceText(trace)));
    }
    chosen.push_back({.trace = &trace, .range = {span->first, span->last}});
  }
  if (chosen.empty()) {
    return Fail(ErrorCode::kUsage,
                options.device.empty()
                    ? std::string("the history of this file has no events")
                    : fmt::format("device {} of this file has no events", options.device));
  }
  return chosen;
}

// Parts of equal time of all chosen traces together.
Result<std::vector<StepSpan>> EqualSpans(const Recording& recording,
                                         const std::vector<ChosenTrace>& chosen,
                                         std::size_t parts) {
  std::int64_t first = INT64_MAX;
  std::int64_t last = kNoTime;
  for (const ChosenTrace& one : chosen) {
    const auto events = GetEvents(recording, *one.trace);
    for (std::int64_t i = one.range.first + 1; i <= one.range.last; ++i) {
      const std::int64_t time = events[static_cast<std::size_t>(i)].time;
      first = time == kNoTime ? first : std::min(first, time);
      last = std::max(last, time);
    }
  }
  if (first >= last) {
    return Fail(ErrorCode::kUsage, "--axis time: the events of this file carry no times");
  }
  const std::int64_t all = SaturatingSubtract(last, first);
  const auto count = static_cast<std::int64_t>(parts);
  const auto at = [&](std::size_t index) {
    const auto part = static_cast<std::int64_t>(index);
    return index == parts ? last : first - 1 + all / count * part + all % count * part / count;
  };
  std::vector<StepSpan> spans;
  for (std::size_t i = 0; i < parts; ++i) {
    spans.push_back({{}, at(i), at(i + 1)});
  }
  return spans;
}

// Drops steps outside the range, in which nothing happens: marks may begin before the recording.
void DropOutside(std::vector<ChosenTrace>& chosen, std::vector<StepSpan>& spans) {
  const auto outside = [&chosen](std::size_t step) {
    return std::all_of(chosen.begin(), chosen.end(), [step](const ChosenTrace& one) {
      return one.steps[step].last <= one.range.first || one.steps[step].first >= one.range.last;
    });
  };
  std::vector<std::size_t> retained;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (!outside(i)) {
      retained.push_back(i);
    }
  }
  const auto pick = [&retained](auto& list) {
    for (std::size_t i = 0; i < retained.size(); ++i) {
      list[i] = list[retained[i]];
    }
    list.resize(retained.size());
  };
  pick(spans);
  for (ChosenTrace& one : chosen) {
    pick(one.steps);
  }
}

// The marks that are the steps; an empty list for equal parts.
Result<StepSpans> MarkSpans(const History& history, const StepOptions& options, std::string& mark) {
  StepSpans spans;
  if (!options.mark.empty()) {
    mark = options.mark;
    spans = SpansOfMarks(history, mark);
    if (spans.list.empty()) {
      return Fail(ErrorCode::kUsage, fmt::format("--step-mark: no mark is called '{}'", mark),
                  history.marks.empty()
                      ? "this file has no marks (record_function and profiler steps make them)"
                      : "memtool timeline --format json lists the marks of a file");
    }
  } else if (options.parts == 0) {
    std::tie(mark, spans) = FindStepMarks(history, kMinMarks);
  }
  // A step that is cut short cannot be compared with whole ones.
  spans.unfinished = spans.unfinished && spans.list.size() >= kMinMarks;
  if (spans.unfinished) {
    spans.list.pop_back();
  }
  return spans;
}

// Joins steps that follow each other, so that at most kMaxParts are left; an incomplete group at
// the end is dropped. Returns how many each holds.
std::size_t MergeSpans(std::vector<StepSpan>& spans) {
  const std::size_t size = (spans.size() + kMaxParts - 1) / kMaxParts;
  if (size < 2) {
    return 1;
  }
  std::vector<StepSpan> merged;
  for (std::size_t i = 0; i + size <= spans.size(); i += size) {
    const StepSpan& last = spans[i + size - 1];
    merged.push_back({spans[i].name + " to " + last.name, spans[i].begin, last.end});
  }
  spans = std::move(merged);
  return size;
}

// How many there are, where they are too few and nearly all that was allocated.
std::size_t CountFew(const ProgramSteps& found, std::size_t allocations) {
  std::size_t held = 0;
  for (const ProgramStep& step : found.steps) {
    held += step.count;
  }
  const bool few = found.steps.size() < kMinMarks &&
                   static_cast<double>(held) >= kNearlyAll * static_cast<double>(allocations);
  return few ? found.steps.size() : 0;
}

// The complete steps that one trace shows by its phases or loops, within its range.
struct OwnSteps {
  std::vector<ProgramStep> steps;
  StepSource source = StepSource::kNone;
  std::size_t few = 0;  // see HistorySteps
};
OwnSteps FindOwnSteps(const HistoryIndex& index, const ChosenTrace& one, const StackFacts& facts) {
  const TraceAllocations allocations = CollectAllocations(index, *one.trace, facts);
  if (allocations.size() == 0) {
    return {};
  }
  ProgramSteps found = FindSteps(index, *one.trace, allocations);
  OwnSteps own{.steps = {}, .source = found.source, .few = CountFew(found, allocations.size())};
  std::vector<ProgramStep>& steps = own.steps;
  for (std::size_t i = 0; i < found.steps.size(); ++i) {
    ProgramStep& step = found.steps[i];
    step.number = step.number.value_or(static_cast<std::int64_t>(i) + 1);
    // A first step that the recording begins in ends as others do.
    const bool first = i == 0;
    if ((step.complete || first) && step.begin > one.range.first && step.end <= one.range.last) {
      steps.push_back(std::move(step));
    }
  }
  return own;
}

// Another trace's steps by the clock, or nothing.
std::vector<Step> StepsByClock(std::span<const Event> timed, std::span<const ProgramStep> found,
                               std::span<const Event> events, const Step& range) {
  const std::vector<std::int64_t> clock = ForwardClock(timed);
  const std::vector<std::int64_t> own = ForwardClock(events);
  if (own.empty() || own.back() == kNoTime || clock.back() == kNoTime) {
    return {};
  }
  std::vector<Step> steps;
  for (const ProgramStep& step : found) {
    const auto at = [&](std::int64_t event) {
      return event < 0 ? range.first : LastBy(own, clock[static_cast<std::size_t>(event)], range);
    };
    steps.push_back({at(step.begin - 1), at(step.end)});
  }
  return steps;
}

// Neighbours together, so that at most kMaxParts are left.
void MergeSteps(HistorySteps& all) {
  all.merged = (all.names.size() + kMaxParts - 1) / kMaxParts;
  if (all.merged < 2) {
    return;
  }
  std::size_t to = 0;
  for (std::size_t i = 0; i + all.merged <= all.names.size(); i += all.merged, ++to) {
    all.names[to] = all.names[i] + " to " + all.names[i + all.merged - 1];
    for (ChosenTrace& one : all.traces) {
      one.steps[to] = {one.steps[i].first, one.steps[i + all.merged - 1].last};
    }
  }
  all.names.resize(to);
  for (ChosenTrace& one : all.traces) {
    one.steps.resize(to);
  }
}

std::vector<Step> MakeSteps(const std::vector<ProgramStep>& steps) {
  std::vector<Step> made;
  made.reserve(steps.size());
  for (const ProgramStep& step : steps) {
    made.push_back({step.begin - 1, step.end});
  }
  return made;
}

StepsBy ToStepsBy(StepSource source) {
  return source == StepSource::kMark    ? StepsBy::kMarks
         : source == StepSource::kPhase ? StepsBy::kPhases
                                        : StepsBy::kLoops;
}

// Steps as FindSteps finds them, of the device that has most; the others have as many of their own,
// or follow it by the clock. False where that is not so, or there are too few.
bool TakeProgramSteps(const HistoryIndex& index, HistorySteps& all) {
  StackKeys keys;
  const StackFacts facts = FactsOfStacks(index.recording(), keys);
  std::vector<std::vector<ProgramStep>> found;
  std::size_t leader = 0;
  for (const ChosenTrace& one : all.traces) {
    OwnSteps own = FindOwnSteps(index, one, facts);
    const StepSource source = own.source;
    found.push_back(std::move(own.steps));
    all.few = std::max(all.few, own.few);
    if (found.size() == 1 || found.back().size() > found[leader].size()) {
      leader = found.size() - 1;
      all.source = ToStepsBy(source);
    }
  }
  const std::vector<ProgramStep>& steps = found[leader];
  std::vector<std::vector<Step>> of_traces;
  for (std::size_t i = 0; i < all.traces.size() && steps.size() >= kMinMarks; ++i) {
    std::vector<Step> of_trace =
        found[i].size() == steps.size()
            ? MakeSteps(found[i])
            : StepsByClock(GetEvents(index.recording(), *all.traces[leader].trace), steps,
                           GetEvents(index.recording(), *all.traces[i].trace), all.traces[i].range);
    if (!of_trace.empty()) {
      of_traces.push_back(std::move(of_trace));
    }
  }
  if (of_traces.size() < all.traces.size()) {
    return false;
  }
  for (std::size_t i = 0; i < all.traces.size(); ++i) {
    all.traces[i].steps = std::move(of_traces[i]);
  }
  for (const ProgramStep& step : steps) {
    all.names.push_back(fmt::format("step {}", *step.number));
  }
  MergeSteps(all);
  return true;
}

}  // namespace

Result<HistorySteps> StepsOfHistory(const HistoryIndex& index, const StepOptions& options) {
  const Recording& recording = index.recording();
  auto chosen = ChooseTraces(index, options);
  MEMTOOL_TRY(chosen);
  HistorySteps steps{.traces = *std::move(chosen)};
  auto marked = MarkSpans(*recording.history, options, steps.mark);
  MEMTOOL_TRY(marked);
  const bool by_marks = !steps.mark.empty();
  steps.marked = by_marks || !FindStepMarks(*recording.history, kMinMarks).first.empty();
  steps.unfinished = marked->unfinished;
  if (!by_marks && options.parts == 0 && TakeProgramSteps(index, steps)) {
    return steps;
  }
  steps.source = by_marks ? StepsBy::kMarks : StepsBy::kParts;
  std::vector<StepSpan> spans = std::move(marked->list);
  steps.merged = MergeSpans(spans);
  // Devices with fewer events have steps in which nothing happens.
  std::size_t most = 0;
  for (const ChosenTrace& one : steps.traces) {
    most = std::max(most, static_cast<std::size_t>(one.range.last - one.range.first));
  }
  const std::size_t parts = std::min(options.parts == 0 ? kDefaultParts : options.parts, most);
  steps.single_events = !by_marks && options.parts == 0 && parts < kDefaultParts;
  if (!by_marks && options.by_time) {
    auto equal = EqualSpans(recording, steps.traces, parts);
    MEMTOOL_TRY(equal);
    spans = *std::move(equal);
  }
  // A log's first value says what was there: nothing grew to it.
  const std::int64_t first = recording.metadata.origin.kind == RecordingKind::kLog ? 0 : -1;
  for (ChosenTrace& one : steps.traces) {
    const Step whole{std::clamp(first, one.range.first, one.range.last), one.range.last};
    one.steps = spans.empty() ? EqualSteps(whole, parts)
                              : StepsBySpans(GetEvents(recording, *one.trace), one.range, spans);
  }
  if (by_marks) {
    DropOutside(steps.traces, spans);
  }
  for (std::size_t i = 0; i < steps.traces.front().steps.size(); ++i) {
    steps.names.push_back(by_marks ? spans[i].name : fmt::format("part {}", i + 1));
  }
  if (steps.names.size() < 2) {
    return by_marks
               ? Fail(ErrorCode::kUsage,
                      fmt::format(
                          "growth needs two steps, and of the marks {} this recording has {}",
                          steps.mark, steps.names.size()),
                      "record more, compare several inputs, or divide it with --steps N")
               : Fail(ErrorCode::kUsage, "growth needs two steps, and this history has one event",
                      "record more, or compare several inputs");
  }
  return steps;
}

}  // namespace memtool
