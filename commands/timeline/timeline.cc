// memtool timeline: live and reserved bytes over a history.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>
#include <deque>

#include "command.h"
#include "events/events_rows.h"
#include "options/input_options.h"
#include "options/keywords_option.h"
#include "options/output_options.h"
#include "options/plot_options.h"
#include "options/range_options.h"
#include "output/escape.h"
#include "output/grid.h"
#include "output/plot/text_plot.h"
#include "rows/rows.h"
#include "session/session.h"
#include "timeline/timeline_series.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kPlotPoints = 1000;  // as fine as a printed page shows
constexpr std::size_t kNoTerminal = 100;   // columns of a plot that goes to a file
constexpr std::size_t kMostLayers = 24;

class TimelineCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.summary = "live and reserved bytes over a history",
            .usage = "[options] [FILE]",
            .examples =
                "memtool timeline snapshot.pickle\n"
                "memtool timeline --by function --top 5 snapshot.pickle\n"
                "memtool timeline --by line --plot memory.svg snapshot.pickle\n"
                "memtool timeline --from event:1000 --to peak --axis time snapshot.pickle\n"
                "memtool timeline --format csv --points 500 snapshot.pickle > series.csv"};
  }

  void Declare(po::options_description& options) override {
    input_.Declare(options, false);
    po::options_description group("Series");
    auto add = group.add_options();
    add("by", po::value(&by_text_)->value_name("WHAT"),
        "layers: function, filefunction, line, file, module, stack, label:KEY, bucket or "
        "bucket:AXIS");
    keywords_.Declare(add);
    add("top", po::value(&series_.top)->value_name("K"),
        "layers with a name, those that hold most at any one time (default 8)");
    add("frames", po::value(&frames_text_)->value_name("MODE"),
        "app (default): hide framework and runtime frames; python: Python frames; all");
    range_.Declare(add);
    add("device", po::value(&series_.device)->value_name("DEVICE"),
        "only this device: its number, or its whole name");
    add("axis", po::value(&axis_text_)->value_name("AXIS"), "event (default) or time");
    add("points", po::value(&series_.points)->value_name("N"),
        "the highest point of each of N equal parts; 0 = every change (default in data formats)");
    plot_.Declare(add, "also draw it into FILE; .svg, .png or .pdf chooses the form");
    options.add(group);
    output_.Declare(options);
  }

  Result<ExitCode> Run(Streams& streams) override {
    for (auto resolved : {input_.Resolve(), range_.Resolve(), ResolveSeries(), plot_.Resolve(),
                          output_.Resolve(streams, std::nullopt)}) {
      MEMTOOL_TRY(resolved);
    }
    return OnOneRecording(input_, streams, "a timeline is of one FILE",
                          [&](const Session& session, const auto& recording) {
                            return Show(session, recording, streams);
                          });
  }

 private:
  Result<void> ResolveSeries() {
    series_.range = range_.range();
    if (axis_text_ != "event" && axis_text_ != "time") {
      return Fail(ErrorCode::kUsage, "--axis: '" + axis_text_ + "' is not a choice",
                  "event or time");
    }
    series_.by_time = axis_text_ == "time";
    if (series_.top > kMostLayers) {
      return Fail(ErrorCode::kUsage, fmt::format("--top: at most {} layers", kMostLayers));
    }
    FilterOptions filter;
    auto frames = ParseFrameMode(frames_text_);
    MEMTOOL_TRY(frames);
    filter.frames = *frames;
    auto compiled = Filter::Compile(filter);
    MEMTOOL_TRY(compiled);
    filter_ = *std::move(compiled);
    auto by = ParseBy(by_text_.empty() ? "function" : by_text_);
    MEMTOOL_TRY(by);
    if (auto resolved = keywords_.ResolveBy(*by); !resolved) {
      return resolved;
    }
    if (!by_text_.empty()) {
      series_.by = *std::move(by);
    }
    return {};
  }

  Result<void> Show(const Session& session, const std::shared_ptr<const Recording>& shared,
                    Streams& streams) {
    const Recording& recording = *shared;
    if (!recording.history) {
      return Fail(ErrorCode::kUsage, fmt::format("a {} is one moment and has no history to draw",
                                                 recording.metadata.format_display));
    }
    if (series_.by_time && recording.history->clock == Clock::kAbsent) {
      return Fail(ErrorCode::kUsage, "--axis time: the events of this file carry no times");
    }
    if (auto keywords = keywords_.ChooseFor(recording); !keywords) {
      return keywords;
    }
    const HistoryIndex index(shared);
    const bool table = output_.format() == Format::kTable;
    SeriesOptions plotted = series_;
    plotted.points = series_.points == 0 ? kPlotPoints : series_.points;
    auto series = MakeSeries(index, filter_, table ? plotted : series_);
    MEMTOOL_TRY(series);
    if (plot_.wanted()) {
      auto own = table ? series : MakeSeries(index, filter_, plotted);
      MEMTOOL_TRY(own);
      if (auto saved = Draw(session, recording, *own); !saved) {
        return saved;
      }
    }
    return table ? output_.PrintText(Text(session, recording, *series, streams), streams)
                 : output_.Print(MakeReport(session, recording, *series), streams);
  }

  Result<void> Draw(const Session& session, const Recording& recording, const Series& series) {
    AreaChart chart = MakeChart(recording, series, series_.by_time);
    const std::string& path = session.notes()[0].path;
    chart.title = path.substr(path.rfind('/') + 1);
    chart.unit = output_.unit();
    for (std::size_t i = 0; i < series.traces.size(); ++i) {
      const TraceSeries& one = series.traces[i];
      std::string line = TraceLine(recording.history->traces[one.trace], one.summary);
      (series.traces.size() == 1 ? chart.subtitle : chart.panels[i].title) = std::move(line);
    }
    return plot_.Save(chart, session.streams());
  }

  [[nodiscard]] std::string Text(const Session& session, const Recording& recording,
                                 const Series& series, const Streams& streams) const {
    const unsigned terminal = streams.out.TerminalWidth();
    const TextPlotStyle style{.width = terminal == 0 ? kNoTerminal : terminal,
                              .color = output_.color()};
    std::string text;
    for (const std::string& line : WrapText(EscapeText(InputsText(session)), style.width)) {
      text += line + "\n";
    }
    AreaChart chart = MakeChart(recording, series, series_.by_time);
    chart.unit = output_.unit();
    for (std::size_t i = 0; i < series.traces.size(); ++i) {
      const TraceSeries& one = series.traces[i];
      chart.panels[i].title = TraceLine(recording.history->traces[one.trace], one.summary);
    }
    for (const std::size_t trace : series.silent) {
      text += EscapeText(TraceText(recording.history->traces[trace])) +
              ": no events, only the end is known (memtool top)\n";
    }
    return text + TextPlot(chart, style);
  }

  Report MakeReport(const Session& session, const Recording& recording, const Series& series) {
    Report report{.command = "timeline"};
    session.Describe(report);
    report.sample_type = "space";
    report.unit = "bytes";
    report.inputs[0].moment = range_.Text();
    report.inputs[0].details = SeriesJson(recording, series);
    report.columns = {
        {"event", "EVENT"},         {"time_us", ""},         {"", "TIME"}, {"device", "DEVICE"},
        {"allocated", "ALLOCATED"}, {"reserved", "RESERVED"}};
    for (const SeriesLayer& layer : series.layers) {
      report.columns.push_back(
          {columns_.emplace_back(layer.key), columns_.emplace_back(layer.name)});
    }
    report.measure = 4;
    report.further = [&recording, &series] { return Rows(recording, series); };
    return report;
  }

  // The points one by one: of every change there may be millions. Looks into both as long as it is
  // asked.
  static NextCells Rows(const Recording& recording, const Series& series) {
    return [&recording, &series, zero = FirstTimeOf(*recording.history), trace = std::size_t{0},
            next = std::size_t{0}](std::vector<Cell>& row) mutable {
      while (trace < series.traces.size() && next == series.traces[trace].timeline.points.size()) {
        ++trace;
        next = 0;
      }
      if (trace == series.traces.size()) {
        return false;
      }
      const Timeline& timeline = series.traces[trace].timeline;
      const TimelinePoint& point = timeline.points[next];
      const bool timed = point.time != kNoTime;
      row.assign({point.event, timed ? Cell(point.time / 1000) : Cell{},
                  timed ? Cell(SinceText(point.time, zero)) : Cell{},
                  recording.history->traces[series.traces[trace].trace].device,
                  Amount{point.allocated}, Amount{point.reserved}});
      for (const std::int64_t bytes : timeline.LayersOf(next++)) {
        row.emplace_back(Amount{bytes});
      }
      return true;
    };
  }

  InputOptions input_;
  OutputOptions output_;
  RangeOptions range_;
  SeriesOptions series_;
  Filter filter_;
  std::deque<std::string> columns_;  // keys and titles of layers
  std::string by_text_;
  KeywordsOption keywords_;
  std::string frames_text_ = "app";
  std::string axis_text_ = "event";
  PlotOptions plot_;
};

}  // namespace

std::unique_ptr<Command> MakeTimeline() {
  return std::make_unique<TimelineCommand>();
}

}  // namespace memtool::commands
