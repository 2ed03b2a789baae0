// memtool check: limits on memory for tests and CI.
#include "memtool/profile/answers/check.h"

#include <fmt/format.h>

#include <array>
#include <boost/program_options/value_semantic.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/command.h"
#include "check/check_words.h"
#include "memtool/formats/baseline.h"
#include "memtool/profile/base/sizes.h"
#include "options/input_options.h"
#include "options/keywords_option.h"
#include "options/output_options.h"
#include "options/size_option.h"
#include "output/whole_file.h"
#include "output/writers.h"
#include "session/input_reader.h"
#include "words/choice.h"
#include "words/known_words.h"

namespace memtool::commands {

namespace {

// "1%" or "64MiB", the only band then.
Result<GrowthBand> ParseBand(const std::string& text, SizeBase base) {
  GrowthBand band{.ratio = 0, .amount = 0};
  if (!text.empty() && text.back() == '%') {
    char* end = nullptr;
    const double percent = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end != '%' || !(percent >= 0 && percent <= 1e6)) {
      return Fail(ErrorCode::kUsage, "--max-growth: '" + text + "' is not a percentage",
                  "give 1% or 64MiB");
    }
    band.ratio = percent / 100;
    return band;
  }
  const auto bytes = ParseSize(text, base);
  if (!bytes) {
    return Fail(ErrorCode::kUsage, "--max-growth: " + bytes.error().message, "give 1% or 64MiB");
  }
  band.amount = *bytes;
  return band;
}

// Limits that need no file.
struct BudgetOption {
  const char* name;
  std::optional<std::int64_t> Budget::*limit;
  const char* about;
};
constexpr auto kBudgetOptions = std::to_array<BudgetOption>(
    {{"max-peak", &Budget::peak, "the most that may be live on any device"},
     {"max-reserved", &Budget::reserved, "the most that may be reserved of any device"},
     {"max-total", &Budget::total, "the most that may be live at the end, on all devices"}});

constexpr std::array<Choice<bool>, 2> kVerdicts{{{"fail", false}, {"ok", true}}};

class CheckCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {
        .usage = "[options] FILE...",
        .examples =
            "memtool check --max-peak 20GiB snapshot.pickle\n"
            "memtool check --budget budget.yaml snapshot.pickle\n"
            "memtool check --write-baseline memory.json snapshot.pickle\n"
            "memtool check --baseline memory.json snapshot.pickle\n"
            "memtool check --baseline memory.json --max-growth 64MiB --junit memory.xml *.pickle\n"
            "memtool check --baseline memory.json --summary \"$GITHUB_STEP_SUMMARY\" "
            "--annotations snapshot.pickle",
        .often = "max-peak budget baseline max-growth write-baseline"};
  }

  void Declare(po::options_description& options) override {
    input_.Declare(options);
    po::options_description group("Limits");
    auto add = group.add_options();
    add("budget", po::value(&budget_path_)->value_name("FILE"),
        "limits of peak, total, reserved, devices, buckets and functions, as YAML");
    for (const BudgetOption& option : kBudgetOptions) {
      add(option.name, po::value(&budget_texts_[option.name])->value_name("SIZE"), option.about);
    }
    add("baseline", po::value(&baseline_path_)->value_name("FILE"),
        "what an earlier run held: fail where peak, total, reserved or a bucket grew");
    add("max-growth", po::value(&growth_text_)->value_name("AMOUNT"),
        "how much more than the baseline is allowed: 5% or 64MiB (default: 1%, at least 16MiB)");
    add("missing-baseline", ToValue(&missing_text_, ToWords(kVerdicts))->value_name("VERDICT"),
        "fail (default), or ok where there is no baseline yet");
    add("write-baseline", po::value(&write_path_)->value_name("FILE"),
        "write what FILE holds as a baseline");
    keywords_.Declare(add);
    add("summary", po::value(&summary_path_)->value_name("FILE"),
        "also append the result to FILE as markdown");
    add("junit", po::value(&junit_path_)->value_name("FILE"),
        "also write the result as JUnit's XML");
    add("annotations", po::bool_switch(&annotations_),
        "also write a line per broken limit that GitHub shows on the pull request, to stderr");
    options.add(group);
    output_.Declare(options);
  }

  Result<ExitCode> Run(Streams& streams) override {
    MEMTOOL_TRY(input_.Resolve());
    MEMTOOL_TRY(output_.Resolve(input_.rows()));
    MEMTOOL_TRY(keywords_.Resolve());
    MEMTOOL_TRY(ResolveLimits(streams));
    auto names = input_.Names(streams);
    MEMTOOL_TRY(names);
    if (!write_path_.empty() && names->size() != 1) {
      return Fail(ErrorCode::kUsage, "--write-baseline: a baseline is of one FILE");
    }
    InputReader input_reader(input_, streams);
    CheckMaker maker(budget_ ? &*budget_ : nullptr, baseline_ ? &*baseline_ : nullptr, band_);
    std::optional<CheckFacts> last;
    MEMTOOL_TRY(input_reader.ForEachRecording(
        *names, [&](const std::string& name, const std::shared_ptr<const Recording>& recording) {
          return Add(name, recording, maker, last);
        }));
    input_reader.Finish();
    CheckAnswer answer = std::move(maker).Make();
    const auto& lacking = input_reader.moment_lines();
    answer.notes.insert(answer.notes.begin(), lacking.begin(), lacking.end());
    AnswerHead head = input_reader.Head(answer.head.question);
    head.unit = "bytes";
    for (InputNote& note : head.inputs) {
      note.moment = "peak";
    }
    answer.head = std::move(head);
    if (budget_ || baseline_) {
      MEMTOOL_TRY(Report(answer, streams));
    }
    if (!write_path_.empty() && last) {
      MEMTOOL_TRY(WriteBaseline(*std::move(last), streams));
    }
    return answer.broken > 0    ? ExitCode::kGate
           : answer.unknown > 0 ? ExitCode::kInput
                                : input_reader.exit_code();
  }

 private:
  Result<void> ResolveLimits(Streams& streams) {
    const auto missing_is_ok = Choose("--missing-baseline", missing_text_, kVerdicts);
    MEMTOOL_TRY(missing_is_ok);
    MEMTOOL_TRY(ResolveBudget());
    if (!budget_ && baseline_path_.empty() && write_path_.empty()) {
      return Fail(ErrorCode::kUsage, "check: give --budget, --max-peak or --baseline",
                  "--write-baseline FILE makes a baseline");
    }
    if (!growth_text_.empty()) {
      auto band = ParseBand(growth_text_, input_.size_base());
      MEMTOOL_TRY(band);
      band_ = *band;
    }
    return baseline_path_.empty() ? Result<void>() : ReadBaseline(*missing_is_ok, streams);
  }

  // What an option says is more than what the file says.
  Result<void> ResolveBudget() {
    if (!budget_path_.empty()) {
      auto budget = formats::ReadBudget(budget_path_, input_.size_base());
      MEMTOOL_TRY(budget);
      budget_ = *std::move(budget);
    }
    for (const BudgetOption& option : kBudgetOptions) {
      const std::string& text = budget_texts_[option.name];
      if (text.empty()) {
        continue;
      }
      auto size = ParseDeviceSize(fmt::format("--{}", option.name), text, input_.size_base());
      MEMTOOL_TRY(size);
      budget_ = budget_ ? std::move(budget_) : Budget{};
      (*budget_).*option.limit = *size;
    }
    return {};
  }

  Result<void> ReadBaseline(bool missing_is_ok, Streams& streams) {
    std::error_code error;
    if (missing_is_ok && baseline_path_ != "-" && !std::filesystem::exists(baseline_path_, error)) {
      Warn(streams, fmt::format("{}: no baseline yet, so nothing is compared with it "
                                "(--write-baseline {} makes one)",
                                baseline_path_, baseline_path_));
      return {};
    }
    auto baseline = formats::ReadBaseline(baseline_path_);
    MEMTOOL_TRY(baseline);
    baseline_ = *std::move(baseline);
    return {};
  }

  [[nodiscard]] bool NeedsBuckets() const {
    return keywords_.given() || !write_path_.empty() || (budget_ && !budget_->buckets.empty()) ||
           (baseline_ && !baseline_->dictionary.empty());
  }

  Result<void> Add(const std::string& name, const std::shared_ptr<const Recording>& recording,
                   CheckMaker& maker, std::optional<CheckFacts>& last) {
    const Keywords* keywords = nullptr;
    if (NeedsBuckets()) {
      auto found = keywords_.For(*recording);
      if (!found && budget_ && !budget_->buckets.empty()) {
        return Fail(std::move(found.error()));
      }
      keywords = found ? *found : nullptr;
    }
    auto facts = MakeCheckFacts(recording, name, keywords, keywords_.name());
    if (!facts) {
      facts.error().input = name;
      return Fail(std::move(facts.error()));
    }
    maker.Add(*facts);
    last = *std::move(facts);
    return {};
  }

  Result<void> WriteBaseline(CheckFacts facts, Streams& streams) const {
    const std::string held =
        fmt::format("peak {}, end {}", FormatSize(facts.digest.peak), FormatSize(facts.digest.end));
    MEMTOOL_TRY(WriteWholeFile(write_path_, formats::FormatBaseline(ForBaseline(std::move(facts))),
                               streams));
    if (write_path_ != "-") {
      Warn(streams, fmt::format("wrote the baseline {}: {}", write_path_, held));
    }
    return {};
  }

  // What the limits come from.
  [[nodiscard]] std::string AgainstText() const {
    std::string text;
    for (const std::string& path : {budget_path_, baseline_ ? baseline_path_ : std::string()}) {
      text += path.empty() ? "" : (text.empty() ? "against " : " and ") + path;
    }
    return text;
  }

  Result<void> Report(const CheckAnswer& answer, Streams& streams) const {
    const Sentences said = CheckSentences(answer, AgainstText());
    const auto table = [&] { return CheckTable(answer, said, output_.limit()); };
    MEMTOOL_TRY(output_.PrintWhole(WithSentences(MakeView(answer), said), table, streams));
    if (!summary_path_.empty()) {
      MEMTOOL_TRY(AppendSummary(table()));
    }
    if (!junit_path_.empty()) {
      MEMTOOL_TRY(WriteWholeFile(junit_path_, JunitXml(answer), streams));
    }
    for (const std::string& line :
         annotations_ ? Annotations(answer) : std::vector<std::string>()) {
      streams.err.Write(VisibleText(line).EndLine());
    }
    return {};
  }

  // Job summaries are appended to.
  [[nodiscard]] Result<void> AppendSummary(const TextTable& table) const {
    StringSink text;
    WriteMarkdown(table, {}, text);
    return AppendToFile(summary_path_, text.text() + "\n");
  }

  InputOptions input_;
  OutputOptions output_;
  KeywordsOption keywords_;
  std::string budget_path_;
  std::map<std::string, std::string> budget_texts_;  // by option
  std::string baseline_path_;
  std::string growth_text_;
  std::string missing_text_ = "fail";
  std::string write_path_;
  std::string summary_path_;
  std::string junit_path_;
  bool annotations_ = false;
  std::optional<Budget> budget_;
  std::optional<CheckFacts> baseline_;
  GrowthBand band_;
};

}  // namespace

std::unique_ptr<Command> MakeCheck() {
  return std::make_unique<CheckCommand>();
}

}  // namespace memtool::commands
