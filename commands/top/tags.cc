// memtool tags: bytes per label value.
#include "memtool/profile/answers/tags.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/command.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "output/tabulate.h"
#include "ranks/names/process_names.h"
#include "rows/rows.h"
#include "rows/rows_command.h"

namespace memtool::commands {

namespace {

class TagsCommand final : public RowsCommand {
 public:
  TagsCommand() : RowsCommand(ByOption{}) {}

  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE...]",
            .examples =
                "memtool tags memory9.prof\n"
                "memtool tags --tagshow device --focus train memory9.prof"};
  }

 private:
  Result<void> Answer(InputReader& input_reader, const std::vector<std::string>& names) override {
    input_reader.WatchCounts();
    const ProcessNames processes(names);
    TagsMaker maker;
    MEMTOOL_TRY(ForEachInput(input_reader, names, [&](const Selection& selection) {
      maker.Add(selection, processes.Of(selection.name()));
    }));
    answer_ = std::move(maker).Make();
    answer_.head = input_reader.Head("tags");
    return {};
  }

  Result<void> Print(const InputReader& input_reader, Streams& streams) override {
    return output().Print(
        MakeView(answer_), [&] { return Table(input_reader); }, streams);
  }

  [[nodiscard]] TextTable Table(const InputReader& input_reader) const {
    TextTable table;
    TableColumns<TagRow> columns(kTagsFields, input_reader.is_bytes());
    columns["share"].get = [total = answer_.total](const TagRow& row) {
      return Percent{Ratio(row.bytes, total)};
    };
    Tabulate(answer_.rows, columns.all(), output().limit(), 0, table);
    table.head = Head(input_reader,
                      fmt::format("{} · {} {}", InputsText(input_reader), input_reader.type_word(),
                                  AmountText(input_reader, answer_.total)));
    if (answer_.rows.empty()) {
      table.foot.emplace_back("no labels");
    }
    const auto notes = FootNotes(answer_.unknown);
    table.foot.insert(table.foot.end(), notes.begin(), notes.end());
    return table;
  }

  TagsAnswer answer_;
};

}  // namespace

std::unique_ptr<Command> MakeTags() {
  return std::make_unique<TagsCommand>();
}

}  // namespace memtool::commands
