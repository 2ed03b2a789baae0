#include "events/events_table.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "events/events_words.h"
#include "memtool/profile/base/arithmetic.h"
#include "output/escape.h"
#include "output/tabulate_stream.h"

namespace memtool::commands {

namespace {

// Stacks as lines, innermost first, one frame per line, escaped; each made once.
class StackLines {
 public:
  explicit StackLines(const StackNames& names) : names_(names) {}

  const std::string& Of(const StackName& who) {
    const auto [it, fresh] = lines_.try_emplace(&who);
    if (!fresh) {
      return it->second;
    }
    std::string& lines = it->second;
    for (const NodeId node : who.frames) {
      const StackNames::Frame frame = names_.FrameOf(node);
      lines +=
          (lines.empty() ? "" : "\n") + EscapeText(FrameText(frame.name, frame.file, frame.line));
    }
    if (who.frames.empty()) {
      lines = who.name;
    }
    return lines;
  }

 private:
  const StackNames& names_;
  std::unordered_map<const StackName*, std::string> lines_;
};

// Names with their places; each made once.
class FrameTexts {
 public:
  const std::string& Of(const StackName& who) {
    const auto [it, fresh] = texts_.try_emplace(&who);
    if (fresh) {
      it->second = FrameText(who.name, who.file, who.line);
    }
    return it->second;
  }

 private:
  std::unordered_map<const StackName*, std::string> texts_;
};

Cell LivedCell(const EventRow& row) {
  if (row.lived_events) {
    return LivedText(*row.lived_events, row.lived_nanos);
  }
  if (row.action == Action::kAlloc || row.action == Action::kSegmentAlloc) {
    return std::string("to the end");
  }
  return row.action == Action::kFreeCompleted ? Cell(std::string("from before")) : Cell();
}

std::size_t LivedCellWidth(const EventRow& row) {
  return row.lived_events ? LivedWidth(*row.lived_events, row.lived_nanos) : SIZE_MAX;
}

TableColumn<EventRow> FieldColumn(std::string_view key, int drop = 0) {
  TableColumn<EventRow> column = ColumnOf(FieldNamed(kEventFields, key), true);
  column.style.shrink = false;
  column.style.drop = drop;
  return column;
}

TableColumn<EventRow> ByColumn(const EventsAnswer& answer) {
  if (!answer.stacks) {
    return {{.title = "BY", .left = true, .shrink = true, .room = kRoomForPlaces, .key = "name"},
            [frames = std::make_shared<FrameTexts>()](const EventRow& row) {
              const std::string& frame = frames->Of(*row.who);
              // Such an entry consists only of what it says about a block.
              return row.action == Action::kAnnotate && !row.labels.empty()
                         ? row.labels + "  " + frame
                         : frame;
            }};
  }
  return {{.title = "BY", .left = true, .lines = true},
          [lines = std::make_shared<StackLines>(answer.source->names())](const EventRow& row) {
            return lines->Of(*row.who);
          }};
}

TableColumn<EventRow> IdColumn() {
  TableColumn<EventRow> column = FieldColumn("id", 7);
  column.at_most = [](const EventRow& row) { return row.id ? IdWidth(*row.id) : 0; };
  return column;
}

std::vector<TableColumn<EventRow>> Columns(const EventsAnswer& answer) {
  return {FieldColumn("event", 1),
          {{.title = "TIME", .drop = 5},
           [zero = answer.zero](const EventRow& row) { return SinceText(row.time, zero); },
           [zero = answer.zero](const EventRow& row) { return SinceWidth(row.time, zero); }},
          FieldColumn("device", 4),
          FieldColumn("action"),
          FieldColumn("size"),
          IdColumn(),
          {{.title = "LIVED", .drop = 6}, LivedCell, LivedCellWidth},
          FieldColumn("allocated", 3),
          ByColumn(answer)};
}

}  // namespace

TextTable EventsTable(const EventsAnswer& answer, std::size_t limit) {
  TextTable table;
  if (answer.streamed) {
    TabulateStream<EventRow>([source = answer.source] { return source->Rows(); }, Columns(answer),
                             table);
    return table;
  }
  Tabulate(answer.rows, Columns(answer), limit, 0, table);
  table.unmade_rows += *answer.count - answer.rows.size();
  return table;
}

}  // namespace memtool::commands
