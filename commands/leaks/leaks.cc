// memtool leaks: what grows, over several inputs or over the steps of one history.
#include "memtool/profile/answers/leaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/program_options/value_semantic.hpp>
#include <optional>

#include "base/command.h"
#include "leaks/leaks_table.h"
#include "leaks/leaks_verdict.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/answerable.h"
#include "memtool/profile/model/extent.h"
#include "memtool/profile/select/view.h"
#include "options/range_options.h"
#include "options/size_option.h"
#include "output/tabulate.h"
#include "rows/alike.h"
#include "rows/rows.h"
#include "rows/rows_command.h"
#include "words/choice.h"
#include "words/known_words.h"
#include "words/refusals.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

constexpr std::array<Choice<InputOrder>, 3> kOrders{
    {{"time", InputOrder::kTime}, {"name", InputOrder::kName}, {"given", InputOrder::kGiven}}};
constexpr std::array<Choice<StepMeasure>, 3> kMeasures{
    {{"end", StepMeasure::kEnd}, {"low", StepMeasure::kLow}, {"kept", StepMeasure::kRetained}}};

class LeaksCommand final : public RowsCommand {
 public:
  LeaksCommand() : RowsCommand(kByRows) { view().SetEndAsDefault(); }

  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] FILE...",
            .examples =
                "memtool leaks memory*.prof\n"
                "memtool leaks --by line --all memory*.prof\n"
                "memtool leaks snapshot.pickle\n"
                "memtool leaks --steps 20 --from event:5000 snapshot.pickle\n"
                "memtool leaks --step-mark 'Optimizer.step#AdamW.step' snapshot.pickle\n"
                "memtool leaks --format json memory*.prof | jq '.verdict[0]'",
            .often = "all order measure capacity"};
  }

 private:
  void DeclareMore(po::options_description& options) override {
    po::options_description group("Growth");
    auto add = group.add_options();
    add("all", po::bool_switch(&query_.all), "also rows that stay the same");
    add("order", ToValue(&order_text_, ToWords(kOrders))->value_name("ORDER"),
        "of several inputs: time, name (memory2 before memory10) or given; default: time when all "
        "inputs give theirs, else name");
    add("steps", po::value<std::size_t>()->value_name("N")->notifier([this](std::size_t parts) {
      steps_ = parts;
    }),
        "of one history: N equal parts (default: its step marks, else 10 parts)");
    add("step-mark", po::value(&query_.steps.mark)->value_name("NAME"),
        "of one history: steps are the marks with this name, any number after '#'");
    add("measure", ToValue(&measure_text_, ToWords(kMeasures))->value_name("WHAT"),
        "of one history, live bytes: end (of each step; default for marks), low (the lowest inside "
        "it; default for parts) or kept (never freed)");
    add("axis", ToValue(&axis_text_, AxisWords())->value_name("AXIS"),
        "parts of equal event counts (event, default) or of equal time");
    range_.Declare(add, "of one history: ");
    add("capacity", po::value(&capacity_text_)->value_name("SIZE"),
        "say in how many steps live bytes reach it");
    options.add(group);
  }

  Result<void> ResolveMore() override {
    for (auto resolved :
         {ResolveOrder(), range_.Resolve(), ResolveSteps(), ResolveMeasure(), ResolveCapacity()}) {
      if (!resolved) {
        return resolved;
      }
    }
    return {};
  }

  Result<void> ResolveOrder() {
    if (!order_text_.empty()) {
      auto order = Choose("--order", order_text_, kOrders);
      MEMTOOL_TRY(order);
      query_.order = *order;
    }
    return {};
  }

  Result<void> ResolveSteps() {
    auto by_time = ChooseAxis(axis_text_.empty() ? "event" : axis_text_);
    MEMTOOL_TRY(by_time);
    query_.steps.range = range_.range();
    query_.steps.by_time = *by_time;
    if (steps_ && (*steps_ < 2 || *steps_ > kMaxParts)) {
      return Fail(ErrorCode::kUsage, fmt::format("--steps: from 2 to {}", kMaxParts));
    }
    if (!query_.steps.mark.empty() && (steps_ || !axis_text_.empty())) {
      return Fail(ErrorCode::kUsage, "--step-mark: marks are steps by themselves",
                  "leave --steps and --axis out");
    }
    // An axis applies to parts, even where there are marks.
    query_.steps.parts = steps_ ? *steps_ : axis_text_.empty() ? 0 : kDefaultParts;
    return {};
  }

  Result<void> ResolveMeasure() {
    if (!measure_text_.empty()) {
      auto measure = Choose("--measure", measure_text_, kMeasures);
      MEMTOOL_TRY(measure);
      query_.steps.measure = *measure;
    }
    return {};
  }

  Result<void> ResolveCapacity() {
    if (capacity_text_.empty()) {
      return {};
    }
    auto bytes = ParseDeviceSize("--capacity", capacity_text_, input().size_base());
    MEMTOOL_TRY(bytes);
    query_.capacity = *bytes;
    return {};
  }

  Result<void> Answer(InputReader& input_reader, const std::vector<std::string>& names) override {
    query_.by = view().by();
    query_.sort = view().sort();
    return names.size() == 1 ? OverHistory(input_reader, names) : OverInputs(input_reader, names);
  }

  Result<void> Print(const InputReader& input_reader, Streams& streams) override {
    // Codes in the library, sentences here.
    std::vector<NamedValue> figures = MakeFigures(answer_);
    std::erase_if(figures, [](const NamedValue& figure) {
      return figure.first == "findings" || figure.first == "reach";
    });
    const std::vector<std::string> verdict = LeaksVerdict(answer_);
    for (NamedValue& figure : figures) {
      if (figure.first == "verdict") {
        figure.second = Value::List(verdict.begin(), verdict.end());
      }
    }
    return output().Print(
        ViewRows(answer_.head, std::move(figures), answer_.rows, kLeaksFields),
        [&] { return Table(input_reader, verdict); }, streams);
  }

  [[nodiscard]] TextTable Table(const InputReader& input_reader,
                                const std::vector<std::string>& verdict) const {
    constexpr std::size_t kLast = 2;
    TextTable table;
    Tabulate(answer_.rows, LeaksColumns(answer_).all(), 0, kLast, table);
    // PER STEP, FIRST, LAST.
    const std::size_t passing = output().limit() == 0 || query_.all
                                    ? 0
                                    : DropZeros(std::array<std::size_t, 3>{0, 1, kLast}, table);
    table.head = verdict;
    table.verdict_ink = VerdictInk();
    if (answer_.history) {
      table.head.push_back(InputsText(input_reader));
      table.head.push_back(HistoryLine(*answer_.history));
    } else {
      table.head.push_back(InputsLine(input_reader));
    }
    for (const Diagnostic& diagnostic : answer_.head.diagnostics) {
      if (diagnostic.code == "not_memory") {
        table.head.push_back(diagnostic.message);
      }
    }
    if (const std::string filters = view().Describe(); !filters.empty()) {
      table.head.push_back("filters: " + filters);
    }
    table.foot = LeaksNotes(answer_);
    if (passing > 0) {
      table.foot.push_back(fmt::format("{} with 0 B at first and at last (-n 0 shows all)",
                                       Counted(passing, "row")));
    }
    if (answer_.in_parts()) {
      table.foot.emplace_back(
          "parts are shares of the recording, not the program's iterations: growth inside one "
          "iteration looks the same (--steps, --from, --to, --step-mark)");
    }
    return table;
  }

  // Grown, not grown, or not to be said; the first finding decides, what is constant comes last.
  [[nodiscard]] Ink VerdictInk() const {
    const auto& findings = answer_.findings;
    switch (findings.empty() ? FindingCode::kConstant : findings.front().code) {
      case FindingCode::kGrowing:
        return Ink::kGrew;
      case FindingCode::kTooShort:
      case FindingCode::kOneStep:
      case FindingCode::kMaybe:
      case FindingCode::kOneIteration:
        return Ink::kNone;
      default:
        return Ink::kShrank;
    }
  }

  // --- several inputs

  Result<void> OverInputs(InputReader& input_reader, const std::vector<std::string>& names) {
    const bool of_history = steps_ || !query_.steps.mark.empty() || !measure_text_.empty() ||
                            !axis_text_.empty() || !range_.IsWhole();
    if (of_history) {
      return Fail(ErrorCode::kUsage,
                  "--steps, --step-mark, --measure, --axis, --from and --to are for one history",
                  "give one FILE; several are one point each, at --at");
    }
    if (query_.by.kind == By::Kind::kInput) {
      return Fail(ErrorCode::kUsage, "--by input: every input is one point of the series");
    }
    LeaksMaker maker(query_);
    input_reader.KeepApart();
    MEMTOOL_TRY(ForEachInput(input_reader, names,
                             [&](const Selection& selection) { maker.Add(selection); }));
    if (maker.size() < 2) {
      return Fail(ErrorCode::kIo, "growth needs two inputs; all but one were left out");
    }
    auto answer = std::move(maker).Make();
    if (!answer) {
      return Fail(answer.error().code, "--order time: " + answer.error().message,
                  "--order name or given");
    }
    answer_ = *std::move(answer);
    answer_.head = input_reader.Head("leaks");
    return {};
  }

  [[nodiscard]] std::string InputsLine(const InputReader& input_reader) const {
    const InputOrder order = answer_.order;
    const std::vector<GrowthPoint>& points = answer_.points;
    const std::string_view how = order == InputOrder::kTime   ? "in order of time"
                                 : order == InputOrder::kName ? "in order of their names"
                                                              : "as given";
    const MomentSpec& at = view().moment();
    const std::string moment = at.kind == MomentSpec::Kind::kEnd ? "" : ", each at " + at.text;
    return fmt::format("{} inputs {}{}: {} … {} · {} {} → {}", points.size(), how, moment,
                       points.front().name, points.back().name, input_reader.type_word(),
                       AmountText(input_reader, answer_.whole.first),
                       AmountText(input_reader, answer_.whole.last)) +
           (order == InputOrder::kTime
                ? " in " + TimeSpanText(SaturatingSubtract(points.back().time, points.front().time))
                : "");
  }

  // --- one history

  Result<void> CheckHistory(const Recording& recording) const {
    if (const auto lacking = NoteLacking(recording);
        lacking && ExtentOf(recording) != Extent::kWhole) {
      return Fail(ErrorCode::kUsage, lacking->message, "memtool leaks FILE FILE compares several");
    }
    if (!CanAnswer(recording, "leaks")) {
      return Refuse(ErrorCode::kUsage, recording,
                    "is one moment: growth needs several of them, or a history",
                    "memtool leaks memory*.prof; PyTorch snapshots need " + RecordCall(recording));
    }
    if (!order_text_.empty()) {
      return Fail(ErrorCode::kUsage, "--order is for several inputs");
    }
    if (view().moment().kind != MomentSpec::Kind::kEnd) {
      return Fail(ErrorCode::kUsage, "--at: growth is over a whole history",
                  "--from and --to choose a part of it");
    }
    if (view().sort() == SortBy::kCum) {
      return Fail(ErrorCode::kUsage, "--cum: the steps of a history have flat values only");
    }
    const std::string& type = view().sample_index();
    if (!type.empty() && type != "space") {
      return Fail(ErrorCode::kUsage, "--sample-index: the steps of a history are in bytes");
    }
    const FilterOptions& filter = view().filter()->options();
    if (!filter.tag_focus.empty() || !filter.tag_ignore.empty() || !filter.tag_root.empty() ||
        !filter.tag_leaf.empty()) {
      return Fail(ErrorCode::kUsage, "label filters are for one moment, not for a history's steps",
                  "--device chooses a device, --by label:KEY splits by a label");
    }
    return {};
  }

  Result<void> OverHistory(InputReader& input_reader, const std::vector<std::string>& names) {
    return input_reader.ForEachRecording(
        names, [&](const std::string& name, const auto& read) -> Result<void> {
          const Recording& recording = *read;
          MEMTOOL_TRY(CheckHistory(recording));
          MEMTOOL_TRY(view().ChooseKeywords(recording));
          const auto index_owner = input_reader.IndexOf(read);
          const HistoryIndex& index = *index_owner;
          const View seen(recording, *view().filter());
          // Events have no device label; a device that does not exist
          // is an error.
          input_reader.NoteUnmatched(seen, "device");
          query_.steps.device = view().device();
          auto answer = LeaksOfHistory(index, seen, name, query_);
          MEMTOOL_TRY(answer);
          answer_ = *std::move(answer);
          return {};
        });
  }

  [[nodiscard]] std::string HistoryLine(const SteppedHistory& history) const {
    const std::size_t points = answer_.points.size();
    const std::string by = history.source == StepsBy::kMarks    ? "the marks " + history.mark
                           : history.source == StepsBy::kPhases ? "phases"
                                                                : "loops";
    const std::string steps =
        answer_.in_parts()
            ? fmt::format("{} equal parts by {}", points, history.by_time ? "time" : "events")
            : fmt::format("{} {} by {}{}", points,
                          history.merged > 1 ? fmt::format("groups of {} steps", history.merged)
                                             : std::string("steps"),
                          by, history.unfinished ? " (the last has no end: left out)" : "");
    const std::string_view measure =
        history.measure == StepMeasure::kEnd   ? "live bytes at the end of each"
        : history.measure == StepMeasure::kLow ? "the lowest live bytes inside each"
                                               : "bytes allocated up to each and never freed";
    return fmt::format("{}{} · {} {} → {}", steps,
                       history.devices > 1 ? fmt::format(" · {} devices", history.devices) : "",
                       measure, FormatSize(answer_.whole.first), FormatSize(answer_.whole.last));
  }

  std::string order_text_;
  std::string measure_text_;
  std::string axis_text_;
  RangeOptions range_;
  std::string capacity_text_;
  std::optional<std::size_t> steps_;
  LeaksQuery query_;
  LeaksAnswer answer_;
};

}  // namespace

std::unique_ptr<Command> MakeLeaks() {
  return std::make_unique<LeaksCommand>();
}

}  // namespace memtool::commands
