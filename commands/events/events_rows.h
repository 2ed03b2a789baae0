// Rows of memtool events: one event each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memtool/profile/history/events.h"
#include "memtool/profile/rows/flat_cum.h"
#include "memtool/profile/select/view.h"
#include "output/report.h"

namespace memtool::commands {

// What stacks are called, worked out once for each.
class EventNames {
 public:
  struct Name {
    std::string name;
    std::string file;
    std::int64_t line = 0;
    std::string via;
    std::string stack;  // "root;caller;leaf"
    std::string lines;  // for people, innermost first, one frame a line, escaped
  };

  explicit EventNames(const View& view)
      : walker_(view, Granularity::kLine, space_), names_(view.recording().stack_count()) {}
  const Name& Of(StackId stack);
  // "forward  model.py:12", or "(no stack)".
  std::string Short(StackId stack);

 private:
  NodeSpace space_;
  NodeWalker walker_;
  NodeStack nodes_;
  std::vector<std::optional<Name>> names_;
  Name none_{.name = "(no stack)", .file = {}, .via = {}, .stack = {}, .lines = "(no stack)"};
};

class EventRows {
 public:
  // The view and the names must outlive it. `stacks`: whole stacks, not only who. `text`: also what
  // people read, which data formats leave out.
  EventRows(const View& view, EventNames& names, bool stacks, bool text);

  [[nodiscard]] std::vector<Column> Columns() const;
  void Make(const ListedEvent& listed, std::vector<Cell>& row);
  // Seconds since the file's first event, for people: "+12.345678 s"; empty without a time.
  [[nodiscard]] std::string When(std::int64_t time) const;
  // "28 events, 1.204 ms": from one entry of a trace to a later one.
  [[nodiscard]] std::string Lived(const Trace& trace, std::int64_t from, std::int64_t to) const;

 private:
  [[nodiscard]] const Event& At(const Trace& trace, std::int64_t number) const;
  [[nodiscard]] std::string Labels(LabelSetId set) const;
  void PutLife(const ListedEvent& listed, std::vector<Cell>& row) const;
  void PutText(const ListedEvent& listed, const EventNames::Name& name,
               std::vector<Cell>& row) const;

  const View& view_;
  const Recording& recording_;
  EventNames& names_;
  bool stacks_;
  bool text_;
  std::int64_t zero_ = kNoTime;
};

}  // namespace memtool::commands
