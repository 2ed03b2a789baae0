#include "events/events_table.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "events/events_words.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "output/escape.h"
#include "output/tabulate.h"

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
      const StackNames::Frame frame = names_.GetFrame(node);
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
  KeyMap<const StackName*, std::string> lines_;
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
  KeyMap<const StackName*, std::string> texts_;
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

TableColumns<EventRow> Columns(const EventsAnswer& answer) {
  TableColumns<EventRow> columns(kEventFields, true);
  columns["time"].get = [zero = answer.zero](const EventRow& row) {
    return SinceText(row.time, zero);
  };
  columns["time"].at_most = [zero = answer.zero](const EventRow& row) {
    return SinceWidth(row.time, zero);
  };
  columns["id"].at_most = [](const EventRow& row) { return row.id ? IdWidth(*row.id) : 0; };
  columns["lived"].get = LivedCell;
  columns["lived"].at_most = LivedCellWidth;
  for (const std::string_view key : {"step", "phase", "layer", "bucket"}) {
    columns.KeepIf(answer.details, key);
  }
  TableColumn<EventRow>& by = columns["name"];
  if (answer.stacks) {
    by.style = {.title = by.style.title, .left = true, .lines = true};
    by.get = [lines = std::make_shared<StackLines>(answer.source->names())](const EventRow& row) {
      return lines->Of(*row.who);
    };
  } else {
    by.get = [frames = std::make_shared<FrameTexts>()](const EventRow& row) {
      const std::string& frame = frames->Of(*row.who);
      // Such an entry consists only of what it says about a block.
      return row.action == Action::kAnnotate && !row.labels.empty() ? row.labels + "  " + frame
                                                                    : frame;
    };
  }
  return columns;
}

}  // namespace

TextTable EventsTable(const EventsAnswer& answer, std::size_t limit) {
  TextTable table;
  const auto columns = Columns(answer);
  if (answer.streamed) {
    TabulateStream([source = answer.source] { return source->Rows(); }, columns.all(), table);
    return table;
  }
  Tabulate(answer.rows, columns.all(), limit, 0, table);
  if (!answer.largest) {  // which were asked for by number
    table.skipped_rows += *answer.count - answer.rows.size();
  }
  return table;
}

}  // namespace memtool::commands
