// The events of a history one by one, with what each began or ended, and what became of one block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/answers/stack_names.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/history/events.h"
#include "memtool/profile/keywords/keywords.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/select/view.h"
#include "memtool/profile/steps/step_places.h"

namespace memtool {

// With what allocations are told besides, where it is asked for.
struct EventDetails {
  std::shared_ptr<const StepPlaces> places{};  // null: they are told without
  const Keywords* keywords = nullptr;          // null: no dictionary fits
};

struct EventsQuery {
  std::string name;  // of the input, for the head: a path
  MomentRange range;
  std::string device;  // empty = all
  EventFilter filter;
  bool stacks = false;  // rows are written with whole stacks
  EventDetails details{};
  // Instead of all: this many allocations, the largest of those that are live at some time in the
  // range, also from before it; the largest first. 0 = all events.
  std::size_t largest = 0;
  // How many rows to hold; the rest is only counted. 0 = rows are made one by one as they are asked
  // for, and none is held.
  std::size_t limit = 0;
  bool count = false;  // without a limit: count them too, which is a pass of its own
};

struct EventRow {
  std::size_t trace = 0;    // row of History::traces
  std::int64_t number = 0;  // entry of the trace
  std::int64_t time = kNoTime;
  std::int32_t device = -1;
  Action action = Action::kOther;
  std::int64_t size = 0;  // bytes
  std::optional<BlockId> id{};
  std::int64_t allocated = 0;  // bytes in blocks after it; clamped: unknown
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
  // Of allocations, where EventDetails are given.
  std::optional<StepPlace> place{};
  std::string_view bucket{};   // on the first axis of the dictionary
  std::string_view word{};     // that decides; empty in Others
  std::string_view matched{};  // the text that has it
};

// "layer 3 of 12"; empty for what repeats no layer and no parameter.
std::string RepetitionText(const std::optional<StepPlace>& place);

inline constexpr auto kEventFields = Fields<EventRow>({
    {"event", "EVENT", Unit::kOrdinal, &EventRow::number, "the number of the event in its list",
     Drop(1)},
    {"time", "TIME", Unit::kMicroseconds, kInWords,
     "when it happened, after the first event of the file", Drop(5)},
    {"device", "DEV", Unit::kOrdinal, &EventRow::device, "the device", Drop(4)},
    {"action", "ACTION", Unit::kText,
     [](const EventRow& row) -> std::optional<std::string_view> { return ActionName(row.action); },
     "what happened", kFixed,
     R"("alloc"|"free_requested"|"free_completed"|"segment_alloc"|"segment_free"|)"
     R"("segment_map"|"segment_unmap"|"oom"|"adjust"|"snapshot"|"annotate"|"other")"},
    {"size", "SIZE", Unit::kBytes, &EventRow::size, "bytes of the block or segment"},
    {"id", "BLOCK", Unit::kText,
     [](const EventRow& row) { return row.id ? Value(ToString(*row.id)) : Value(); },
     "the block: its address, and how often the address was used before", Drop(7) | kFixed,
     "string|null"},
    {"lived", "LIVED", Unit::kMicroseconds, kInWords,
     "how long the block lived, in events and time", Drop(6)},
    {"allocated", "LIVE", Unit::kBytes,
     [](const EventRow& row) { return Unclamped(row.allocated); },
     "bytes in blocks after the event", Drop(3) | kOrUnknown},
    {"time_us", "", Unit::kMicroseconds,
     [](const EventRow& row) {
       return row.time == kNoTime ? std::nullopt : std::optional(row.time / 1000);
     },
     "when it happened, by the clock of the file"},
    {"address", "", Unit::kAddress,
     [](const EventRow& row) { return row.id ? std::optional(row.id->address) : std::nullopt; },
     "the address of the block", kPlain, "string|null"},
    {"stream", "", Unit::kAddress, [](const EventRow& row) { return std::optional(row.stream); },
     "the stream that it was on"},
    {"partner", "", Unit::kOrdinal, &EventRow::partner,
     "the event at the other end of the life of the block"},
    {"lived_events", "", Unit::kCount, &EventRow::lived_events, "events between the two"},
    {"lived_us", "", Unit::kMicroseconds,
     [](const EventRow& row) {
       return row.lived_nanos ? std::optional(*row.lived_nanos / 1000) : std::nullopt;
     },
     "time between the two"},
    {"device_free", "", Unit::kBytes, &EventRow::device_free,
     "what the driver had free; of an event that ran out of memory"},
    {"name", "BY", Unit::kText,
     [](const EventRow& row) -> std::optional<std::string_view> { return row.who->name; },
     "who did it: the innermost frame that is shown", kPlaces},
    {"file", "", Unit::kText,
     [](const EventRow& row) -> std::optional<std::string_view> { return row.who->file; },
     "the file that the name is in"},
    {"line", "", Unit::kOrdinal, [](const EventRow& row) { return LineValue(row.who->line); },
     "the line in that file"},
    {"via", "", Unit::kText,
     [](const EventRow& row) {
       return row.who->via.empty() ? std::nullopt : std::optional<std::string_view>(row.who->via);
     },
     "the call into a framework under which frames are hidden", kPlain, "string|null"},
    {"labels", "", Unit::kText, &EventRow::labels,
     "what the file says about the event, as \"key=value key=value\""},
    {"step", "STEP", Unit::kOrdinal,
     [](const EventRow& row) {
       return row.place && row.place->step ? Value(*row.place->step) : Value();
     },
     "the step that allocates it; with --details", Drop(2), "integer|null?"},
    {"phase", "PHASE", Unit::kText,
     [](const EventRow& row) { return row.place ? Value(ToName(row.place->phase)) : Value(); },
     "what the step does then", Drop(2), R"("forward"|"backward"|"optimizer"|"other"|null?)"},
    {"layer", "LAYER", Unit::kText,
     [](const EventRow& row) {
       const std::string text = RepetitionText(row.place);
       return text.empty() ? Value() : Value(text);
     },
     "which layer or parameter, in the order of the work", Drop(2), "string|null?"},
    {"bucket", "BUCKET", Unit::kText,
     [](const EventRow& row) { return row.bucket.empty() ? Value() : Value(row.bucket); },
     "the category of the allocation", Drop(2), "string|null?"},
    {"word", "", Unit::kText,
     [](const EventRow& row) { return row.word.empty() ? Value() : Value(row.word); },
     "the word of the dictionary that decides so", kPlain, "string|null?"},
    {"matched", "", Unit::kText,
     [](const EventRow& row) { return row.matched.empty() ? Value() : Value(row.matched); },
     "the text that it is found in", kPlain, "string|null?"},
    {"stack", "", Unit::kText, [](const EventRow& row) { return Value(row.who->Stack()); },
     "all frames, \"root;caller;leaf\"", kPlain, "string?"},
    {"frames", "", Unit::kNested, [](const EventRow& row) { return row.who->Frames(); },
     "the same with their places, innermost first; not in CSV", kNests,
     "{name: string, file: string, line: integer|null}[]?"},
});

// Makes the rows of chosen events.
class EventSource {
 public:
  // Index and view are kept by reference. `ranges` in the order of their traces.
  EventSource(const HistoryIndex& index, const View& view, std::vector<EventRange> ranges,
              const EventsQuery& query)
      : index_(index),
        view_(view),
        ranges_(std::move(ranges)),
        filter_(query.filter),
        details_(query.details),
        names_(view) {}

