// memtool fit: what a program needs at another size, from recordings of it at two or three.
#include "memtool/profile/answers/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/command.h"
#include "memtool/profile/answers/context_fit.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/numbers.h"
#include "memtool/profile/base/paths.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/answerable.h"
#include "memtool/profile/model/extent.h"
#include "options/size_option.h"
#include "output/sentences.h"
#include "output/tabulate.h"
#include "rows/rows.h"
#include "rows/rows_command.h"
#include "whatif/cards.h"
#include "whatif/context_table.h"
#include "whatif/fit_table.h"
#include "words/known_words.h"
#include "words/refusals.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

constexpr double kMaxX = 1e12;

// Numbers above 0, separated by commas. Errors: kUsage.
Result<std::vector<double>> ParseNumbers(std::string_view option, std::string_view text) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const auto number = ParseNumber<double>(word);
    if (!number || !(*number > 0) || *number > kMaxX) {
      return Fail(ErrorCode::kUsage, fmt::format("{}: '{}' is no number above 0", option, word),
                  "numbers separated by commas: 8,16");
    }
    numbers.push_back(*number);
    at = end + 1;
  }
  return numbers;
}

class FitCommand final : public RowsCommand {
 public:
  FitCommand()
      : RowsCommand({.help = "what rows are: function, filefunction (default), line, file, module, "
                             "stack, bucket or bucket:AXIS"}) {}

  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] {--x NAME=A,B[,C...] FILE FILE [FILE...] | LOG}",
            .examples =
                "memtool fit --x batch=8,16 batch8.pickle batch16.pickle\n"
                "memtool fit --x batch=8,16 --at-x 64 --card A100-40GB batch8.pickle "
                "batch16.pickle\n"
                "memtool fit --x ctx=512,1024,4096 --conf expandable_segments:True ctx*.pickle\n"
                "memtool fit vllm.log --card H100-80GB",
            .often = "x at-x card conf"};
  }

 private:
  void DeclareMore(po::options_description& options) override {
    po::options_description group("Fit");
    auto add = group.add_options();
    add("x", po::value(&x_text_)->value_name("[NAME=]A,B,..."),
        "what differs between the recordings, and its value in each, in the order of the files");
    add("at-x", po::value(&at_text_)->value_name("X,..."),
        "predict at these (default: twice and four times the largest); of a server's log: lengths "
        "of one sequence, in tokens");
    add("card", ToValue(&card_, CardNames())->value_name("NAME|SIZE"),
        "also the largest X that fits a card: a name such as A100-40GB, or its whole memory");
    add("overhead", po::value(&overhead_)->value_name("SIZE"),
        "with --card: what the driver and libraries keep of it (default 1200MiB)");
    add("conf", po::value(&confs_)->value_name("SETTINGS"),
        "settings, as PYTORCH_CUDA_ALLOC_CONF names them; may be given several times (default: "
        "those of the recordings)");
    options.add(group);
  }

  Result<void> ResolveMore() override {
    MEMTOOL_TRY(ResolveX());
    MEMTOOL_TRY(ResolveCard());
    for (const std::string& conf : confs_) {
      auto settings = whatif::ParseAllocatorConf(conf);
      MEMTOOL_TRY(settings);
      if (settings->other_allocator) {
        return Fail(ErrorCode::kUsage,
                    fmt::format("--conf {}: only PyTorch's own allocator (backend:native) is "
                                "modelled",
                                conf));
      }
      query_.settings.push_back(*std::move(settings));
    }
    return {};
  }

  Result<void> ResolveX() {
    if (!at_text_.empty()) {
      auto at = ParseNumbers("--at-x", at_text_);
      MEMTOOL_TRY(at);
      query_.at = *std::move(at);
    }
    if (x_text_.empty()) {
      return {};
    }
    const std::size_t equals = x_text_.find('=');
    if (equals != std::string::npos) {
      names_.parameter = x_text_.substr(0, equals);
    }
    auto numbers = ParseNumbers(
        "--x", std::string_view(x_text_).substr(equals == std::string::npos ? 0 : equals + 1));
    MEMTOOL_TRY(numbers);
    query_.x = *std::move(numbers);
    names_.x = query_.x;
    std::vector<double> sorted = query_.x;
    std::sort(sorted.begin(), sorted.end());
    if (sorted.size() < 2 || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      return Fail(ErrorCode::kUsage, "--x: at least two different values, one for each FILE",
                  "--x batch=8,16");
    }
    return {};
  }

  Result<void> ResolveCard() {
    if (card_.empty()) {
      return overhead_.empty() ? Result<void>()
                               : Fail(ErrorCode::kUsage, "--overhead is for --card");
    }
    auto total = ParseCard(card_, input().size_base());
    MEMTOOL_TRY(total);
    auto kept = overhead_.empty() ? Result<std::int64_t>(kCardOverhead)
                                  : ParseDeviceSize("--overhead", overhead_, input().size_base());
    MEMTOOL_TRY(kept);
    if (*kept >= *total) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("--card {}: nothing is left of {}", card_, FormatSize(*total)));
    }
    query_.limit = *total - *kept;
    card_bytes_ = overhead_.empty() ? std::optional(*total) : std::nullopt;
    names_.card_note = fmt::format("card: {} of {}, {} kept for the driver and libraries{}",
                                   FormatSize(*query_.limit), FormatSize(*total), FormatSize(*kept),
                                   overhead_.empty() ? " (assumed)" : "");
    return {};
  }

  Result<std::vector<std::string>> Names(Streams& streams) override {
    auto names = RowsCommand::Names(streams);
    MEMTOOL_TRY(names);
    if (query_.x.empty() && names->size() > 1) {
      return tl::unexpected(NoX());
    }
    if (!query_.x.empty() && names->size() != query_.x.size()) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("{} for {} in --x", Counted(names->size(), "FILE"),
                              Counted(query_.x.size(), "value")),
                  "one value for each FILE, in their order");
    }
    return names;
  }

  static Error NoX() {
    return {.code = ErrorCode::kUsage,
            .message = "--x: what differs between the recordings?",
            .hint =
                "--x batch=8,16 for a recording at batch 8 and one at 16; a log of a server "
                "needs none"};
  }

  // Without --x: of a log, which tells its own bytes per token.
  Result<void> AnswerLog(InputReader& input_reader, const std::vector<std::string>& names) {
    if (!confs_.empty()) {
      return Fail(ErrorCode::kUsage, "--conf is for recordings of PyTorch, with --x");
    }
    ContextQuery query{.at = {}, .limit = query_.limit, .card = card_bytes_};
    for (const double at : query_.at) {
      if (at != std::floor(at)) {
        return Fail(ErrorCode::kUsage, fmt::format("--at-x: {:g} is no number of tokens", at));
      }
      query.at.push_back(std::llround(at));
    }
    return input_reader.ForEach(names, view(), [&](const Selection& selection) -> Result<void> {
      if (selection.source().metadata.origin.kind != RecordingKind::kLog) {
        return tl::unexpected(NoX());
      }
      auto answer = MakeContextFit(selection, query);
      MEMTOOL_TRY(answer);
      context_ = *std::move(answer);
      return {};
    });
  }

  Result<void> Answer(InputReader& input_reader, const std::vector<std::string>& names) override {
    if (query_.x.empty()) {
      return AnswerLog(input_reader, names);
    }
    query_.by = view().by();
    FitMaker maker(query_);
    std::size_t added = 0;
    MEMTOOL_TRY(input_reader.ForEach(names, view(), [&](Selection selection) -> Result<void> {
      const std::string name = selection.name();
      const auto lacking = NoteLacking(selection.source());
      auto result = lacking ? Result<void>(Fail(ErrorCode::kUnsupported, lacking->message))
                    : CanAnswer(selection.source(), "fit")
                        ? maker.Add(std::move(selection))
                        : Refuse(ErrorCode::kUnsupported, selection.source(),
                                 "does not record what was requested and when",
                                 "PyTorch snapshots with a history do: see memtool help recording");
      if (!result) {
        Error error = result.error();
        error.input = name;
        return tl::unexpected(std::move(error));
      }
      ++added;
      return {};
    }));
    if (added != names.size()) {
      return Fail(ErrorCode::kIo, "values of --x stand for all inputs; one was left out");
    }
    auto answer = std::move(maker).Make();
    MEMTOOL_TRY(answer);
    answer_ = *std::move(answer);
    AnswerHead head = input_reader.Head("fit");
    head.sample_type = std::move(answer_.head.sample_type);
    head.unit = std::move(answer_.head.unit);
    answer_.head = std::move(head);
    return {};
  }

  Result<void> Print(const InputReader& input_reader, Streams& streams) override {
    if (context_) {
      const Sentences said = ContextSentences(*context_, names_.card_note);
      return output().Print(
          WithSentences(MakeView(*context_), said), [&] { return ContextTable(*context_, said); },
          streams);
    }
    const auto& notes = input_reader.notes();
    for (std::size_t i = 0; i < query_.x.size(); ++i) {
      names_.files.emplace_back(BaseName(notes[i].path));
    }
    return output().Print(
        WithSentences(MakeView(answer_), FitSentences(answer_, names_)),
        [&] { return FitTable(answer_, names_, output().limit()); }, streams);
  }

  ExitCode AfterPrint(Streams& streams) override {
    if (context_ || answer_.gate.accepted()) {
      return ExitCode::kOk;
    }
    Warn(streams, FitRefusal(answer_, names_));
    return ExitCode::kGate;
  }

  std::string x_text_;
  std::string at_text_;
  std::string card_;
  std::string overhead_;
  std::optional<std::int64_t> card_bytes_;  // none where what is kept of it is said
  std::vector<std::string> confs_;
  FitQuery query_;
  FitNames names_;
  FitAnswer answer_;
  std::optional<ContextFit> context_;
};

}  // namespace

std::unique_ptr<Command> MakeFit() {
  return std::make_unique<FitCommand>();
}

}  // namespace memtool::commands
