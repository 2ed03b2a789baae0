// memtool timeline: live and reserved bytes over a history.
#include "memtool/profile/answers/timeline.h"

#include <fmt/format.h>

#include <boost/program_options/value_semantic.hpp>
#include <deque>

#include "base/command.h"
#include "events/events_words.h"
#include "memtool/profile/base/paths.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/answerable.h"
#include "options/frames_option.h"
#include "options/input_options.h"
#include "options/keywords_option.h"
#include "options/output_options.h"
#include "options/plot_options.h"
#include "options/range_options.h"
#include "output/escape.h"
#include "output/grid.h"
#include "output/plot/text_plot.h"
#include "output/tabulate.h"
#include "rows/rows.h"
#include "session/input_reader.h"
#include "steps/loop_words.h"
#include "timeline/timeline_chart.h"
#include "words/known_words.h"
#include "words/refusals.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kPlotPoints = 1000;  // as fine as a printed page shows
constexpr std::size_t kNoTerminal = 100;   // columns of a plot that goes to a file
constexpr std::size_t kMaxLayerCount = 24;

class TimelineCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE]",
            .examples =
                "memtool timeline snapshot.pickle\n"
                "memtool timeline --by function --top 5 snapshot.pickle\n"
                "memtool timeline --by line --plot memory.svg snapshot.pickle\n"
                "memtool timeline --from event:1000 --to peak --axis time snapshot.pickle\n"
                "memtool timeline --format csv --points 500 snapshot.pickle > series.csv",
            .often = "by top axis plot"};
  }

  void Declare(po::options_description& options) override {
    input_.TakeConf();
    input_.Declare(options, false);
    po::options_description group("Series");
    auto add = group.add_options();
    add("by", ToValue(&by_text_, ByWords(Rows::kAllocations))->value_name("WHAT"),
        "layers: function, filefunction, line, file, module, stack, label:KEY, bucket or "
        "bucket:AXIS");
    keywords_.Declare(add);
    add("top", po::value(&query_.top)->value_name("K"),
        "layers with a name, those that hold most at any one time (default 8)");
    add("frames", ToValue(&frames_text_, FrameWords())->value_name("MODE"),
        "app (default): hide framework and runtime frames; python: Python frames; all");
    frames_.Declare(add);
    range_.Declare(add);
    add("device", po::value(&query_.device)->value_name("DEVICE"),
        "only this device: its number, or its whole name");
    add("axis", ToValue(&axis_text_, AxisWords())->value_name("AXIS"), "event (default) or time");
    add("points", po::value(&query_.points)->value_name("N"),
        "the highest point of each of N equal parts; 0 = every change (default in data formats)");
    add("same-scale", po::bool_switch(&same_scale_),
        "one scale for all devices; else each is drawn to its own");
    plot_.Declare(add, "also draw it into FILE; .svg, .png or .pdf chooses the form");
    options.add(group);
    output_.Declare(options);
  }

  Result<ExitCode> Run(Streams& streams) override {
    for (auto resolved : {input_.Resolve(), range_.Resolve(), output_.Resolve(std::nullopt),
                          ResolveQuery(), plot_.Resolve()}) {
      MEMTOOL_TRY(resolved);
    }
    if (auto code = frames_.PrintInstead(streams)) {
      return *std::move(code);
    }
    return OnOneRecording(input_, streams, "a timeline takes one FILE",
                          [&](const InputReader& input_reader, const auto& recording) {
                            return Show(input_reader, recording, streams);
                          });
  }

 private:
  Result<void> ResolveQuery() {
    query_.range = range_.range();
    if (output_.chooses_columns() && output_.format() == Format::kTable) {
      return Fail(ErrorCode::kUsage, "--columns: a timeline is drawn on a terminal",
                  "--format markdown or csv lists its points");
    }
    auto by_time = ChooseAxis(axis_text_);
    MEMTOOL_TRY(by_time);
    query_.by_time = *by_time;
    if (query_.top > kMaxLayerCount) {
      return Fail(ErrorCode::kUsage, fmt::format("--top: at most {} layers", kMaxLayerCount));
    }
    FilterOptions filter;
    auto frames = ParseFrameMode(frames_text_);
    MEMTOOL_TRY(frames);
    filter.frames = *frames;
    MEMTOOL_TRY(frames_.Resolve());
    filter.frame_rules = frames_.rules();
    auto compiled = Filter::Compile(filter);
    MEMTOOL_TRY(compiled);
    filter_ = *std::move(compiled);
    auto by = ParseBy(by_text_.empty() ? "function" : by_text_);
    MEMTOOL_TRY(by);
    if (auto resolved = keywords_.ResolveBy(*by); !resolved) {
      return resolved;
    }
    if (!by_text_.empty()) {
      query_.by = *std::move(by);
    }
    return {};
  }

  Result<void> Show(const InputReader& input_reader, const std::shared_ptr<const Recording>& shared,
                    Streams& streams) {
    const Recording& recording = *shared;
    if (!CanAnswer(recording, "timeline")) {
      return Refuse(ErrorCode::kUnsupported, recording, "is one moment and has no history to draw");
    }
    if (query_.by_time && recording.history->clock == Clock::kAbsent) {
      return Fail(ErrorCode::kUsage, "--axis time: the events of this file carry no times");
    }
    MEMTOOL_TRY(keywords_.ChooseFor(recording));
    query_.name = input_reader.notes()[0].path;
    const auto kept = input_reader.IndexOf(shared);
    const HistoryIndex& index = *kept;
    const bool plot = output_.format() == Format::kTable;
    if (plot || plot_.wanted()) {
      TimelineQuery plotted = query_;
      plotted.points = query_.points == 0 ? kPlotPoints : query_.points;
      plotted.loops = plot;
      auto drawn = BuildTimeline(index, filter_, plotted);
      MEMTOOL_TRY(drawn);
      MEMTOOL_TRY(plot_.wanted() ? Draw(recording, *drawn, streams) : Result<void>());
      if (plot) {
        return output_.PrintText(MakeView(*drawn), Text(input_reader, recording, *drawn, streams),
                                 streams);
      }
    }
    auto answer = BuildTimeline(index, filter_, query_);
    MEMTOOL_TRY(answer);
    return output_.Print(
        MakeView(*answer), [&] { return Table(*answer); }, streams);
  }

  Result<void> Draw(const Recording& recording, const TimelineAnswer& answer, Streams& streams) {
    AreaChart chart = MakeChart(answer);
    chart.same_scale = same_scale_;
    const std::string& path = answer.head.inputs[0].path;
    chart.title = path.substr(path.rfind('/') + 1);
    chart.unit = output_.unit();
    for (std::size_t i = 0; i < answer.traces.size(); ++i) {
      const TimelineOfTrace& one = answer.traces[i];
      std::string line = TraceLine(recording, recording.history->traces[one.trace], one.summary);
      (answer.traces.size() == 1 ? chart.subtitle : chart.panels[i].title) = std::move(line);
    }
    return plot_.Save(chart, streams);
  }

  [[nodiscard]] VisibleText Text(const InputReader& input_reader, const Recording& recording,
                                 const TimelineAnswer& answer, const Streams& streams) const {
    const unsigned terminal = streams.out.TerminalWidth();
    const TextPlotStyle style{.width = terminal == 0 ? kNoTerminal : terminal,
                              .palette = output_.palette(streams)};
    VisibleText text;
    for (const std::string& line : WrapText(EscapeText(InputsText(input_reader)), style.width)) {
      text.Append(line).EndLine();
    }
    for (const std::string& line : input_reader.moment_lines()) {
      text.Append(EscapeText(line)).EndLine();
    }
    AreaChart chart = MakeChart(answer);
    chart.same_scale = same_scale_;
    chart.unit = output_.unit();
    for (std::size_t i = 0; i < answer.traces.size(); ++i) {
      const TimelineOfTrace& one = answer.traces[i];
      chart.panels[i].title =
          TraceLine(recording, recording.history->traces[one.trace], one.summary);
    }
    for (const std::size_t trace : answer.silent) {
      text.Append(TraceText(recording.history->traces[trace]))
          .Append(": no events, only the end is known")
          .Append(input_reader.moment_lines().empty() ? " (memtool top)" : "")
          .EndLine();
    }
    return text.Append(TextPlot(chart, style)).Append(Loops(answer, style.width));
  }

  // ", kept for the backward by forward (model.py:67)"
  static std::string KeptBy(const TimelineOfTrace& one) {
    if (one.keepers.empty()) {
      return {};
    }
    const ForwardKeeper& keeper = one.keepers.front();
    return fmt::format(", kept for the backward by {} ({}:{})", keeper.function,
                       BaseName(keeper.file), keeper.line);
  }

  // "24 layers × 713.78 MiB · 1 step by marks (Optimizer.step)", per device that has any.
  [[nodiscard]] VisibleText Loops(const TimelineAnswer& answer, std::size_t width) const {
    VisibleText text;
    for (const TimelineOfTrace& one : answer.traces) {
      const std::string layers = LayersText(one.loops);
      if (!layers.empty()) {
        const std::string of =
            answer.traces.size() == 1 ? "" : fmt::format("device {}: ", one.device);
        const std::string steps = StepsText(one.steps, one.steps_from, one.step_mark);
        const std::string said =
            fmt::format("{}{} · {}{} (memtool steps)", of, steps, layers, KeptBy(one));
        for (const std::string& line : WrapText(said, width)) {
          text.Append(line).EndLine();
        }
      }
    }
    return text;
  }

  // Makes points one by one: with every change there may be millions.
  TextTable Table(const TimelineAnswer& answer) {
    TextTable table;
    TabulateStream([&answer] { return answer.Rows(); }, Columns(answer).all(), table);
    return table;
  }

  TableColumns<TimelineRow> Columns(const TimelineAnswer& answer) {
    TableColumns<TimelineRow> columns(kTimelineFields, true);
    columns["time"].get = [zero = answer.zero](const TimelineRow& row) {
      return row.time == kNoTime ? Cell() : Cell(SinceText(row.time, zero));
    };
    for (std::size_t layer = 0; layer < answer.layers.size(); ++layer) {
      columns.all().push_back(
          {{.title = titles_.emplace_back(LayerText(answer, answer.layers[layer]))},
           [layer](const TimelineRow& row) { return Amount{row.layers[layer]}; }});
    }
    return columns;
  }

  InputOptions input_;
  OutputOptions output_;
  RangeOptions range_;
  TimelineQuery query_;
  Filter filter_;
  std::deque<std::string> titles_;  // of layers
  std::string by_text_;
  KeywordsOption keywords_;
  std::string frames_text_ = "app";
  FramesOption frames_;
  std::string axis_text_ = "event";
  bool same_scale_ = false;
  PlotOptions plot_;
};

}  // namespace

std::unique_ptr<Command> MakeTimeline() {
  return std::make_unique<TimelineCommand>();
}

}  // namespace memtool::commands
