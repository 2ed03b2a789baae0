// memtool buckets: bytes by category, and what nobody tracks.
#include "memtool/profile/rows/buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>
#include <optional>
#include <set>

#include "buckets/buckets_report.h"
#include "command.h"
#include "memtool/profile/base/result.h"
#include "options/expected_options.h"
#include "options/keywords_option.h"
#include "output/plot/plot.h"
#include "rows/rows.h"
#include "rows/rows_command.h"

namespace memtool::commands {

namespace {

constexpr double kGreedy = 0.95;

class BucketsCommand final : public RowsCommand {
 public:
  BucketsCommand() : RowsCommand(ByOption{}) {}

  [[nodiscard]] Doc doc() const override {
    return {.summary = "bytes by category, and what nobody tracks",
            .usage = "[options] [FILE...]",
            .examples =
                "memtool buckets --keywords SETME.yaml --expected-sum 11GB\n"
                "memtool buckets --at peak snapshot.pickle\n"
                "memtool buckets --keywords layers.yaml --entries 5 gpu_memory_profile.csv\n"
                "memtool buckets --keywords layers.yaml --explain Others memory.log\n"
                "memtool buckets --print-keywords builtin:mxnet > SETME.yaml"};
  }

 private:
  void DeclareMore(po::options_description& options) override {
    po::options_description group("Buckets");
    keywords_.Declare(group.add_options());
    expected_.Declare(group.add_options());
    auto add = group.add_options();
    add("percent-of", po::value(&percent_of_)->value_name("WHAT"),
        "what shares are of: expected (default, when there is one) or tracked");
    add("entries", po::value(&entries_)->value_name("N"),
        "also list the N largest rows of each bucket (0 = none)");
    add("multi", po::value(&multi_text_)->value_name("WHICH"),
        "a row that matches several categories belongs to the first (default), to all, or is an "
        "error");
    add("plot", po::value(&plot_)->value_name("FILE"),
        "also draw the buckets as stacked bars: x.svg, x.png or x.pdf; a bar for each input, a "
        "panel for each axis");
    add("plot-width", po::value(&plot_width_)->value_name("WIDTH"),
        "width of the picture (default 178mm)");
    add("explain", po::value(&explain_)->value_name("ROW"),
        "which word caught what: of a bucket, or of rows whose name contains ROW");
    add("print-keywords", po::value(&print_)->value_name("NAME"),
        "print a built-in dictionary, to start one's own, and end");
    options.add(group);
  }

  Result<void> ResolveMore() override {
    if (multi_text_ == "first") {
      multi_ = Multi::kFirst;
    } else if (multi_text_ == "all") {
      multi_ = Multi::kAll;
    } else if (multi_text_ == "error") {
      multi_ = Multi::kError;
    } else {
      return Fail(ErrorCode::kUsage, "--multi: '" + multi_text_ + "' is not a choice",
                  "first, all or error");
    }
    if (percent_of_ != "expected" && percent_of_ != "tracked") {
      return Fail(ErrorCode::kUsage, "--percent-of: '" + percent_of_ + "' is not a choice",
                  "expected or tracked");
    }
    if (auto resolved = ResolvePlot(); !resolved) {
      return resolved;
    }
    if (auto read = keywords_.Resolve(); !read) {
      return read;
    }
    auto expected = expected_.Resolve(input().size_base(), keywords_.expected_sum());
    MEMTOOL_TRY(expected);
    wanted_ = *std::move(expected);
    if (expected_.chooses() && !(wanted_ && wanted_->reading)) {
      return Fail(ErrorCode::kUsage, "--pid and --gpu choose from --expected-sum @FILE");
    }
    return {};
  }

  Result<void> ResolvePlot() {
    auto width = ParsePlotWidth(plot_width_);
    MEMTOOL_TRY(width);
    plot_size_ = *width;
    if (plot_.empty()) {
      return {};
    }
    MEMTOOL_TRY(PlotFormatOf(plot_));
    return {};
  }

  std::optional<Result<ExitCode>> RunInstead(Streams& streams) override {
    if (print_.empty()) {
      return std::nullopt;
    }
    auto builtin = formats::FindBuiltin(print_);
    MEMTOOL_TRY(builtin);
    streams.out.Write(builtin->text);
    return ExitCode::kOk;
  }

  Result<std::vector<std::string>> Names(Streams& streams) override {
    if (input().files().empty() && keywords_.profile()) {
      return std::vector<std::string>{*keywords_.profile()};
    }
    return RowsCommand::Names(streams);
  }

  Result<Report> MakeReport(Session& session, const std::vector<std::string>& names) override {
    NodeSpace space;
    std::optional<BucketTable> table;
    Result<void> added;
    auto done = session.ForEach(names, view(), [&](Selection loaded) -> Result<void> {
      if (!table) {
        auto keywords = keywords_.For(loaded.recording());
        MEMTOOL_TRY(keywords);
        table.emplace(**keywords, multi_, space);
        table->set_explaining(!explain_.empty());
      }
      return AddInput(loaded, *table, space);
    });
    MEMTOOL_TRY(done);
    if (!plot_.empty()) {
      const BarChart chart =
          ChartOf(parts_, part_names_, wanted_, percent_of_ == "expected", output().unit());
      MEMTOOL_TRY(SavePlot(chart, plot_, plot_size_, session.streams()));
    }
    return Describe(session, *table);
  }

