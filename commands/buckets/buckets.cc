// memtool buckets: bytes by category, and what nobody tracks.
#include "memtool/profile/answers/buckets.h"

#include <fmt/format.h>

#include <boost/program_options/value_semantic.hpp>
#include <optional>
#include <utility>

#include "base/command.h"
#include "buckets/buckets_chart.h"
#include "buckets/buckets_table.h"
#include "memtool/profile/base/result.h"
#include "options/expected_options.h"
#include "options/keywords_option.h"
#include "options/plot_options.h"
#include "rows/rows.h"
#include "rows/rows_command.h"
#include "words/choice.h"
#include "words/known_words.h"

namespace memtool::commands {

namespace {

constexpr std::array<Choice<Multi>, 3> kMultis{
    {{"first", Multi::kFirst}, {"all", Multi::kAll}, {"error", Multi::kError}}};
constexpr std::array<Choice<bool>, 2> kWholes{{{"expected", false}, {"tracked", true}}};

class BucketsCommand final : public RowsCommand {
 public:
  BucketsCommand() : RowsCommand(ByOption{}) {}

  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE...]",
            .examples =
                "memtool buckets --keywords SETME.yaml --expected-sum 11GB\n"
                "memtool buckets snapshot.pickle\n"
                "memtool buckets --keywords layers.yaml --entries 5 gpu_memory_profile.csv\n"
                "memtool buckets --keywords layers.yaml --explain Others memory.log\n"
                "memtool buckets --print-keywords builtin:mxnet > SETME.yaml",
            .often = "keywords expected-sum explain plot"};
  }

 private:
  [[nodiscard]] bool TakesConf() const override { return true; }
  void DeclareMore(po::options_description& options) override {
    po::options_description group("Buckets");
    keywords_.Declare(group.add_options());
    expected_.Declare(group.add_options());
    auto add = group.add_options();
    add("percent-of", ToValue(&percent_of_, ToWords(kWholes))->value_name("WHAT"),
        "what shares are of: expected (default, when there is one) or tracked");
    add("entries", po::value(&query_.entries)->value_name("N"),
        "also list the N largest rows of each bucket (0 = none)");
    add("multi", ToValue(&multi_text_, ToWords(kMultis))->value_name("WHICH"),
        "a row that matches several categories belongs to the first (default), to all, or is an "
        "error");
    plot_.Declare(add,
                  "also draw the buckets as stacked bars: x.svg, x.png or x.pdf; a bar for each "
                  "input, a panel for each axis");
    add("explain", po::value(&query_.explain)->value_name("ROW"),
        "which word caught what: of a bucket, or of rows whose name contains ROW");
    add("print-keywords", ToValue(&print_, {.words = KeywordFiles().words})->value_name("NAME"),
        "print a built-in dictionary, to start your own from, and exit");
    options.add(group);
  }

  Result<void> ResolveMore() override {
    auto multi = Choose("--multi", multi_text_, kMultis);
    MEMTOOL_TRY(multi);
    query_.multi = *multi;
    auto tracked = Choose("--percent-of", percent_of_, kWholes);
    MEMTOOL_TRY(tracked);
    query_.share_of_tracked = *tracked;
    MEMTOOL_TRY(plot_.Resolve());
    query_.apart = plot_.wanted();
    MEMTOOL_TRY(keywords_.Resolve());
    auto expected = expected_.Resolve(input().size_base(), keywords_.expected_sum());
    MEMTOOL_TRY(expected);
    if (expected_.chooses() && !(*expected && (*expected)->reading)) {
      return Fail(ErrorCode::kUsage, "--pid and --gpu choose from --expected-sum @FILE");
    }
    if (*expected) {
      query_.expected = Quantity{.bytes = (*expected)->bytes,
                                 .precision = (*expected)->precision,
                                 .source = "--expected-sum"};
      expected_text_ = std::move((*expected)->echo);
    }
    return {};
  }

  std::optional<Result<ExitCode>> RunInstead(Streams& streams) override {
    if (print_.empty()) {
      return std::nullopt;
    }
    auto builtin = formats::FindBuiltin(print_);
    MEMTOOL_TRY(builtin);
    streams.out.Write(VisibleText::Lines(builtin->text));
    return ExitCode::kOk;
  }

  Result<std::vector<std::string>> Names(Streams& streams) override {
    if (input().files().empty() && keywords_.profile()) {
      return std::vector<std::string>{*keywords_.profile()};
    }
    return RowsCommand::Names(streams);
  }

  Result<void> Answer(InputReader& input_reader, const std::vector<std::string>& names) override {
    input_reader.WatchCounts();
    std::optional<BucketsMaker> maker;
    auto done = input_reader.ForEach(names, view(), [&](const Selection& loaded) -> Result<void> {
      if (!maker) {
        auto keywords = keywords_.For(loaded.recording());
        MEMTOOL_TRY(keywords);
        maker.emplace(**keywords, query_);
      }
      return maker->Add(loaded);
    });
    MEMTOOL_TRY(done);
    answer_ = maker->Make();
    answer_.head = input_reader.Head("buckets");
    if (explains()) {
      explained_ = maker->Explain();
      explained_.head = answer_.head;
    }
    return plot_.wanted() ? plot_.Save(MakeChart(answer_, output().unit()), input_reader.streams())
                          : Result<void>();
  }

  Result<void> Print(const InputReader& input_reader, Streams& streams) override {
    if (explains()) {
      return output().Print(
          MakeView(explained_), [&] { return ExplanationTable(input_reader); }, streams);
    }
    return output().PrintWhole(
        MakeView(answer_), [&] { return Table(input_reader); }, streams);
  }

  [[nodiscard]] bool explains() const { return !query_.explain.empty(); }

  [[nodiscard]] TextTable Table(const InputReader& input_reader) const {
    TextTable table = Described(input_reader);
    if (keywords_.is_builtin()) {
      AddBaseNotes(answer_, table);
    }
    TabulateBuckets(input_reader, answer_, input_reader.streams().out.TerminalWidth(), table);
    AddBucketNotes(input_reader, answer_, table);
    if (!keywords_.is_builtin()) {
      AddWordNotes(answer_, table);
    }
    const auto notes = FootNotes(answer_.unknown);
    table.foot.insert(table.foot.end(), notes.begin(), notes.end());
    return table;
  }

  [[nodiscard]] TextTable ExplanationTable(const InputReader& input_reader) const {
    TextTable table = Described(input_reader);
    TabulateExplanation(input_reader, explained_, output().limit(), table);
    if (explained_.rows.empty()) {
      table.foot.push_back(fmt::format("no bucket or row is called '{}'", query_.explain));
    }
    return table;
  }

  // A table with its head lines.
  [[nodiscard]] TextTable Described(const InputReader& input_reader) const {
    TextTable table;
    const std::string expected = expected_text_.empty() ? "" : " · expected " + expected_text_;
    table.head = Head(input_reader, InputsText(input_reader) + expected + " · tracked " +
                                        AmountText(input_reader, answer_.total));
    table.head.push_back(keywords_.is_builtin()
                             ? fmt::format("categories of {}: by the code or tag that allocates "
                                           "(--print-keywords {} states the rules)",
                                           answer_.dictionary, answer_.dictionary)
                             : "categories of " + answer_.dictionary);
    return table;
  }

  KeywordsOption keywords_;
  ExpectedOptions expected_;
  PlotOptions plot_;
  BucketsQuery query_;
  std::string percent_of_ = "expected";
  std::string multi_text_ = "first";
  std::string expected_text_;  // how the expected sum was read
  std::string print_;
  BucketsAnswer answer_;
  ExplainAnswer explained_;
};

}  // namespace

std::unique_ptr<Command> MakeBuckets() {
  return std::make_unique<BucketsCommand>();
}

}  // namespace memtool::commands
