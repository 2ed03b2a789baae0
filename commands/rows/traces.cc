// memtool traces: every distinct stack with its labels.
#include "memtool/profile/answers/traces.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "command.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "output/escape.h"
#include "output/tabulate.h"
#include "rows/rows.h"
#include "rows/rows_command.h"

namespace memtool::commands {

namespace {

// The labels, then a line per frame. Escaped here, because line breaks in names must not become
// ours. Each frame's line is made once: stacks share frames.
class StackTexts {
 public:
  std::string operator()(const TraceRow& row) {
    const NodeSpace& frames = row.texts->frames;
    lines_.resize(frames.size());
    std::string text = row.Labels().empty() ? "(no labels)" : EscapeText(row.Labels());
    for (const NodeId node : row.Stack()) {
      std::string& line = lines_[node.value()];
      if (line.empty()) {
        const std::string place = PlaceText(frames.File(node), frames[node].line);
        line = '\n' + EscapeText(NameText(frames.Name(node)) + (place.empty() ? "" : "  " + place));
      }
      text += line;
    }
    text += row.Stack().empty() ? "\n(no stack)" : "";
    return text;
  }

 private:
  std::vector<std::string> lines_;  // per node
};

class TracesCommand final : public RowsCommand {
 public:
  TracesCommand() : RowsCommand(ByOption{}) {}

  [[nodiscard]] Doc doc() const override {
    return {.summary = "every stack with its labels, largest first",
            .usage = "[options] [FILE...]",
            .examples =
                "memtool traces -n 5 memory9.prof\n"
                "memtool traces --frames all --focus anotherfunc memory9.prof"};
  }

 private:
  Result<void> Answer(Session& session, const std::vector<std::string>& names) override {
    session.WatchCounts();
    auto answer = AnswerOf(TracesMaker(), session, names, "traces");
    MEMTOOL_TRY(answer);
    answer_ = *std::move(answer);
    return {};
  }

  Result<void> Print(const Session& session, Streams& streams) override {
    return output().Print(
        ViewOf(answer_), [&] { return Table(session); }, streams);
  }

  [[nodiscard]] TextTable Table(const Session& session) const {
    TextTable table;
    const bool bytes = session.is_bytes();
    auto count = ColumnOf(FieldNamed(kTracesFields, "count"), bytes);
    count.style.drop = 1;
    Tabulate(
        answer_.rows,
        {ColumnOf(FieldNamed(kTracesFields, "value"), bytes),
         count,
         {{.title = "LABELS AND STACK, INNERMOST FIRST",
           .left = true,
           .lines = true,
           .key = "stack"},
          [texts = std::make_shared<StackTexts>()](const TraceRow& row) { return (*texts)(row); }}},
        output().limit(), 0, table);
    table.head =
        Head(session, fmt::format("{} · {} {} in {} traces", InputsText(session),
                                  session.choice().name, AmountText(session, answer_.total),
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
