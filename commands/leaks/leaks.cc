// memtool leaks: what grows, over several inputs or over the steps of one history.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>
#include <optional>

#include "command.h"
#include "leaks/leaks_report.h"
#include "leaks/leaks_verdict.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/growth/growth.h"
#include "memtool/profile/growth/growth_history.h"
#include "memtool/profile/select/at_moment.h"
#include "memtool/profile/select/view.h"
#include "options/range_options.h"
#include "rows/rows.h"
#include "rows/rows_command.h"

namespace memtool::commands {

namespace {

// When an input was taken, or of a history when the moment shown was; unix ns.
std::int64_t TimeOf(const Selection& loaded) {
  const Recording& recording = loaded.recording();
  std::int64_t time = kNoTime;
  if (recording.history && recording.history->clock == Clock::kUnix) {
    for (const MomentOfTrace& moment : loaded.moments()) {
      const Trace& trace = recording.history->traces[moment.trace];
      if (moment.event >= 0) {
        const auto row = trace.first_event + static_cast<std::uint64_t>(moment.event);
        time = std::max(time, recording.history->events[row].time);
      }
    }
  }
  if (time != kNoTime || recording.metadata.time_nanos == 0) {
    return time;
  }
  return recording.metadata.time_nanos;
}

// From the first to the last point: "90 s", "12.5 min", "3.0 h".
std::string TimeSpanText(const GrowthSeries& series) {
  const double seconds = static_cast<double>(SaturatingSubtract(series.points.back().time,
                                                                series.points.front().time)) /
                         1e9;
  return seconds < 120      ? fmt::format("{:.3g} s", seconds)
         : seconds < 7200   ? fmt::format("{:.1f} min", seconds / 60)
         : seconds < 172800 ? fmt::format("{:.1f} h", seconds / 3600)
                            : fmt::format("{:.1f} days", seconds / 86400);
}

class LeaksCommand final : public RowsCommand {
 public:
  LeaksCommand() : RowsCommand(kByRows) {}

  [[nodiscard]] Doc doc() const override {
    return {.summary = "what keeps growing, over several files or one history",
            .usage = "[options] FILE...",
            .examples =
                "memtool leaks memory*.prof\n"
                "memtool leaks --by line --all memory*.prof\n"
                "memtool leaks snapshot.pickle\n"
                "memtool leaks --steps 20 --from event:5000 snapshot.pickle\n"
                "memtool leaks --step-mark 'Optimizer.step#AdamW.step' snapshot.pickle\n"
                "memtool leaks --format json memory*.prof | jq '.verdict[0]'"};
  }

