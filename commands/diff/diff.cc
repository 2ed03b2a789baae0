// memtool diff: what grew between a base and a new profile.
#include "memtool/profile/answers/diff.h"

#include <fmt/format.h>

#include <boost/program_options/value_semantic.hpp>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "base/command.h"
#include "diff/diff_align.h"
#include "diff/diff_jobs.h"
#include "memtool/profile/base/result.h"
#include "output/tabulate.h"
#include "rows/rows.h"
#include "rows/rows_command.h"
#include "session/programs.h"
#include "words/words.h"

namespace memtool::commands {

namespace {

// "5%" or "100MiB"; no limit for an empty text.
Result<GrowthLimit> ParseLimit(const std::string& text, SizeBase base) {
  GrowthLimit limit;
  if (text.empty()) {
    return limit;
  }
  if (text.back() == '%') {
    auto percent = ParseSize(std::string_view(text).substr(0, text.size() - 1));
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (!percent || *end != '%') {
      return Fail(ErrorCode::kUsage, "--fail-on-growth: '" + text + "' is not a percentage",
                  "give 5% or 100MiB");
    }
    limit.ratio = value / 100.0;
    return limit;
  }
  auto bytes = ParseSize(text, base);
  if (!bytes) {
    return Fail(ErrorCode::kUsage, "--fail-on-growth: " + bytes.error().message,
                "give 5% or 100MiB");
  }
  limit.amount = *bytes;
  return limit;
}

class DiffCommand final : public RowsCommand {
 public:
  DiffCommand() : RowsCommand(kByRows) {}

  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] BASE NEW...",
            .examples =
                "memtool diff memory1.prof memory9.prof\n"
                "memtool diff --by line --frames all memory1.prof memory9.prof\n"
                "memtool diff --by label:device old.prof new.prof\n"
                "memtool diff --base-at start --at peak snapshot.pickle\n"
                "memtool diff --align yesterday.pickle today.pickle\n"
                "memtool diff --align yesterday/ today/\n"
                "memtool diff --fail-on-growth 5% base.prof new.prof",
            .often = "diff-base by align"};
  }

 private:
  void DeclareMore(po::options_description& options) override {
    po::options_description group("Comparison");
    auto add = group.add_options();
    add("diff-base", po::value(&bases_)->value_name("FILE"),
        "the base; every plain FILE is then new (repeat to merge bases)");
    view().DeclareBase(group);
    add("align", po::bool_switch(&align_),
        "two runs step by step: which allocations correspond, and what differs at each step's "
        "peak");
    add("normalize", po::bool_switch(&normalize_), "scale the new inputs to the base's total");
    add("fail-on-growth", po::value(&limit_text_)->value_name("AMOUNT"),
        "exit 1 when the total grew by more than AMOUNT: 5% or 100MiB");
    options.add(group);
  }

  Result<void> ResolveMore() override {
    auto limit = ParseLimit(limit_text_, input().size_base());
    MEMTOOL_TRY(limit);
    limit_ = *limit;
    return align_ ? CheckAlign() : Result<void>();
  }

  // A comparison of whole histories has no moments and no parts.
  Result<void> CheckAlign() const {
    if (view().has_moment() || view().has_base_moment()) {
      return Fail(ErrorCode::kUsage, "--align chooses the moments: the peaks of the steps",
                  "leave --at and --base-at out");
    }
    if (view().selects() || normalize_ || view().sort() == SortBy::kCum || !limit_text_.empty()) {
      return Fail(ErrorCode::kUsage,
                  "--align compares all allocations: no filters, --cum, --normalize and "
                  "--fail-on-growth");
    }
    const By::Kind by = view().by().kind;
    if (by != By::Kind::kFrame && by != By::Kind::kStack) {
      return Fail(ErrorCode::kUsage,
                  "--align: rows are functions, lines, files, modules or stacks");
    }
    return {};
  }

