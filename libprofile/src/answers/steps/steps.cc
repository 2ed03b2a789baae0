#include "memtool/profile/answers/steps.h"

#include <fmt/format.h>

#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/steps/step_marks.h"

namespace memtool {

namespace {

void AddRows(const ProgramSteps& found, const std::string& input, std::int32_t device,
             std::vector<StepsRow>& rows) {
  for (std::size_t i = 0; i < found.steps.size(); ++i) {
    const ProgramStep& step = found.steps[i];
    rows.push_back({.step = found.NumberOf(i),
                    .begin = step.begin,
                    .end = step.end,
                    .from = found.source,
                    .peak = step.peak,
                    .peak_event = step.peak_event,
                    .end_live = step.end_live,
                    .allocated = step.allocated,
                    .allocations = step.count,
                    .complete = step.complete,
                    .device = device,
                    .name = step.name,
                    .input = input});
  }
}

// Loops of every step, once for each shape: what they repeat is left out.
std::size_t ComputeFoldedLength(const TraceAllocations& allocations,
                                const std::vector<ProgramLoop>& loops) {
  std::size_t length = allocations.size();
  std::size_t end = 0;
  for (const ProgramLoop& found : loops) {
    if (found.loop.begin >= end) {  // not inside another
      length -= (found.loop.length - found.loop.period) * found.steps;
      end = found.loop.end();
    }
  }
  return length;
}

Value RunsValue(const std::vector<PhaseRun>& runs) {
  Value::List list;
  for (const PhaseRun& run : runs) {
    list.emplace_back(Value::Object{{"phase", ToName(run.phase)}, {"allocations", run.count}});
  }
  return list;
}

Value LoopsValue(const StepsAnswer& answer) {
  Value::List list;
  for (const SteppedTrace& trace : answer.traces) {
    for (const ProgramLoop& found : trace.loops) {
      const Value step =
          trace.steps == 0 ? Value() : Value(answer.rows[trace.first_row + found.step].step);
      list.emplace_back(Value::Object{{"begin", found.begin},
                                      {"period", found.loop.period},
                                      {"repetitions", found.loop.repetitions()},
                                      {"bytes", found.kept},
                                      {"allocated", found.allocated},
                                      {"phase", ToName(found.phase)},
                                      {"kind", ToName(found.kind)},
                                      {"step", step},
                                      {"steps", found.steps},
                                      {"device", trace.device},
                                      {"input", answer.head.inputs[trace.input].path}});
    }
  }
  return list;
}

Value KeepersValue(const StepsAnswer& answer) {
  Value::List list;
  for (const SteppedTrace& trace : answer.traces) {
    for (const ForwardKeeper& keeper : trace.keepers) {
      list.emplace_back(Value::Object{{"function", keeper.function},
                                      {"file", keeper.file},
                                      {"line", keeper.line},
                                      {"calls", keeper.calls},
                                      {"bytes", keeper.bytes},
                                      {"device", trace.device},
                                      {"input", answer.head.inputs[trace.input].path}});
    }
  }
  return list;
}

Value TracesValue(const StepsAnswer& answer) {
  Value::List list;
  for (const SteppedTrace& trace : answer.traces) {
    list.emplace_back(Value::Object{{"device", trace.device},
                                    {"input", answer.head.inputs[trace.input].path},
                                    {"from", ToName(trace.source)},
                                    {"mark", trace.mark.empty() ? Value() : Value(trace.mark)},
                                    {"steps", trace.steps},
                                    {"allocations", trace.allocations},
                                    {"folded", trace.folded},
                                    {"phases", RunsValue(trace.runs)}});
  }
  return list;
}

}  // namespace

Result<void> StepsMaker::Add(const HistoryIndex& index, const std::string& name) {
  const Recording& recording = index.recording();
  constexpr std::size_t kMostKeepers = 4;
  const auto traces = GetTraces(recording, query_.device);
  MEMTOOL_TRY(traces);
  const std::string& mark = query_.search.mark;
  if (!mark.empty() && SpansOfMarks(index.history(), mark).list.empty()) {
    return Fail(ErrorCode::kUsage, fmt::format("--step-mark: no mark is called '{}'", mark),
                "memtool timeline --format json lists the marks of a file");
  }
  answer_.head.Add(recording, name, "whole", &index);
  answer_.head.sample_type = "space";
  answer_.head.unit = "bytes";
  StackKeys keys;
  const StackFacts facts = FactsOfStacks(recording, keys);
  for (const std::size_t i : *traces) {
    const Trace& trace = index.history().traces[i];
    const TraceAllocations allocations = CollectAllocations(index, trace, facts);
    if (allocations.size() == 0) {
      continue;
    }
    const ProgramSteps found = FindSteps(index, trace, allocations, query_.search);
    SteppedTrace stepped{.input = inputs_,
                         .device = trace.device,
                         .trace = TraceText(trace),
                         .source = found.source,
                         .mark = found.mark,
                         .runs = MakeRuns(allocations.phases),
                         .allocations = allocations.size(),
                         .steps = found.steps.size(),
                         .first_row = answer_.rows.size(),
                         .loops = FindProgramLoops(index, trace, allocations, found),
                         .keepers = FindForwardKeepers(index, trace, kMostKeepers)};
    stepped.folded = ComputeFoldedLength(allocations, stepped.loops);
    AddRows(found, name, trace.device, answer_.rows);
    answer_.traces.push_back(std::move(stepped));
  }
  ++inputs_;
  return {};
}

AnswerView MakeView(const StepsAnswer& answer) {
  return ViewRows(answer.head,
                  {{"loops", LoopsValue(answer)},
                   {"keepers", KeepersValue(answer)},
                   {"traces", TracesValue(answer)}},
                  answer.rows, kStepsFields);
}

}  // namespace memtool