  // Begins a pass over all of them, in the order of the file. The source must outlive it.
  [[nodiscard]] RowStream<EventRow> Rows();
  // The same without rows.
  [[nodiscard]] EventCursor Events() const { return {index_, view_, ranges_, filter_}; }
  void Make(const ListedEvent& listed, EventRow& row);

  [[nodiscard]] const View& view() const { return view_; }
  [[nodiscard]] StackNames& names() { return names_; }

 private:
  void PutLife(const ListedEvent& listed, EventRow& row) const;
  void PutDetails(const ListedEvent& listed, EventRow& row);

  const HistoryIndex& index_;
  const View& view_;
  std::vector<EventRange> ranges_;
  EventFilter filter_;
  EventDetails details_;
  std::optional<KeywordMatches> matches_;  // once one is asked for
  StackNames names_;
};

// The first `limit` events of the source as columns, without a row of each; none = all.
AnswerColumns EventColumns(EventSource& source, std::span<const FieldInfo> fields,
                           std::optional<std::size_t> limit);

// The lifetime of a block or segment, within the selected events.
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

// Rows refer to what the answer owns, and the answer to the index and the view that it was made
// from.
struct EventsAnswer {
  AnswerHead head{.question = "events"};
  std::shared_ptr<EventSource> source;
  bool stacks = false;
  bool details = false;
  bool largest = false;                  // allocations alone, the largest first
  bool streamed = false;                 // rows are not held: `source` makes them
  std::vector<EventRow> rows;            // the first ones
  std::optional<std::uint64_t> count{};  // of all; none when nobody asked
  std::optional<BlockStory> story{};     // of EventFilter::id, where events were counted
  std::int64_t zero = kNoTime;           // the file's first time; kNoTime without times
};

// The view is of the index's recording. Errors: those of EventsBetween.
Result<EventsAnswer> ListEvents(const HistoryIndex& index, const View& view,
                                const EventsQuery& query);
AnswerView MakeView(const EventsAnswer& answer);

}  // namespace memtool
