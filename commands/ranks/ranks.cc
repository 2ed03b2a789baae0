// memtool ranks: a job of many files.
#include "memtool/profile/answers/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>
#include <optional>
#include <utility>

#include "base/command.h"
#include "inputs/file_tree.h"
#include "options/input_options.h"
#include "options/output_options.h"
#include "options/plot_options.h"
#include "output/sentences.h"
#include "ranks/names/rank_names.h"
#include "ranks/ranks_words.h"
#include "ranks/read_digests.h"

namespace memtool::commands {

namespace {

class RanksCommand final : public Command {
 public:
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] DIR|FILE...",
            .examples =
                "memtool ranks memory_snapshot/\n"
                "memtool ranks --step 10 --all -n 0 memory_snapshot/\n"
                "memtool ranks --rank-from 'gpu(?P<rank>\\d+)' dumps/\n"
                "memtool ranks job.jsonl\n"
                "memtool ranks --format json DIR | jq '.classes'",
            .often = "all rank-from step"};
  }

  void Declare(po::options_description& options) override {
    input_.Declare(options);
    po::options_description group("Ranks");
    auto add = group.add_options();
    add("rank-from", po::value(&rank_from_)->value_name("REGEX"),
        "how paths tell ranks: an expression with groups (?P<rank>…), local, node, step, attempt, "
        "host, job or role");
    add("step", po::value<std::int64_t>()->value_name("N")->notifier([this](std::int64_t step) {
      query_.choice.step = step;
    }),
        "this step (default: the latest of those that most ranks have)");
    add("attempt",
        po::value<std::int64_t>()->value_name("N")->notifier(
            [this](std::int64_t attempt) { query_.choice.attempt = attempt; }),
        "this attempt of the launcher");
    add("role",
        po::value<std::string>()->value_name("NAME")->notifier(
            [this](const std::string& role) { query_.choice.role = role; }),
        "this one of a job's models: actor, critic, …");
    add("all", po::bool_switch(&all_), "a row per rank instead of one per class");
    plot_.Declare(add, "a bar per rank as a picture");
    options.add(group);
    output_.Declare(options);
  }

  Result<ExitCode> Run(Streams& streams) override {
    MEMTOOL_TRY(input_.Resolve());
    MEMTOOL_TRY(output_.Resolve(input_.rows()));
    MEMTOOL_TRY(plot_.Resolve());
    std::optional<RankPattern> pattern;
    if (!rank_from_.empty()) {
      auto compiled = RankPattern::Compile(rank_from_);
      MEMTOOL_TRY(compiled);
      pattern = *std::move(compiled);
    }
    query_.identify = IdentifyByNames(std::move(pattern));
    auto names = input_.GivenNames();
    MEMTOOL_TRY(names);
    if (names->empty()) {
      return Fail(ErrorCode::kUsage, "ranks: which folder or files?", "memtool ranks DIR");
    }
    auto tree = FindFiles(*names);
    MEMTOOL_TRY(tree);
    KeepOnce(*tree);
    for (const TreeFile& file : tree->files) {
      streams.inputs.Add(file.path);
    }
    RanksMaker maker;
    std::map<std::string, std::uint64_t> others;
    MEMTOOL_TRY(ForEachDigest(*tree, input_, {}, streams, others, [&maker](Digest digest) {
      maker.Add(std::move(digest));
      return Result<void>();
    }));
    if (maker.size() == 0) {
      return Fail({.code = ErrorCode::kIo,
                   .input = names->front(),
                   .message = "no input that a rank could have left" +
                              (others.empty() ? "" : ": " + OthersText(others))});
    }
    auto answer = std::move(maker).Make(query_);
    MEMTOOL_TRY(answer);
    MEMTOOL_TRY(CheckRead(*answer));
    if (!others.empty()) {
      Warn(streams, "no inputs: " + OthersText(others));
    }
    return Show(*answer, streams);
  }

 private:
  // Errors: what is wrong with the first input where none could be read.
  static Result<void> CheckRead(const RanksAnswer& answer) {
    const auto read = [](const auto& file) { return file.read; };
    const auto first = std::find_if(answer.unranked.begin(), answer.unranked.end(),
                                    [](const UnrankedFile& file) { return !file.problem.empty(); });
    if (first == answer.unranked.end() ||
        std::any_of(answer.ranks.begin(), answer.ranks.end(), read)) {
      return {};
    }
    return Fail({.code = ErrorCode::kMalformed, .input = first->path, .message = first->problem});
  }

  Result<ExitCode> Show(const RanksAnswer& answer, Streams& streams) {
    if (plot_.wanted()) {
      MEMTOOL_TRY(plot_.Save(MakeChart(answer, output_.unit()), streams));
    }
    const Sentences said{.verdict = RanksHead(answer), .notes = RanksFoot(answer)};
    const auto tabulate = [&] {
      TextTable table;
      PutSentences(said, table);
      const unsigned width = streams.out.TerminalWidth();
      for (std::string& line : RanksStrip(answer, width == 0 ? 80 : width)) {
        table.head.push_back(std::move(line));
      }
      table.verdict_ink = answer.first_oom ? Ink::kGrew : Ink::kNone;
      all_ ? TabulateRanks(answer, output_.limit(), table) : TabulateClasses(answer, table);
      return table;
    };
    const AnswerView view = WithSentences(MakeView(answer), said);
    MEMTOOL_TRY(all_ || !output_.is_table() ? output_.Print(view, tabulate, streams)
                                            : output_.PrintWhole(view, tabulate, streams));
    const bool damaged = std::any_of(answer.ranks.begin(), answer.ranks.end(),
                                     [](const RankFacts& rank) { return !rank.read; });
    return damaged && input_.strict() ? ExitCode::kDamage : ExitCode::kOk;
  }

  InputOptions input_;
  OutputOptions output_;
  PlotOptions plot_;
  std::string rank_from_;
  bool all_ = false;
  RanksQuery query_;
};

}  // namespace

std::unique_ptr<Command> MakeRanks() {
  return std::make_unique<RanksCommand>();
}

}  // namespace memtool::commands