 private:
  void DeclareMore(po::options_description& options) override {
    po::options_description group("Growth");
    auto add = group.add_options();
    add("all", po::bool_switch(&all_), "also rows that stay the same");
    add("order", po::value(&order_text_)->value_name("ORDER"),
        "of several inputs: time, name (memory2 before memory10) or given; default: time when all "
        "inputs tell theirs, else name");
    add("steps", po::value<std::size_t>()->value_name("N")->notifier([this](std::size_t parts) {
      steps_ = parts;
    }),
        "of one history: N equal parts (default: its step marks, else 10 parts)");
    add("step-mark", po::value(&history_.mark)->value_name("NAME"),
        "of one history: steps are the marks of this name, any number after '#'");
    add("measure", po::value(&measure_text_)->value_name("WHAT"),
        "of one history, live bytes: end (of each step; default for marks), low (the lowest inside "
        "it; default for parts) or kept (never freed)");
    add("axis", po::value(&axis_text_)->value_name("AXIS"),
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
    if (order_text_ == "name") {
      order_ = InputOrder::kName;
    } else if (order_text_ == "time") {
      order_ = InputOrder::kTime;
    } else if (order_text_ == "given") {
      order_ = InputOrder::kGiven;
    } else if (!order_text_.empty()) {
      return Fail(ErrorCode::kUsage, "--order: '" + order_text_ + "' is not a choice",
                  "time, name or given");
    }
    return {};
  }

  Result<void> ResolveSteps() {
    if (!axis_text_.empty() && axis_text_ != "event" && axis_text_ != "time") {
      return Fail(ErrorCode::kUsage, "--axis: '" + axis_text_ + "' is not a choice",
                  "event or time");
    }
    history_.range = range_.range();
    history_.by_time = axis_text_ == "time";
    if (steps_ && (*steps_ < 2 || *steps_ > kMostParts)) {
      return Fail(ErrorCode::kUsage, fmt::format("--steps: from 2 to {}", kMostParts));
    }
    if (!history_.mark.empty() && (steps_ || !axis_text_.empty())) {
      return Fail(ErrorCode::kUsage, "--step-mark: marks are steps by themselves",
                  "leave --steps and --axis out");
    }
    // An axis is of parts, even where there are marks.
    history_.parts = steps_ ? *steps_ : axis_text_.empty() ? 0 : kDefaultParts;
    return {};
  }

  Result<void> ResolveMeasure() {
    if (measure_text_ == "end") {
      history_.measure = StepMeasure::kEnd;
    } else if (measure_text_ == "low") {
      history_.measure = StepMeasure::kLow;
    } else if (measure_text_ == "kept") {
      history_.measure = StepMeasure::kKept;
    } else if (!measure_text_.empty()) {
      return Fail(ErrorCode::kUsage, "--measure: '" + measure_text_ + "' is not a choice",
                  "end, low or kept");
    }
    return {};
  }

  Result<void> ResolveCapacity() {
    if (capacity_text_.empty()) {
      return {};
    }
    auto bytes = ParseSize(capacity_text_, input().size_base());
    if (!bytes) {
      Error error = std::move(bytes.error());
      error.message = "--capacity: " + error.message;
      return Fail(std::move(error));
    }
    context_.capacity = *bytes;
    return {};
  }

  Result<Report> MakeReport(Session& session, const std::vector<std::string>& names) override {
    context_.all = all_;
    context_.cum = view().sort() == SortBy::kCum;
    return names.size() == 1 ? OverHistory(session, names) : OverInputs(session, names);
  }

  // --- several inputs

  Result<Report> OverInputs(Session& session, const std::vector<std::string>& names) {
    const bool of_history = steps_ || !history_.mark.empty() || !measure_text_.empty() ||
                            !axis_text_.empty() || !range_.IsWhole();
    if (of_history) {
      return Fail(ErrorCode::kUsage,
                  "--steps, --step-mark, --measure, --axis, --from and --to are of one history",
                  "give one FILE; several are one point each, at --at");
    }
    By by = view().by();
    if (by.kind == By::Kind::kInput) {
      return Fail(ErrorCode::kUsage, "--by input: every input is one point of the series");
    }
    NodeSpace space;
    GrowthTable table;
    bool saturated = false;
    auto done = ForEachInput(session, names, [&](Selection loaded) {
      Tabulator rows(by, space);
      rows.Add(InputOf(loaded));
      by = rows.by();
      saturated = saturated || rows.saturated();
      table.Add({.name = session.notes().back().path,
                 .time = TimeOf(loaded),
                 .total = rows.total(),
                 .unknown = rows.unknown()},
                rows.Rows(view().sort()));
    });
    MEMTOOL_TRY(done);
    if (table.size() < 2) {
      return Fail(ErrorCode::kIo, "growth needs two inputs; all but one were left out");
    }
    if (order_ == InputOrder::kTime && !table.HasTimes()) {
      return Fail(ErrorCode::kUsage,
                  "--order time: not all inputs tell when they were taken, or "
                  "all tell the same time",
                  "--order name or given");
    }
    const InputOrder order =
        order_.value_or(table.HasTimes() ? InputOrder::kTime : InputOrder::kName);
    const GrowthSeries series = table.Finish(order, view().sort());
    context_.bytes = session.is_bytes();
    context_.frames = by.kind == By::Kind::kFrame;
    Report report = LeaksReport(series, context_);
    session.Describe(report);
    report.totals.emplace_back("order", std::string(OrderWord(order)));
    report.totals.emplace_back("measure", "input");
    report.totals.emplace_back("step_mark", Cell{});
    report.head.push_back(InputsLine(session, series, order));
    AddVerdict(series, report);
    if (saturated) {
      report.foot.emplace_back("some sums left the 64-bit range and stick at its end");
    }
    return report;
  }

  static std::string_view OrderWord(InputOrder order) {
    return order == InputOrder::kTime ? "time" : order == InputOrder::kName ? "name" : "given";
  }

  [[nodiscard]] std::string InputsLine(const Session& session, const GrowthSeries& series,
                                       InputOrder order) const {
    const std::string_view how = order == InputOrder::kTime   ? "in order of time"
                                 : order == InputOrder::kName ? "in order of their names"
                                                              : "as given";
    const MomentSpec& at = view().moment();
    const std::string moment = at.kind == MomentSpec::Kind::kEnd ? "" : ", each at " + at.text;
    return fmt::format("{} inputs {}{}: {} … {} · {} {} → {}", series.points.size(), how, moment,
                       series.points.front().name, series.points.back().name, session.choice().name,
                       AmountText(session, series.whole.first),
                       AmountText(session, series.whole.last)) +
           (order == InputOrder::kTime ? " in " + TimeSpanText(series) : "");
  }

  // --- one history

  Result<void> CheckHistory(const Recording& recording) const {
    if (!recording.history || recording.history->events.empty()) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("a {} is one moment: growth needs several of them, or a history",
                              recording.metadata.format_display),
                  "memtool leaks memory*.prof; PyTorch snapshots need "
                  "torch.cuda.memory._record_memory_history()");
    }
    if (!order_text_.empty()) {
      return Fail(ErrorCode::kUsage, "--order is of several inputs");
    }
    if (view().moment().kind != MomentSpec::Kind::kEnd) {
      return Fail(ErrorCode::kUsage, "--at: growth is over a whole history",
                  "--from and --to choose a part of it");
    }
    if (view().sort() == SortBy::kCum) {
      return Fail(ErrorCode::kUsage, "--cum: the steps of a history are of flat values only");
    }
    const std::string& type = view().sample_index();
    if (!type.empty() && type != "space") {
      return Fail(ErrorCode::kUsage, "--sample-index: the steps of a history are in bytes");
    }
    const FilterOptions& filter = view().filter()->options();
    if (!filter.tag_focus.empty() || !filter.tag_ignore.empty() || !filter.tag_root.empty() ||
        !filter.tag_leaf.empty()) {
      return Fail(ErrorCode::kUsage, "label filters are of one moment, not of a history's steps",
                  "--device chooses a device, --by label:KEY splits by a label");
    }
    return {};
  }