#ifndef __EMSCRIPTEN__  // a page has no folders
  // Two jobs are compared rank by rank.
  std::optional<Result<ExitCode>> RunInstead(Streams& streams) override {
    std::vector<std::string> sides = bases_;
    sides.insert(sides.end(), input().files().begin(), input().files().end());
    if (!align_ || sides.size() != 2 || !IsJob(sides[0]) || !IsJob(sides[1])) {
      return std::nullopt;
    }
    return RunJobs(sides[0], sides[1], streams);
  }

  Result<ExitCode> RunJobs(const std::string& base, const std::string& now, Streams& streams) {
    InputReader input_reader(input(), streams);
    auto answer = AlignJobs(base, now, input(), view(), input_reader);
    MEMTOOL_TRY(answer);
    input_reader.Finish();
    AnswerHead head = input_reader.Head(answer->head.question);
    for (InputNote& note : head.inputs) {
      note.moment = "whole";
    }
    answer->head = std::move(head);
    MEMTOOL_TRY(output().Print(
        MakeView(*answer), [&] { return AlignedRanksTable(*answer, base, now, output().limit()); },
        streams));
    if (answer->compared == 0) {
      Warn(streams, "no rank of the one run corresponds to the same of the other");
      return ExitCode::kGate;
    }
    return input_reader.exit_code();
  }
