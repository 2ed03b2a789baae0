// memtool tree and memtool peek: functions between their callers and callees.
#include "memtool/profile/answers/tree.h"

#include <fmt/format.h>

#include "base/command.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "output/tabulate.h"
#include "rows/rows.h"
#include "rows/rows_command.h"
#include "session/unmatched.h"

namespace memtool::commands {

namespace {

std::string WhereText(const TreeRow& row) {
  const char* arrow = row.relation == TreeRelation::kCaller   ? "  ← "
                      : row.relation == TreeRelation::kCallee ? "  → "
                                                              : "";
  return arrow + NameText(row.name);
}

class TreeCommand : public RowsCommand {
 public:
  explicit TreeCommand(bool peek) : RowsCommand(kByRows), peek_(peek) {}

 private:
  Result<void> ResolveMore() override {
    if (view().by().kind != By::Kind::kFrame) {
      return Fail(ErrorCode::kUsage, "--by: callers and callees need frames",
                  "function, filefunction, line, file or module");
    }
    return peek_ ? TakePattern() : Result<void>();
  }

  // The first plain argument of peek is its expression.
  Result<void> TakePattern() {
    auto first = input().TakeFirst();
    if (!first) {
      return Fail(ErrorCode::kUsage, "peek needs a regular expression",
                  "memtool peek anotherfunc memory9.prof");
    }
    pattern_ = *std::move(first);
    auto names = NamePattern::Compile(pattern_);
    MEMTOOL_TRY(names);
    names_ = *std::move(names);
    return {};
  }

  // All functions that match, else as many as asked.
  Result<void> Answer(InputReader& input_reader, const std::vector<std::string>& names) override {
    auto inputs = SelectAll(input_reader, names, view());
    MEMTOOL_TRY(inputs);
    answer_ = memtool::Tree(*inputs, {.granularity = view().by().granularity,
                                      .sort = view().sort(),
                                      .functions = peek_ ? 0 : output().limit(),
                                      .names = names_});
    answer_.head = input_reader.Head(peek_ ? "peek" : "tree");
    if (peek_ && answer_.blocks.empty() && !inputs->empty()) {
      help_ = NoFunctionHelp(inputs->front().recording(), pattern_, "top --tagfocus");
    }
    return {};
  }

  Result<void> Print(const InputReader& input_reader, Streams& streams) override {
    return output().Print(
        MakeView(answer_), [&] { return Table(input_reader); }, streams);
  }

  ExitCode AfterPrint(Streams& streams) override {
    if (peek_ && answer_.blocks.empty()) {
      Warn(streams, fmt::format("no function matches '{}'{}", pattern_, help_));
    }
    return ExitCode::kOk;
  }

  [[nodiscard]] TextTable Table(const InputReader& input_reader) const {
    TextTable table;
    TabulateStream([source = answer_.source] { return source->Rows(); },
                   Columns(input_reader.is_bytes()).all(), table);
    table.blocks = answer_.blocks;
    table.head = Head(input_reader,
                      fmt::format("{} · {} {}", InputsText(input_reader), input_reader.type_word(),
                                  AmountText(input_reader, answer_.total)));
    table.head.emplace_back(
        "← callers of a function, and what flows through the call; → its callees");
    const std::int64_t more = answer_.functions - static_cast<std::int64_t>(answer_.blocks.size());
    if (!peek_ && more > 0) {
      table.foot.push_back(fmt::format("… {} more functions (-n 0 shows all)", FormatCount(more)));
    }
    return table;
  }

  [[nodiscard]] TableColumns<TreeRow> Columns(bool bytes) const {
    const auto share = [total = answer_.total](const std::optional<std::int64_t>& part) {
      return part ? Cell(Percent{Ratio(*part, total)}) : Cell();
    };
    TableColumns<TreeRow> columns(kTreeFields, bytes);
    columns["flat_share"].get = [share](const TreeRow& row) { return share(row.flat); };
    columns["cum_share"].get = [share](const TreeRow& row) { return share(row.cum); };
    PutPlaces(true, columns);
    columns["name"].get = WhereText;
    if (view().sort() == SortBy::kCum) {
      columns.SwapDrops("flat", "cum");
      columns.SwapDrops("flat_share", "cum_share");
    }
    return columns;
  }

  bool peek_;
  std::string pattern_;
  std::string help_;  // where nothing matches it
  std::optional<NamePattern> names_;
  TreeAnswer answer_;
};

class Tree final : public TreeCommand {
 public:
  Tree() : TreeCommand(false) {}
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE...]",
            .examples =
                "memtool tree memory9.prof\n"
                "memtool tree --cum -n 5 --frames all memory9.prof"};
  }
};

class Peek final : public TreeCommand {
 public:
  Peek() : TreeCommand(true) {}
  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] REGEX [FILE...]",
            .examples =
                "memtool peek anotherfunc memory9.prof\n"
                "memtool peek --frames all '^normal$' memory9.prof"};
  }
};

}  // namespace

std::unique_ptr<Command> MakeTree() {
  return std::make_unique<Tree>();
}
std::unique_ptr<Command> MakePeek() {
  return std::make_unique<Peek>();
}

}  // namespace memtool::commands
