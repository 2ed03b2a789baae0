// The events of a history one by one, with what each began or ended, and what became of one block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/answers/stack_names.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/history/events.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/select/view.h"

namespace memtool {

struct EventsQuery {
  std::string name;  // of the input, for the head: a path
  MomentRange range;
  std::string device;  // empty = all
  EventFilter filter;
  bool stacks = false;  // rows are written with whole stacks
  // How many rows to hold; the rest is only counted. 0 = rows are made one by one as they are asked
  // for, and none is held.
  std::size_t limit = 0;
  bool count = false;  // without a limit: count them too, which is a pass of its own
};

// "0x7f064c000000"
std::string AddressText(std::uint64_t address);

struct EventRow {
  std::size_t trace = 0;    // row of History::traces
  std::int64_t number = 0;  // entry of the trace
  std::int64_t time = kNoTime;
  std::int32_t device = -1;
  Action action = Action::kOther;
  std::int64_t size = 0;  // bytes
  std::optional<BlockId> id{};
  std::int64_t allocated = 0;  // bytes in blocks after it
  std::uint64_t stream = 0;    // its raw handle
  // The other end, an entry of the trace: the free of an allocation, the allocation of a free.
  std::optional<std::int64_t> partner{};
  std::optional<std::int64_t> lived_events{};  // between the two ends
  std::optional<std::int64_t> lived_nanos{};
  // For an out-of-memory event: what the driver had free
  std::optional<std::int64_t> device_free{};
  // Who did it; for a free without frames, who allocated. Owned by the answer.
  const StackName* who = nullptr;
  std::string labels;  // "key=value key=value", those that the view shows
};

inline constexpr auto kEventFields = Fields<EventRow>({
    {"event", "EVENT", Unit::kOrdinal, &EventRow::number},
    {"device", "DEV", Unit::kOrdinal, &EventRow::device},
    {"action", "ACTION", Unit::kText,
     [](const EventRow& row) { return Value(ActionName(row.action)); }},
    {"size", "SIZE", Unit::kBytes, &EventRow::size},
    {"id", "BLOCK", Unit::kText,
     [](const EventRow& row) { return row.id ? Value(ToString(*row.id)) : Value(); }},
    {"allocated", "LIVE", Unit::kBytes, &EventRow::allocated},
    {"time_us", "", Unit::kMicroseconds,
     [](const EventRow& row) { return row.time == kNoTime ? Value() : Value(row.time / 1000); }},
    {"address", "", Unit::kAddress,
     [](const EventRow& row) { return row.id ? Value(AddressText(row.id->address)) : Value(); }},
    {"stream", "", Unit::kAddress,
     [](const EventRow& row) { return Value(AddressText(row.stream)); }},
    {"partner", "", Unit::kOrdinal, &EventRow::partner},
    {"lived_events", "", Unit::kCount, &EventRow::lived_events},
    {"lived_us", "", Unit::kMicroseconds,
     [](const EventRow& row) {
       return row.lived_nanos ? Value(*row.lived_nanos / 1000) : Value();
     }},
    {"device_free", "", Unit::kBytes, &EventRow::device_free},
    {"name", "", Unit::kText, [](const EventRow& row) { return Value(row.who->name); }},
    {"file", "", Unit::kText, [](const EventRow& row) { return Value(row.who->file); }},
    {"line", "", Unit::kOrdinal, [](const EventRow& row) { return LineValue(row.who->line); }},
    {"via", "", Unit::kText,
     [](const EventRow& row) { return row.who->via.empty() ? Value() : Value(row.who->via); }},
    {"labels", "", Unit::kText, &EventRow::labels},
    {"stack", "", Unit::kText, [](const EventRow& row) { return Value(row.who->stack); }},
});

// Makes the rows of chosen events.
class EventSource {
 public:
  // The view is kept by reference. `ranges` in the order of their traces.
  EventSource(const View& view, std::vector<EventRange> ranges, const EventFilter& filter)
      : view_(view), ranges_(std::move(ranges)), filter_(filter), names_(view) {}

  // Begins a pass over all of them, in the order of the file: each call makes the next row, until
  // it returns false. The source must outlive the pass.
  [[nodiscard]] std::function<bool(EventRow&)> Rows();
  // The same without rows.
  [[nodiscard]] EventCursor Events() const { return {view_, ranges_, filter_}; }
  void Make(const ListedEvent& listed, EventRow& row);

  [[nodiscard]] const View& view() const { return view_; }
  [[nodiscard]] StackNames& names() { return names_; }

 private:
  void PutLife(const ListedEvent& listed, EventRow& row) const;

  const View& view_;
  std::vector<EventRange> ranges_;
  EventFilter filter_;
  StackNames names_;
};

// The first `limit` events of the source as columns, without a row of each; none = all.
AnswerColumns EventColumns(EventSource& source, std::span<const FieldInfo> fields,
                           std::optional<std::size_t> limit);

// What became of a block or segment, as far as the chosen events tell.
struct BlockStory {
  // One end of its life.
  struct End {
    std::size_t trace = 0;
    std::int64_t event = 0;
    std::int64_t time = kNoTime;
    const StackName* who = nullptr;  // owned by the answer
  };
  // A block that no event is about, because it was there before the recording and lives on.
  struct AtEnd {
    std::int64_t requested = 0;
    const StackName* who = nullptr;
  };
  BlockId id;
  std::optional<std::int64_t> size{};  // as the first event about it says; none without one
  std::optional<End> begin{};
  std::optional<End> end{};
  std::optional<std::int64_t> lived_events{};  // when both ends are known
  std::optional<std::int64_t> lived_nanos{};
  // When no chosen event is about it.
  std::optional<AtEnd> at_end{};
  std::uint64_t gone = 0;  // how many at its address were freed by the end of the file
};

// Rows refer to what the answer owns, and the answer to the view that it was made from.
struct EventsAnswer {
  AnswerHead head{.question = "events"};
  std::shared_ptr<EventSource> source;
  bool stacks = false;
  bool streamed = false;                 // rows are not held: `source` makes them
  std::vector<EventRow> rows;            // the first ones
  std::optional<std::uint64_t> count{};  // of all; none when nobody asked
  std::optional<BlockStory> story{};     // of EventFilter::id, where events were counted
  std::int64_t zero = kNoTime;           // the file's first time; kNoTime without times
};

// The view is of the index's recording. Errors: those of EventsBetween.
Result<EventsAnswer> ListEvents(const HistoryIndex& index, const View& view,
                                const EventsQuery& query);
AnswerView ViewOf(const EventsAnswer& answer);

}  // namespace memtool