  Result<Report> OverHistory(Session& session, const std::vector<std::string>& names) {
    std::optional<Report> report;
    auto done =
        session.ForEachRecording(names, [&](const std::string&, const auto& read) -> Result<void> {
          const Recording& recording = *read;
          if (auto checked = CheckHistory(recording); !checked) {
            return checked;
          }
          if (auto keywords = view().ChooseKeywords(recording); !keywords) {
            return keywords;
          }
          const HistoryIndex index(read);
          const View seen(recording, *view().filter());
          auto unmatched = seen.Unmatched();
          std::erase(unmatched, "device");  // events have no such label; no device is an error
          session.NoteUnmatched(unmatched);
          history_.device = view().device();
          NodeSpace space;
          auto growth = GrowthOfHistory(index, seen, view().by(), history_, space);
          MEMTOOL_TRY(growth);
          report = DescribeHistory(session, *growth);
          return {};
        });
    MEMTOOL_TRY(done);
    return *std::move(report);
  }

  Report DescribeHistory(const Session& session, const HistoryGrowth& growth) {
    const GrowthSeries& series = growth.series;
    context_.history = true;
    context_.frames = view().by().kind == By::Kind::kFrame;
    Report report = LeaksReport(series, context_);
    session.Describe(report);
    report.sample_type = "space";
    report.unit = "bytes";
    report.inputs[0].moment = range_.Text();
    const std::string_view measure = growth.measure == StepMeasure::kEnd   ? "end"
                                     : growth.measure == StepMeasure::kLow ? "low"
                                                                           : "kept";
    report.totals.emplace_back("order", "event");
    report.totals.emplace_back("measure", std::string(measure));
    report.totals.emplace_back("step_mark", growth.mark.empty() ? Cell{} : Cell(growth.mark));
    report.head = {InputsText(session), HistoryLine(growth)};
    AddVerdict(series, report);
    if (growth.mark.empty()) {
      report.foot.emplace_back(
          "parts are shares of the recording, not the program's iterations: growth inside one "
          "iteration looks the same (--steps, --from, --to, --step-mark)");
    }
    return report;
  }

  [[nodiscard]] std::string HistoryLine(const HistoryGrowth& growth) const {
    const GrowthSeries& series = growth.series;
    const std::string steps =
        growth.mark.empty()
            ? fmt::format("{} equal parts by {}", series.points.size(),
                          history_.by_time ? "time" : "events")
            : fmt::format("{} {} by the marks {}{}", series.points.size(),
                          growth.merged > 1 ? fmt::format("groups of {} steps", growth.merged)
                                            : std::string("steps"),
                          growth.mark, growth.unfinished ? " (the last has no end: left out)" : "");
    const std::string_view measure =
        growth.measure == StepMeasure::kEnd   ? "live bytes at the end of each"
        : growth.measure == StepMeasure::kLow ? "the lowest live bytes inside each"
                                              : "bytes allocated up to each and never freed";
    return fmt::format("{}{} · {} {} → {}", steps,
                       growth.devices > 1 ? fmt::format(" · {} devices", growth.devices) : "",
                       measure, FormatSize(series.whole.first), FormatSize(series.whole.last));
  }

  void AddVerdict(const GrowthSeries& series, Report& report) const {
    const std::vector<std::string> verdict = LeaksVerdict(series, context_);
    report.head.insert(report.head.begin(), verdict.begin(), verdict.end());
    if (const std::string filters = view().Describe(); !filters.empty()) {
      report.head.push_back("filters: " + filters);
    }
  }

  bool all_ = false;
  std::string order_text_;
  std::string measure_text_;
  std::string axis_text_;
  RangeOptions range_;
  std::string capacity_text_;
  std::optional<std::size_t> steps_;
  std::optional<InputOrder> order_;
  StepOptions history_;
  LeaksContext context_;
};

}  // namespace

std::unique_ptr<Command> MakeLeaks() {
  return std::make_unique<LeaksCommand>();
}

}  // namespace memtool::commands
