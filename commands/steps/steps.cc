// memtool steps: the steps of a run, and the layers inside them.
#include "memtool/profile/answers/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/program_options/value_semantic.hpp>
#include <iterator>

#include "base/command.h"
#include "memtool/profile/base/paths.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/model/answerable.h"
#include "options/input_options.h"
#include "options/output_options.h"
#include "output/sentences.h"
#include "output/tabulate.h"
#include "rows/alike.h"
#include "rows/rows.h"
#include "session/input_reader.h"
#include "steps/loop_words.h"
#include "words/choice.h"
#include "words/known_words.h"
#include "words/refusals.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kMaxRunsShown = 12;
constexpr std::size_t kMaxLoopsShown = 12;

constexpr std::array<Choice<StepSource>, 3> kSources{
    {{"mark", StepSource::kMark}, {"phase", StepSource::kPhase}, {"loop", StepSource::kLoop}}};

class StepsCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE...]",
            .examples =
                "memtool steps snapshot.pickle\n"
                "memtool steps --found-by phase snapshot.pickle\n"
                "memtool steps --format json rank*.pickle",
            .often = "step-mark device"};
  }

  void Declare(po::options_description& options) override {
    input_.Declare(options);
    po::options_description group("Steps");
    auto add = group.add_options();
    add("step-mark", po::value(&query_.search.mark)->value_name("NAME"),
        "steps are the marks with this name, any number after '#'");
    add("found-by", ToValue(&source_text_, ToWords(kSources))->value_name("WHAT"),
        "only by mark, phase or loop (default: the first of these that shows any)");
    add("device", po::value(&query_.device)->value_name("DEVICE"),
        "only this device: its number, or its whole name");
    options.add(group);
    output_.Declare(options);
  }

  Result<ExitCode> Run(Streams& streams) override {
    for (auto resolved : {input_.Resolve(), output_.Resolve(input_.rows()), ResolveQuery()}) {
      MEMTOOL_TRY(resolved);
    }
    auto names = input_.Names(streams);
    MEMTOOL_TRY(names);
    InputReader input_reader(input_, streams);
    StepsMaker maker(query_);
    MEMTOOL_TRY(input_reader.ForEachRecording(
        *names, [&](const std::string& name, const auto& recording) -> Result<void> {
          if (!CanAnswer(*recording, "steps")) {
            return Refuse(ErrorCode::kUnsupported, *recording, "is one moment and has no steps");
          }
          return maker.Add(*input_reader.IndexOf(recording), name);
        }));
    StepsAnswer answer = std::move(maker).Make();
    AnswerHead head = input_reader.Head("steps");
    head.sample_type = answer.head.sample_type;
    head.unit = answer.head.unit;
    for (InputNote& note : head.inputs) {
      note.moment = "whole";
    }
    answer.head = std::move(head);
    input_reader.Finish();
    MEMTOOL_TRY(output_.Print(
        WithSentences(MakeView(answer), Said(input_reader, answer)),
        [&] { return Table(input_reader, answer); }, streams));
    return input_reader.exit_code();
  }

 private:
  Result<void> ResolveQuery() {
    if (source_text_.empty()) {
      return {};
    }
    auto source = Choose("--found-by", source_text_, kSources);
    MEMTOOL_TRY(source);
    query_.search.only = *source;
    if (!query_.search.mark.empty() && *source != StepSource::kMark) {
      return Fail(ErrorCode::kUsage, "--step-mark is for --found-by mark");
    }
    return {};
  }

  [[nodiscard]] TextTable Table(const InputReader& input_reader, const StepsAnswer& answer) const {
    TextTable table;
    // Peaks of different moments have no sum.
    constexpr std::size_t kNoMeasure = 0;
    const auto columns = Columns(answer);
    Tabulate(answer.rows, columns.all(), 0, kNoMeasure, table);
    if (output_.limit() != 0) {
      JoinAlike({.own = {columns.IndexOf("step"), columns.IndexOf("peak_event"),
                         columns.IndexOf("begin"), columns.IndexOf("end"), columns.IndexOf("mark")},
                 .adjacent = true,
                 .limit = output_.limit(),
                 .say = &AlikeSteps},
                table);
    }
    PutSentences(Said(input_reader, answer), table);
    table.head.push_back(InputsText(input_reader, true));
    for (const SteppedTrace& trace : answer.traces) {
      const std::string of = Of(answer, trace);
      AddLoops(answer, trace, of, table.foot);
      AddKeepers(trace, of, table.foot);
    }
    return table;
  }

  // Without loops and what is kept, which data has as rows.
  static Sentences Said(const InputReader& input_reader, const StepsAnswer& answer) {
    Sentences said;
    for (const SteppedTrace& trace : answer.traces) {
      said.verdict.push_back(Of(answer, trace) + Verdict(trace));
      AddNotes(answer, trace, said.notes);
    }
    const auto& lines = input_reader.moment_lines();
    said.verdict.insert(said.verdict.end(), lines.begin(), lines.end());
    if (said.verdict.empty()) {
      said.verdict.emplace_back("no steps: nothing is allocated in this history");
    }
    return said;
  }

  // "3 to 28".
  static std::string AlikeSteps(const AlikeRows& rows) {
    return fmt::format("{} to {}", std::get<std::string>(rows.first.front()),
                       std::get<std::string>(rows.last.front()));
  }

  // "device 1: ", where there is more than one device or input.
  static std::string Of(const StepsAnswer& answer, const SteppedTrace& trace) {
    std::string text;
    if (answer.head.inputs.size() > 1) {
      text += answer.head.inputs[trace.input].path + " ";
    }
    if (answer.traces.size() > answer.head.inputs.size()) {
      text += trace.trace;
    }
    while (!text.empty() && text.back() == ' ') {
      text.pop_back();
    }
    return text.empty() ? text : text + ": ";
  }

  static std::string Verdict(const SteppedTrace& trace) {
    std::string text = StepsText(trace.steps, trace.source, trace.mark);
    const std::string layers = LayersText(trace.loops);
    return layers.empty() ? text : text + " · " + layers;
  }

  static void AddNotes(const StepsAnswer& answer, const SteppedTrace& trace,
                       std::vector<std::string>& notes) {
    const std::string of = Of(answer, trace);
    const bool phases = trace.runs.size() > 1 || trace.runs[0].phase != StepPhase::kOther;
    if (phases && trace.runs.size() <= kMaxRunsShown) {
      std::string text;
      for (const PhaseRun& run : trace.runs) {
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", ToName(run.phase),
                            FormatCount(static_cast<std::int64_t>(run.count)));
      }
      notes.push_back(fmt::format("{}allocations by phase: {}", of, text));
    }
    const bool cut = std::any_of(
        answer.rows.begin() + static_cast<std::ptrdiff_t>(trace.first_row),
        answer.rows.begin() + static_cast<std::ptrdiff_t>(trace.first_row + trace.steps),
        [](const StepsRow& row) { return !row.complete; });
    if (cut) {
      notes.push_back(of + "* cut off: the history begins or ends within this step");
    }
  }

  // "  forward  model.py:68  12 calls × 1.44 GiB"
  static void AddKeepers(const SteppedTrace& trace, const std::string& of,
                         std::vector<std::string>& foot) {
    if (trace.keepers.empty()) {
      return;
    }
    foot.push_back(of +
                   "kept for the backward, by whose calls (memtool advise: what checkpoints "
                   "of them would save):");
    std::size_t width = 0;
    std::vector<std::string> names;
    for (const ForwardKeeper& keeper : trace.keepers) {
      names.push_back(
          fmt::format("  {}  {}:{}", keeper.function, BaseName(keeper.file), keeper.line));
      width = std::max(width, names.back().size());
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      const ForwardKeeper& keeper = trace.keepers[i];
      const auto calls = static_cast<std::int64_t>(keeper.calls);
      foot.push_back(fmt::format("{:<{}}  {} × {}", names[i], width, Counted(calls, "call"),
                                 FormatSize(keeper.bytes / std::max<std::int64_t>(calls, 1))));
    }
  }

  // Those that tell something: layers, parameters, passes.
  void AddLoops(const StepsAnswer& answer, const SteppedTrace& trace, const std::string& of,
                std::vector<std::string>& foot) const {
    std::vector<ProgramLoop> loops;
    std::copy_if(trace.loops.begin(), trace.loops.end(), std::back_inserter(loops),
                 [](const ProgramLoop& found) { return found.kind != LoopKind::kOther; });
    if (loops.empty()) {
      foot.push_back(of + (trace.steps == 0 ? "no loops: nothing repeats three times"
                                            : "nothing repeats three times inside a step"));
      return;
    }
    foot.push_back(fmt::format("{}loops ({} allocations, {} with one repetition of each):", of,
                               FormatCount(static_cast<std::int64_t>(trace.allocations)),
                               FormatCount(static_cast<std::int64_t>(trace.folded))));
    std::vector<std::string> names;
    for (std::size_t i = 0; i < trace.steps; ++i) {
      names.push_back(std::to_string(answer.rows[trace.first_row + i].step));
    }
    std::vector<std::string> lines = LoopLines(loops, names);
    const std::size_t shown =
        output_.limit() == 0 ? lines.size() : std::min(kMaxLoopsShown, lines.size());
    for (std::size_t i = 0; i < shown; ++i) {
      foot.push_back(std::move(lines[i]));
    }
    if (shown < lines.size()) {
      foot.push_back(
          fmt::format("  … {} (-n 0 shows all)", Counted(lines.size() - shown, "more line")));
    }
  }

  [[nodiscard]] TableColumns<StepsRow> Columns(const StepsAnswer& answer) const {
    TableColumns<StepsRow> columns(kStepsFields, true);
    columns["step"].get = [](const StepsRow& row) -> Cell {
      return std::to_string(row.step) + (row.complete ? "" : "*");
    };
    columns["device"].style.off =
        std::all_of(answer.rows.begin(), answer.rows.end(),
                    [&](const StepsRow& row) { return row.device == answer.rows.front().device; });
    columns["mark"].style.off = true;
    columns["input"].style.off = answer.head.inputs.size() < 2;
    return columns;
  }

  InputOptions input_;
  OutputOptions output_;
  StepsQuery query_;
  std::string source_text_;
};

}  // namespace

std::unique_ptr<Command> MakeSteps() {
  return std::make_unique<StepsCommand>();
}

}  // namespace memtool::commands
