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
#include "output/tabulate.h"
#include "rows/rows.h"
#include "rows/rows_command.h"
#include "whatif/cards.h"
#include "whatif/fit_log.h"
#include "words/known_words.h"
#include "words/refusals.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

constexpr double kMaxX = 1e12;

// "8", "0.5": an x as it was given.
std::string NumberText(double x) {
  return fmt::format("{:g}", x);
}

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
    add("x", po::value(&x_text_)->value_name("[NAME=]A,B,…"),
        "what differs between the recordings, and its value in each, in the order of the files");
    add("at-x", po::value(&at_text_)->value_name("X,…"),
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
      parameter_ = x_text_.substr(0, equals);
    }
    auto numbers = ParseNumbers(
        "--x", std::string_view(x_text_).substr(equals == std::string::npos ? 0 : equals + 1));
    MEMTOOL_TRY(numbers);
    query_.x = *std::move(numbers);
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
    card_note_ = fmt::format("card: {} of {}, {} kept for the driver and libraries (assumed)",
                             FormatSize(*query_.limit), FormatSize(*total), FormatSize(*kept));
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
    ContextQuery query{.at = {}, .limit = query_.limit};
    for (const double at : query_.at) {
      query.at.push_back(std::max<std::int64_t>(std::llround(at), 1));
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
      return output().Print(
          MakeView(*context_), [&] { return ContextTable(*context_, card_note_); }, streams);
    }
    return output().Print(
        MakeView(answer_), [&] { return Table(input_reader); }, streams);
  }

  ExitCode AfterPrint(Streams& streams) override {
    if (context_ || answer_.gate.accepted()) {
      return ExitCode::kOk;
    }
    Warn(streams, RefusalText());
    return ExitCode::kGate;
  }

  // "batch 16".
  [[nodiscard]] std::string At(double x) const {
    return fmt::format("{} {}", parameter_, NumberText(x));
  }

  [[nodiscard]] std::string RefusalText() const {
    return ReasonText() +
           (answer_.peaks_fall
                ? fmt::format("; peaks fall as {} rises: are the values of --x in the order of the "
                              "files?",
                              parameter_)
                : "");
  }

  [[nodiscard]] std::string ReasonText() const {
    const whatif::FitGate& gate = answer_.gate;
    const std::string between = fmt::format("the recordings at {} and {}", At(answer_.gate_x),
                                            NumberText(answer_.gate_other_x));
    switch (gate.reason) {
      case whatif::FitGate::Reason::kStructure:
        return fmt::format(
            "{} are not of one program: {}{:.1f}% of {} allocations have a partner, {:.0f}% are "
            "needed",
            between, gate.exact ? "" : "at most ", 100 * gate.paired(),
            FormatCount(static_cast<std::int64_t>(gate.allocations)),
            100 * whatif::FitGate::kMinPaired);
      case whatif::FitGate::Reason::kOtherLaws:
        return fmt::format(
            "{} do not tell how sizes grow: {:.1f}% of the allocations are neither constant nor "
            "linear nor quadratic in {}, {:.1f}% are tolerated",
            between, 100 * gate.outside_share(), parameter_, 100 * whatif::FitGate::kMaxOutside);
      default:
        return between + " have no allocations in common";
    }
  }

  // The sentence on top.
  [[nodiscard]] std::string Verdict() const {
    if (!answer_.gate.accepted()) {
      return "no prediction: " + RefusalText();
    }
    if (!answer_.largest.empty()) {
      const auto best = std::max_element(answer_.largest.begin(), answer_.largest.end(),
                                         [](const FitLargest& a, const FitLargest& b) {
                                           return a.x.value_or(0) < b.x.value_or(0);
                                         });
      const std::string with =
          answer_.largest.size() > 1 ? fmt::format(" with {}", MakeSetting(best->setting)) : "";
      if (!best->x) {
        return fmt::format("not even {} 1 fits in {}{}", parameter_, FormatSize(*answer_.limit),
                           with);
      }
      if (best->x_low) {
        return FarText(*best, with);
      }
      return fmt::format("{} {}{} fits in {}{}", parameter_, best->bounded ? "up to " : "",
                         FormatCount(*best->x), FormatSize(*answer_.limit), with) +
             (best->bounded ? "" : ", and more than that was not tried");
    }
    const FitRow& last = answer_.rows.back();
    return fmt::format("{} needs {} reserved, {} of it live", At(last.x),
                       FormatSize(last.reserved_peak), FormatSize(last.live_peak));
  }

  // To two digits: a prediction from afar has no more.
  static std::int64_t Rounded(std::int64_t x) {
    std::int64_t digit = 1;
    while (x / digit >= 100) {
      digit *= 10;
    }
    return x / digit * digit;
  }

  // "the most that fits in 22.83 GiB is about ctx 10,000 to 12,000, 20 to 24 times the largest
  // recorded".
  [[nodiscard]] std::string FarText(const FitLargest& best, const std::string& with) const {
    const double most = *std::max_element(query_.x.begin(), query_.x.end());
    const auto range = [](const std::string& low, const std::string& high) {
      return low == high ? high : low + " to " + high;
    };
    const std::int64_t low = Rounded(*best.x_low);
    const std::int64_t high = Rounded(*best.x);
    const auto times = [most](std::int64_t x) {
      return fmt::format("{:.0f}", static_cast<double>(x) / most);
    };
    return fmt::format("the most that fits in {}{} is about {} {}, {} times the largest recorded",
                       FormatSize(*answer_.limit), with, parameter_,
                       range(FormatCount(low), FormatCount(high)), range(times(low), times(high))) +
           (best.bounded ? "" : "; more than that was not tried");
  }

  // "softmax model.py (2 at n 150, 2 at n 200, 6.00 MiB at most), …".
  [[nodiscard]] std::string ScratchText() const {
    std::string text = "scratch without a partner, freed at once, is taken as recorded: ";
    for (std::size_t i = 0; i < answer_.scratch.size();) {
      const FitScratchRow& first = answer_.scratch[i];
      const std::string place = PlaceText(first.file, 0);
      text += fmt::format("{}{}{} (", i == 0 ? "" : ", ", NameText(first.name),
                          place.empty() ? "" : " " + place);
      std::int64_t largest = 0;
      for (; i < answer_.scratch.size() && answer_.scratch[i].name == first.name &&
             answer_.scratch[i].file == first.file;
           ++i) {
        const FitScratchRow& row = answer_.scratch[i];
        text +=
            fmt::format("{} at {}, ", FormatCount(static_cast<std::int64_t>(row.count)), At(row.x));
        largest = std::max(largest, row.largest);
      }
      text += FormatSize(largest) + " at most)";
    }
    return text;
  }

  static std::string MakeSetting(const std::string& setting) {
    return setting.empty() ? "PyTorch's defaults" : setting;
  }

  [[nodiscard]] TextTable Table(const InputReader& input_reader) const {
    TextTable table;
    Tabulate(answer_.rows, Columns().all(), 0, 2, table);
    table.blocks = {0};  // predictions are few: -n is for the rows below them
    table.head = {Verdict(), RecordingsText(input_reader), GateText()};
    if (!card_note_.empty()) {
      table.head.push_back(card_note_);
    }
    if (!answer_.gate.accepted()) {
      return table;
    }
    if (!answer_.scratch.empty()) {
      table.head.push_back(ScratchText());
    }
    AddLaws(table.foot);
    AddRange(table.foot);
    table.foot.emplace_back(
        "predicted from the same code: another size may take other kernels or other branches, "
        "which no recording of these shows");
    if (answer_.began_late) {
      table.foot.emplace_back(
          "what was there before the recording is laid out anew: RESERVED PEAK is an estimate");
    }
    if (query_.x.size() < 3) {
      table.foot.emplace_back("a third recording would test the prediction");
    }
    return table;
  }

  // "recorded: batch 8 (a.pickle), 16 (b.pickle)".
  [[nodiscard]] std::string RecordingsText(const InputReader& input_reader) const {
    std::string text = "recorded: " + parameter_;
    for (std::size_t i = 0; i < query_.x.size(); ++i) {
      text += fmt::format("{} {} ({})", i > 0 ? "," : "", NumberText(query_.x[i]),
                          BaseName(input_reader.notes()[i].path));
    }
    return text;
  }

  [[nodiscard]] std::string GateText() const {
    const whatif::FitGate& gate = answer_.gate;
    if (!gate.accepted()) {
      return fmt::format("{} allocations",
                         FormatCount(static_cast<std::int64_t>(gate.allocations)));
    }
    const std::string laws =
        gate.outside == 0
            ? "each is constant, linear or quadratic in " + parameter_
            : fmt::format("{} are neither constant nor linear nor quadratic in {}",
                          FormatCount(static_cast<std::int64_t>(gate.outside)), parameter_);
    return fmt::format("one program: {} of {} allocations correspond, {}",
                       FormatCount(static_cast<std::int64_t>(gate.pairs)),
                       FormatCount(static_cast<std::int64_t>(gate.allocations)), laws);
  }

  // "what grows, at batch 64: 71.0% 4.00 GiB quadratic  softmax attention.py".
  void AddLaws(std::vector<std::string>& foot) const {
    foot.push_back(fmt::format(
        "live at the peak of {}, {}, by how it grows with {} ({} was scaled):", At(answer_.rows_at),
        FormatSize(answer_.rows_peak), parameter_, At(answer_.rows_from)));
    const std::size_t limit = output().limit();
    std::int64_t shown = 0;
    std::size_t count = 0;
    for (const FitLawRow& row : answer_.law_rows) {
      if (limit != 0 && count == limit) {
        break;
      }
      const std::string place = PlaceText(row.file, row.line);
      foot.push_back(fmt::format("  {:>6} {:>11}  {:<9}  {}{}",
                                 fmt::format("{:.1f}%", 100 * row.share), FormatSize(row.bytes),
                                 whatif::ToName(row.law), NameText(row.name),
                                 place.empty() ? "" : "  " + place));
      shown = SaturatingAdd(shown, row.bytes);
      ++count;
    }
    if (count < answer_.law_rows.size()) {
      foot.push_back(
          fmt::format("  … {} in {} more rows (-n 0 shows all)",
                      FormatSize(SaturatingSubtract(answer_.rows_peak, shown)),
                      FormatCount(static_cast<std::int64_t>(answer_.law_rows.size() - count))));
    }
  }

  // Why the most that fits is a range.
  void AddRange(std::vector<std::string>& foot) const {
    for (const FitLargest& one : answer_.largest) {
      if (one.x_low) {
        foot.push_back(
            fmt::format("{} {} leaves {:.0f}% of {} free: so far from the recordings, a prediction "
                        "may be off by as much",
                        parameter_, FormatCount(Rounded(*one.x_low)), 100 * one.doubt,
                        FormatSize(*answer_.limit)));
        return;
      }
    }
  }

  [[nodiscard]] TableColumns<FitRow> Columns() const {
    TableColumns<FitRow> columns(
        kFitFields, true,
        {"x", "live_peak", "reserved_peak", "recorded_reserved", "error", "passes", "setting"});
    columns["x"] = {{.title = parameter_, .key = "x"},
                    [](const FitRow& row) -> Cell { return NumberText(row.x); }};
    columns["error"].get = [](const FitRow& row) -> Cell {
      const auto error = row.error();
      return error ? Cell(Percent{.ratio = *error, .sign = true}) : Cell();
    };
    columns["passes"].get = [](const FitRow& row) -> Cell {
      return std::string(row.passes.value_or(false) ? "yes" : "no");
    };
    columns.KeepIf(answer_.limit.has_value(), "passes");
    columns["setting"].get = [](const FitRow& row) -> Cell { return MakeSetting(row.setting); };
    return columns;
  }

  std::string x_text_;
  std::string at_text_;
  std::string card_;
  std::string overhead_;
  std::string card_note_;
  std::string parameter_ = "x";
  std::vector<std::string> confs_;
  FitQuery query_;
  FitAnswer answer_;
  std::optional<ContextFit> context_;
};

}  // namespace

std::unique_ptr<Command> MakeFit() {
  return std::make_unique<FitCommand>();
}

}  // namespace memtool::commands
