// memtool traces: every distinct stack with its labels.
#include "memtool/profile/answers/traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/command.h"
#include "memtool/profile/base/abridge.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "output/escape.h"
#include "output/grid.h"
#include "output/tabulate.h"
#include "rows/rows.h"
#include "rows/rows_command.h"

namespace memtool::commands {

namespace {

// The labels, then a line per frame. Escaped here, because line breaks in names must not become
// ours. Each frame's line is made once: stacks share frames.
class StackTexts {
 public:
  std::string Of(const TraceRow& row) {
    std::string text = MakeLabels(row);
    for (const NodeId node : row.Stack()) {
      text += '\n';
      text += GetLine(row.texts->frames, node);
    }
    text += row.Stack().empty() ? "\n(no stack)" : "";
    return text;
  }
  // A width that none of its lines exceeds: no byte is wider than one place.
  std::size_t AtMost(const TraceRow& row) {
    std::size_t most = std::max(MakeLabels(row).size(), std::string_view("(no stack)").size());
    for (const NodeId node : row.Stack()) {
      most = std::max(most, GetLine(row.texts->frames, node).size());
    }
    return most;
  }

 private:
  static std::string MakeLabels(const TraceRow& row) {
    const std::string labels = row.Labels();
    return labels.empty() ? "(no labels)" : EscapeText(Abridge(labels, kMaxCellBytes));
  }
  const std::string& GetLine(const NodeSpace& frames, NodeId node) {
    lines_.resize(frames.size());
    std::string& line = lines_[node.value()];
    if (line.empty()) {
      const std::string place = PlaceText(frames.File(node), frames[node].line);
      line = EscapeText(Abridge(NameText(frames.Name(node)) + (place.empty() ? "" : "  " + place),
                                kMaxCellBytes));
    }
    return line;
  }

  std::vector<std::string> lines_;  // per node
};

class TracesCommand final : public RowsCommand {
 public:
  TracesCommand() : RowsCommand(ByOption{}) {}

  [[nodiscard]] Doc doc() const override {
    return {.usage = "[options] [FILE...]",
            .examples =
                "memtool traces -n 5 memory9.prof\n"
                "memtool traces --frames all --focus anotherfunc memory9.prof"};
  }

 private:
  Result<void> Answer(InputReader& input_reader, const std::vector<std::string>& names) override {
    input_reader.WatchCounts();
    auto answer = MakeAnswer(TracesMaker(), input_reader, names, "traces");
    MEMTOOL_TRY(answer);
    answer_ = *std::move(answer);
    return {};
  }

  Result<void> Print(const InputReader& input_reader, Streams& streams) override {
    return output().Print(
        MakeView(answer_), [&] { return Table(input_reader); }, streams);
  }

  static TableColumns<TraceRow> Columns(bool bytes) {
    const auto texts = std::make_shared<StackTexts>();
    TableColumns<TraceRow> columns(kTracesFields, bytes);
    columns["stack"].get = [texts](const TraceRow& row) { return texts->Of(row); };
    columns["stack"].at_most = [texts](const TraceRow& row) { return texts->AtMost(row); };
    return columns;
  }

  [[nodiscard]] TextTable Table(const InputReader& input_reader) const {
    TextTable table;
    const auto columns = Columns(input_reader.is_bytes());
    if (output().limit() == 0) {
      // All of them, one by one: their texts together may take more memory than all else.
      TabulateStream([this] { return StreamRows(std::span(answer_.rows)); }, columns.all(), table);
    } else {
      Tabulate(answer_.rows, columns.all(), output().limit(), 0, table);
    }
    table.head = Head(input_reader,
                      fmt::format("{} · {} {} in {} traces", InputsText(input_reader),
                                  input_reader.type_word(), AmountText(input_reader, answer_.total),
                                  FormatCount(static_cast<std::int64_t>(answer_.rows.size()))));
    return table;
  }

  TracesAnswer answer_;
};

}  // namespace

std::unique_ptr<Command> MakeTraces() {
  return std::make_unique<TracesCommand>();
}

}  // namespace memtool::commands
