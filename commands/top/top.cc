// memtool top: what holds the memory.
#include "memtool/profile/answers/top.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/value_semantic.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/command.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "output/tabulate.h"
#include "ranks/names/process_names.h"
#include "rows/rows.h"
#include "rows/rows_command.h"

namespace memtool::commands {

namespace {

class TopCommand final : public RowsCommand {
 public:
  TopCommand() : RowsCommand(kByRows) {}

  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE...]",
            .examples =
                "memtool top memory9.prof\n"
                "memtool top --by line --focus train memory9.prof\n"
                "memtool top --by label:device *.prof\n"
                "memtool top --frames all --cum -n 50 memory9.prof\n"
                "memtool top --cum snapshot.pickle     # SAVES: what checkpointing can save\n"
                "memtool top --format json -n 0 memory9.prof | jq '.rows[0]'",
            .often = "at by cum"};
  }

 private:
  [[nodiscard]] bool TakesConf() const override { return true; }

  void DeclareMore(po::options_description& options) override {
    po::options_description group("Comparison");
    group.add_options()("diff-base", po::value(&bases_)->value_name("FILE"),
                        "subtract this input; rows show what is more (see also memtool diff)");
    options.add(group);
  }

  Result<void> Answer(InputReader& input_reader, const std::vector<std::string>& names) override {
    std::vector<std::string> all = names;
    all.insert(all.end(), bases_.begin(), bases_.end());
    MEMTOOL_TRY(CheckNames(all));
    // A table shows one of the two: what the row itself made, or its callees' too.
    TopQuery query{.by = view().by(),
                   .sort = view().sort(),
                   .peak_rows = output().limit(),
                   .peak_with_callees = !output().is_table() || view().sort() == SortBy::kCum};
    if (names.size() > 1 && bases_.empty() &&
        (query.by.automatic || query.by.kind == By::Kind::kInput)) {
      input_reader.KeepApart();
      return Several(std::move(query), input_reader, names);
    }
    TopMaker maker(std::move(query));
    // What is compared goes by the names that it has in both.
    const ProcessNames processes(bases_.empty() ? names : std::vector<std::string>());
    MEMTOOL_TRY(ForEachInput(input_reader, names, [&](Selection selection) {
      const std::string_view process = processes.Of(selection.name());
      maker.Add(std::move(selection), process);
    }));
    if (!bases_.empty()) {
      first_base_ = input_reader.notes().size();
      MEMTOOL_TRY(ForEachInput(input_reader, bases_,
                               [&](const Selection& selection) { maker.AddBase(selection); }));
    }
    answer_ = std::move(maker).Make();
    answer_.head = input_reader.Head("top");
    return {};
  }

  // Compiled programs need not be there at once: where the first two inputs are such, each input is
  // a row, and nothing is added up.
  Result<void> Several(TopQuery query, InputReader& input_reader,
                       const std::vector<std::string>& names) {
    std::optional<TopMaker> maker;
    std::optional<Selection> first;
    const auto begin = [&] {
      maker.emplace(query);
      if (first) {
        maker->Add(*std::move(first));
      }
    };
    MEMTOOL_TRY(ForEachInput(input_reader, names, [&](Selection selection) {
      const bool program = selection.recording().metadata.origin.kind == RecordingKind::kProgram;
      if (!maker && !first && program) {
        first = std::move(selection);
        return;
      }
      if (!maker) {
        apart_ = first && program ? 1 : 0;
        query.by = apart_ > 0 ? By{.kind = By::Kind::kInput} : query.by;
        begin();
      }
      apart_ += apart_ > 0 ? 1 : 0;
      maker->Add(std::move(selection));
    }));
    if (!maker) {
      begin();
    }
    answer_ = std::move(*maker).Make();
    if (apart_ > 1) {
      answer_.total = answer_.rows.empty() ? 0 : answer_.rows.front().flat;
      answer_.unfiltered = answer_.total_abs = answer_.total;
    }
    answer_.head = input_reader.Head("top");
    return {};
  }

  Result<void> Print(const InputReader& input_reader, Streams& streams) override {
    return output().Print(
        MakeView(answer_), [&] { return Table(input_reader); }, streams);
  }

  [[nodiscard]] TextTable Table(const InputReader& input_reader) const {
    TextTable table;
    Tabulate(answer_.rows, Columns(input_reader).all(), RowsToShow(), 0, table);
    if (answer_.base_total) {
      table.head.push_back(fmt::format("{} {} minus base {} {}: {}", input_reader.notes()[0].path,
                                       AmountText(input_reader, *answer_.new_total),
                                       input_reader.notes()[first_base_].path,
                                       AmountText(input_reader, *answer_.base_total),
                                       AmountText(input_reader, answer_.total, true)));
      return table;
    }
    if (apart_ > 1) {
      table.head = {fmt::format(
          "{} compiled programs · the largest needs {} · they need not be there "
          "at once, so nothing is added up",
          FormatCount(static_cast<std::int64_t>(apart_)), AmountText(input_reader, answer_.total))};
      return table;
    }
    table.head = Head(input_reader, TotalLine(input_reader));
    if (answer_.peak) {
      table.column_notes = {
          {"SAVES",
           by_cum()
               ? "SAVES: how much the whole run's peak would fall without the row and what it calls"
               : "SAVES: how much the whole run's peak would fall without the row"}};
    }
    const auto notes = FootNotes(answer_.unknown);
    table.foot.insert(table.foot.end(), notes.begin(), notes.end());
    return table;
  }

  [[nodiscard]] bool by_cum() const { return view().sort() == SortBy::kCum; }

  // Rows that only pass memory on come last, and a few of them are enough unless more were asked
  // for. 0 = all.
  [[nodiscard]] std::size_t RowsToShow() const {
    constexpr std::size_t kPassing = 3;
    const bool chosen = input().rows().has_value() || by_cum();
    if (chosen || answer_.by.kind != By::Kind::kFrame) {
      return output().limit();
    }
    const auto first =
        std::find_if(answer_.rows.begin(), answer_.rows.end(),
                     [](const TopRow& row) { return row.flat == 0 && row.unknown == 0; });
    const auto shown = static_cast<std::size_t>(first - answer_.rows.begin()) + kPassing;
    return output().limit() == 0 ? shown : std::min(output().limit(), shown);
  }

  [[nodiscard]] std::string TotalLine(const InputReader& input_reader) const {
    std::string line =
        fmt::format("{} · {} {}", InputsText(input_reader, answer_.by.kind == By::Kind::kInput),
                    input_reader.type_word(), AmountText(input_reader, answer_.total));
    if (answer_.total != answer_.unfiltered) {
      line += fmt::format(" of {} ({:.1f}%)", AmountText(input_reader, answer_.unfiltered),
                          100.0 * Ratio(answer_.total, answer_.unfiltered));
    }
    return line;
  }

  [[nodiscard]] TableColumns<TopRow> Columns(const InputReader& input_reader) const {
    auto fields = kTopFields;
    for (Field<TopRow>& field : fields) {
      const bool amount = field.unit == Unit::kAmount || field.unit == Unit::kRatio;
      field.layout.signs = amount && answer_.base_total.has_value();
    }
    const auto share = [whole = answer_.unfiltered,
                        sign = answer_.base_total.has_value()](std::int64_t part) {
      return Percent{Ratio(part, whole), sign};
    };
    TableColumns<TopRow> columns(fields, input_reader.is_bytes());
    columns["flat_share"].get = [share](const TopRow& row) { return share(row.flat); };
    columns["cum_share"].get = [share](const TopRow& row) { return share(row.cum); };
    columns["saves"].get = [peak = answer_.peak.value_or(0), bytes = input_reader.is_bytes(),
                            cum = by_cum()](const TopRow& row) {
      const auto& without = cum ? row.peak_without_cum : row.peak_without;
      return without ? Cell(Amount{SaturatingSubtract(peak, *without), bytes}) : Cell();
    };
    const bool frames = answer_.by.kind == By::Kind::kFrame;
    PutPlaces(frames, columns);
    if (by_cum()) {
      columns.SwapDrops("flat", "cum");
      columns.SwapDrops("flat_share", "cum_share");
    }
    columns.KeepIf(answer_.peak.has_value(), "saves");
    columns.KeepIf(frames, "cum");
    columns.KeepIf(frames, "cum_share");
    return columns;
  }

  std::vector<std::string> bases_;
  std::size_t first_base_ = 0;  // row of the session's notes
  std::size_t apart_ = 0;       // compiled programs, each a row where there are several
  TopAnswer answer_;
};

}  // namespace

std::unique_ptr<Command> MakeTop() {
  return std::make_unique<TopCommand>();
}

}  // namespace memtool::commands
