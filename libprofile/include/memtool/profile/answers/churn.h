// Short-lived memory: allocations by who made them, and how long they lived.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/answers/stack_names.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/history/churn.h"
#include "memtool/profile/history/events.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/view.h"

namespace memtool {

struct ChurnQuery {
  std::string name;  // of the input, for the head: a path
  MomentRange range;
  std::string device;  // empty = all
  EventFilter filter;  // of allocations; its id is ignored
  By by;
  ShortLived limit;
};

struct ChurnRow {
  SharedText name;
  SharedText file;        // empty where it has no place
  std::int64_t line = 0;  // 0 likewise
  Churn churn;
  const StackName* who = nullptr;  // of rows that are stacks: one of those with these names
};

// Rows refer to what the answer owns, and the answer to the view that it was made from.
struct ChurnAnswer {
  AnswerHead head{.question = "events"};
  std::shared_ptr<StackNames> stacks{};  // of rows that are stacks; else null
  std::vector<ChurnRow> rows;            // those that allocate most bytes first
  Churn total;
  ShortLived limit;
  // From the first event to the last, by the clock; nothing without times.
  std::optional<std::int64_t> nanos{};
  // Over that span; none when it has no length.
  std::optional<double> allocations_per_second{};
  std::optional<double> bytes_per_second{};
};

// Of a median in nanoseconds.
inline Value InMicroseconds(const std::optional<std::int64_t>& nanos) {
  return nanos ? Value(*nanos / 1000) : Value();
}

inline constexpr auto kChurnFields = Fields<ChurnRow>({
    {"bytes", "BYTES", Unit::kBytes, [](const ChurnRow& row) { return Value(row.churn.bytes); },
     "bytes that were allocated"},
    {"allocations", "COUNT", Unit::kCount,
     [](const ChurnRow& row) { return Value(row.churn.allocations); },
     "how many allocations these were", Drop(3), "natural"},
    {"short_bytes", "SHORT-LIVED", Unit::kBytes,
     [](const ChurnRow& row) { return Value(row.churn.short_bytes); },
     "of these, bytes that were freed within the limit", Drop(1)},
    {"short_share", "SHORT%", Unit::kRatio, kInWords, "SHORT-LIVED as a share of BYTES", Drop(2)},
    {"kept_bytes", "KEPT", Unit::kBytes,
     [](const ChurnRow& row) { return Value(row.churn.kept_bytes); },
     "bytes that were not freed before the file ends", Drop(4)},
    {"median_life", "MEDIAN LIFE", Unit::kMicroseconds, kInWords,
     "how long half of what was freed lived at most", Drop(5)},
    {"short_lived", "", Unit::kCount,
     [](const ChurnRow& row) { return Value(row.churn.short_lived); },
     "allocations that were freed within the limit", kPlain, "natural"},
    {"kept", "", Unit::kCount, [](const ChurnRow& row) { return Value(row.churn.kept); },
     "allocations that were not freed before the file ends", kPlain, "natural"},
    {"median_events", "", Unit::kCount,
     [](const ChurnRow& row) { return Value(row.churn.median_events); },
     "events that half of what was freed lived at most", kPlain, "integer|null"},
    {"median_us", "", Unit::kMicroseconds,
     [](const ChurnRow& row) { return InMicroseconds(row.churn.median_nanos); }, "the same in time",
     kPlain, "integer|null"},
    {"name", "BY", Unit::kText, &ChurnRow::name, "who allocated", kPlaces},
    {"file", "", Unit::kText, &ChurnRow::file, "the file that the name is in"},
    {"line", "", Unit::kOrdinal, [](const ChurnRow& row) { return LineValue(row.line); },
     "the line in that file"},
    {"frames", "", Unit::kNested,
     [](const ChurnRow& row) { return row.who == nullptr ? Value() : row.who->Frames(); },
     "with --by stack: its frames with their places, innermost first; not in CSV", kNests,
     "{name: string, file: string, line: integer|null}[]?"},
});

// The view is of the index's recording. Errors: those of EventsBetween and GroupAllocations.
Result<ChurnAnswer> ComputeChurn(const HistoryIndex& index, const View& view,
                                 const ChurnQuery& query);
AnswerView MakeView(const ChurnAnswer& answer);

}  // namespace memtool