#endif

  // BASE NEW..., or --diff-base BASE NEW...: the bases, then the new ones.
  Result<std::vector<std::string>> Names(Streams& streams) override {
    news_ = input().files();
    if (bases_.empty() && news_.size() == 1 && view().has_base_moment()) {
      bases_ = news_;  // two moments of one file
    } else if (bases_.empty() && !news_.empty()) {
      bases_.push_back(news_.front());
      news_.erase(news_.begin());
    }
    if (news_.empty()) {
      return Fail(ErrorCode::kUsage, "a comparison needs two inputs",
                  "memtool diff memory1.prof memory9.prof, or two moments of one: "
                  "memtool diff --base-at start --at peak snapshot.pickle");
    }
    MEMTOOL_TRY(CheckNames(bases_));
    MEMTOOL_TRY(CheckNames(news_));
    const bool same = bases_ == news_;
    auto news = input().GetFiles(news_, streams);
    MEMTOOL_TRY(news);
    news = LargestProgram(*std::move(news), input(), streams);
    MEMTOOL_TRY(news);
    auto bases = same ? news : input().GetFiles(bases_, streams);
    MEMTOOL_TRY(bases);
    bases = LargestProgram(*std::move(bases), input(), streams);
    MEMTOOL_TRY(bases);
    news_ = *std::move(news);
    bases_ = *std::move(bases);
    std::vector<std::string> names = bases_;
    names.insert(names.end(), news_.begin(), news_.end());
    return names;
  }

  Result<void> Answer(InputReader& input_reader, const std::vector<std::string>& names) override {
    auto bases = SelectAll(input_reader, names, view(), bases_.size());
    MEMTOOL_TRY(bases);
    if (bases->size() != names.size()) {
      return Fail(ErrorCode::kIo, "a comparison needs both sides; an input was left out");
    }
    if (align_) {
      return Align(*bases, input_reader);
    }
    const auto middle = bases->begin() + static_cast<std::ptrdiff_t>(bases_.size());
    std::vector<Selection> news(std::make_move_iterator(middle),
                                std::make_move_iterator(bases->end()));
    bases->erase(middle, bases->end());
    answer_ = Diff(*bases, std::move(news),
                   {.by = view().by(),
                    .sort = view().sort(),
                    .normalize = normalize_,
                    .through_rows = output().limit(),
                    .limit = limit_});
    if (answer_.saturated) {  // also by --normalize
      input_reader.NoteClamped();
    }
    answer_.head = input_reader.Head("diff");
    return {};
  }

  Result<void> Align(const std::vector<Selection>& sides, const InputReader& input_reader) {
    if (sides.size() != 2) {
      return Fail(ErrorCode::kUsage, "--align compares two runs, one FILE each");
    }
    auto aligned = AlignSides(sides[0], sides[1], view().by());
    MEMTOOL_TRY(aligned);
    aligned_ = *std::move(aligned);
    AnswerHead head = input_reader.Head(aligned_.head.question);
    for (InputNote& note : head.inputs) {
      note.moment = "whole";
    }
    aligned_.head = std::move(head);
    return {};
  }

  Result<void> Print(const InputReader& input_reader, Streams& streams) override {
    if (align_) {
      return output().Print(
          MakeView(aligned_),
          [&] { return AlignedTable(aligned_, bases_[0], news_[0], output().limit()); }, streams);
    }
    return output().Print(
        MakeView(answer_), [&] { return Table(input_reader); }, streams);
  }

  ExitCode AfterPrint(Streams& streams) override {
    if (align_) {
      const std::string refusal = AlignRefusal(aligned_);
      if (refusal.empty()) {
        return ExitCode::kOk;
      }
      Warn(streams, refusal);
      return ExitCode::kGate;
    }
    if (answer_.gate != GrowthGate::kExceeded) {
      return ExitCode::kOk;
    }
    const bool bytes = answer_.head.unit == "bytes";
    Warn(streams, fmt::format("the total grew by {} ({:+.1f}%), more than --fail-on-growth {}",
                              bytes ? FormatSize(answer_.total) : FormatCount(answer_.total),
                              100.0 * answer_.growth, limit_text_));
    return ExitCode::kGate;
  }

  [[nodiscard]] TextTable Table(const InputReader& input_reader) const {
    TextTable table;
    table.row_unit = true;
    constexpr std::size_t kDelta = 2;
    Tabulate(answer_.rows, Columns(input_reader.is_bytes()).all(), output().limit(), kDelta, table);
    table.head = HeadLines(input_reader);
    table.foot.push_back(UnchangedLine(input_reader));
    const auto notes = FootNotes(answer_.unknown_new);
    table.foot.insert(table.foot.end(), notes.begin(), notes.end());
    return table;
  }

  [[nodiscard]] TableColumns<DiffRow> Columns(bool bytes) const {
    TableColumns<DiffRow> columns(kDiffFields, bytes);
    columns["delta_share"].get = [](const DiffRow& row) {
      return Percent{GrowthRatio(row.base.flat, row.delta()), true};
    };
    PutPlaces(answer_.by.kind == By::Kind::kFrame, columns);
    const bool by_cum = answer_.sort == SortBy::kCum;
    for (const std::string_view key : {"base", "new", "delta", "delta_share"}) {
      columns[key].style.off = by_cum;
    }
    for (const std::string_view key : {"base_cum", "new_cum", "delta_cum"}) {
      columns[key].style.off = !by_cum;
    }
    return columns;
  }

  [[nodiscard]] std::vector<std::string> HeadLines(const InputReader& input_reader) const {
    const bool moments = view().has_base_moment() || view().has_moment();
    const auto& inputs = answer_.head.inputs;  // with the moments that were looked at
    const auto side = [&](const std::vector<std::string>& names, const MomentSpec& moment,
                          std::size_t input) {
      const std::string name = names.size() != 1 ? fmt::format("{} inputs", names.size())
                               : names[0] == "-" ? std::string("standard input")
                                                 : names[0];
      return moments ? name + " at " + (input < inputs.size() ? inputs[input].moment : moment.text)
                     : name;
    };
    const std::string percent =
        std::isfinite(answer_.growth) ? fmt::format(" ({:+.1f}%)", 100 * answer_.growth) : "";
    std::vector<std::string> head{fmt::format(
        "base {} {} → new {} {} · {}{} · {} row{} grew, {} shrank",
        side(bases_, view().base_moment(), 0), AmountText(input_reader, answer_.base_total),
        side(news_, view().moment(), bases_.size()), AmountText(input_reader, answer_.new_total),
        AmountText(input_reader, answer_.total, true), percent, answer_.grew, PluralS(answer_.grew),
        answer_.shrank)};
    const auto& lines = input_reader.moment_lines();
    head.insert(head.end(), lines.begin(), lines.end());
    std::string filters = view().Describe();
    filters += normalize_ ? (filters.empty() ? "normalize" : " normalize") : "";
    if (!filters.empty()) {
      head.push_back("filters: " + filters);
    }
    return head;
  }

  // What stayed, so that a reader need not wonder: the largest row by name.
  [[nodiscard]] std::string UnchangedLine(const InputReader& input_reader) const {
    const DiffUnchanged& same = answer_.unchanged;
    std::string text = "unchanged: ";
    if (!same.largest) {
      text += "nothing";
    } else {
      const std::string place = PlaceText(same.largest->file, same.largest->line);
      text += fmt::format("{} in {}{}{}{}", AmountText(input_reader, same.amount),
                          same.largest->name, place.empty() ? "" : " " + place,
                          same.largest->via.empty() ? "" : " via " + ViaText(same.largest->via),
                          same.rows > 1 ? fmt::format(" and {} other row{}", same.rows - 1,
                                                      same.rows == 2 ? "" : "s")
                                        : "");
    }
    return fmt::format("{} · new rows {} · gone rows {}", text, answer_.new_rows,
                       answer_.gone_rows);
  }

  std::vector<std::string> bases_;
  std::vector<std::string> news_;
  bool align_ = false;
  AlignedAnswer aligned_;
  bool normalize_ = false;
  std::string limit_text_;
  GrowthLimit limit_;
  DiffAnswer answer_;
};

}  // namespace

std::unique_ptr<Command> MakeDiff() {
  return std::make_unique<DiffCommand>();
}

}  // namespace memtool::commands