  void NoteInput(const Selection& loaded) {
    const Recording& recording = loaded.recording();
    logs_only_ = logs_only_ || recording.metadata.origin.framework == Framework::kMxnet;
    for (const Label& label : recording.label_sets.items()) {
      if (recording.Text(label.key) == "device") {
        devices_.insert(std::string(recording.Text(label.text)));
      }
    }
  }

  Result<void> AddInput(const Selection& loaded, BucketTable& table, NodeSpace& space) {
    NoteInput(loaded);
    if (!plot_.empty()) {
      part_names_.push_back(loaded.name());
      parts_.emplace_back(table.keywords(), multi_, space);
      if (auto part = parts_.back().Add(InputOf(loaded)); !part) {
        return part;
      }
    }
    return table.Add(InputOf(loaded));
  }

  // What makes an input hold more than the device has.
  [[nodiscard]] std::string OverReason(const Session& session) const {
    if (session.notes().size() > 1) {
      return "several inputs are added up, the expected sum may be of one";
    }
    if (devices_.size() > 1 && view().device().empty()) {
      return fmt::format("the input holds {} devices, the expected sum may be of one (--device)",
                         devices_.size());
    }
    if (logs_only_) {
      return "the log lists allocations and not what was freed since";
    }
    return "the expected sum may be of another moment (--at), process or device";
  }

  [[nodiscard]] std::string FirstLine(const Session& session, const BucketTable& table) const {
    std::string line = InputsText(session);
    if (wanted_) {
      line += " · expected " + wanted_->echo;
    }
    return line + " · tracked " + AmountText(session, table.total().bytes);
  }

  Report Describe(const Session& session, const BucketTable& table) const {
    Report report{.command = "buckets"};
    session.Describe(report);
    report.head = Head(session, FirstLine(session, table));
    const Dictionary& dictionary = table.keywords().dictionary();
    report.head.push_back(keywords_.is_builtin()
                              ? fmt::format("categories of {}: by the code or tag that allocates "
                                            "(--print-keywords {} states the rules)",
                                            dictionary.name, dictionary.name)
                              : "categories of " + dictionary.name);
    if (!explain_.empty()) {
      const auto rows = table.Explain(explain_);
      FillExplanation(session, rows, report);
      report.totals = {{"total", table.total().bytes}};
      if (rows.empty()) {
        report.foot.push_back(fmt::format("no bucket or row is called '{}'", explain_));
      }
      return report;
    }
    const bool data = output().format() != Format::kTable && output().format() != Format::kMarkdown;
    FillBuckets(session, table, table.Axes(), wanted_,
                {.entries = entries_,
                 .percent_of_expected = percent_of_ == "expected",
                 .nested_entries = data,
                 .over_reason = OverReason(session)},
                report);
    NoteWords(table, report);
    const auto notes = FootNotes(table.total().unknown, false);
    report.foot.insert(report.foot.end(), notes.begin(), notes.end());
    return report;
  }

  // Words that catch nearly everything or nothing are most often mistakes.
  void NoteWords(const BucketTable& table, Report& report) const {
    if (keywords_.is_builtin() || table.total().bytes <= 0) {
      return;
    }
    std::string idle;
    const std::vector<std::int64_t> bytes = table.WordBytes();
    for (std::uint32_t number = 0; number < bytes.size(); ++number) {
      const std::string& word = table.keywords().word(number).written;
      const double share =
          static_cast<double>(bytes[number]) / static_cast<double>(table.total().bytes);
      if (share > kGreedy) {
        report.foot.push_back(fmt::format(
            "the word '{}' matches {:.1f}% of all bytes; is it meant to?", word, 100.0 * share));
      }
      if (bytes[number] == 0) {
        idle += (idle.empty() ? "'" : ", '") + word + "'";
      }
    }
    if (!idle.empty()) {
      report.foot.push_back("words that match nothing: " + idle);
    }
  }

  KeywordsOption keywords_;
  ExpectedOptions expected_;
  std::string percent_of_ = "expected";
  std::size_t entries_ = 0;
  std::string multi_text_ = "first";
  std::string explain_;
  std::string print_;
  std::string plot_;
  std::string plot_width_ = "178mm";
  PlotSize plot_size_;
  std::vector<std::string> part_names_;
  std::vector<BucketTable> parts_;  // one for each input, for the plot
  Multi multi_ = Multi::kFirst;
  std::optional<Expected> wanted_;
  bool logs_only_ = false;
  std::set<std::string> devices_;
};

}  // namespace

std::unique_ptr<Command> MakeBuckets() {
  return std::make_unique<BucketsCommand>();
}

}  // namespace memtool::commands
