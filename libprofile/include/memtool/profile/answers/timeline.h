// Live and reserved bytes over a history: points in order, live bytes split into layers by who
// allocated them, and the events and marks that stand between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memtool/profile/advise/keepers.h"
#include "memtool/profile/answers/answer.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/base/shared_text.h"
#include "memtool/profile/history/timeline.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/rows/table.h"
#include "memtool/profile/select/filter.h"
#include "memtool/profile/steps/steps.h"

namespace memtool {

struct TimelineQuery {
  std::string name;      // of the input, for the head: a path
  std::optional<By> by;  // what layers are; nothing = none
  std::size_t top = 8;   // how many layers have a name: those that hold most at any one time
  MomentRange range;
  std::string device;      // empty = all
  std::size_t points = 0;  // the highest of so many equal parts; 0 = every change
  bool by_time = false;    // parts and places on the axis are by time, not by event
  bool loops = false;      // also find the steps and the loops inside them
};

struct TimelineLayer {
  enum class Kind : std::uint8_t { kNamed, kBeforeRecording, kRest };
  std::string key;  // of its column: "layer_1", "before_recording", "rest"
  SharedText name;
  SharedText file;        // empty where it has no place
  std::int64_t line = 0;  // 0 likewise
  Kind kind = Kind::kNamed;
};

// An out-of-memory event of a chosen trace, inside the range or not.
struct TimelineOom {
  std::int64_t event = 0;
  std::int64_t time = kNoTime;  // nanoseconds, by the file's clock
  std::int32_t device = -1;
  std::int64_t requested_bytes = 0;  // bytes
};

// Where an out-of-memory event, or the beginning of a mark, is within the range of a trace.
struct TimelinePlace {
  std::string name;  // of a mark
  bool oom = false;
  std::int64_t event = -1;  // the last event that has happened by then
  std::int64_t since = 0;   // nanoseconds after TimelineAnswer::zero
};

struct TimelineOfTrace {
  std::size_t trace = 0;  // row of History::traces
  std::int32_t device = -1;
  TraceSummary summary;  // of the whole trace
  TimelineRange range;
  Timeline timeline;
  std::vector<TimelinePlace> places;  // in the order of the axis
  std::size_t first_row = 0;          // of its first point, in the answer
  // Some inputs do not tell what is reserved: nothing lives in what nobody reserved.
  [[nodiscard]] bool tells_reserved() const {
    return summary.reserved_peak_bytes != 0 || summary.peak_bytes <= 0;
  }
  // Of the whole trace, where TimelineQuery::loops asks for them.
  std::size_t steps = 0;
  StepSource steps_from = StepSource::kNone;
  std::string step_mark;
  std::vector<ProgramLoop> loops;
  std::vector<ForwardKeeper> keepers;  // the one that keeps most
};

// A point, as rows show it. Bytes.
struct TimelineRow {
  std::int64_t event = -1;  // of its trace; -1 = the base
  std::int64_t time = kNoTime;
  std::int32_t device = -1;
  std::int64_t allocated = 0;  // clamped: unknown; so are `reserved` and each layer
  std::int64_t reserved = 0;
  std::int64_t lowest = 0;
  std::span<const std::int64_t> layers;  // as TimelineAnswer::layers; they sum to `allocated`
};

struct TimelineAnswer {
  AnswerHead head{.question = "timeline"};
  bool by_time = false;
  bool of_frames = false;               // named layers are frames
  std::int64_t zero = kNoTime;          // the file's first time; kNoTime without times
  std::vector<TimelineLayer> layers;    // bottom first; empty when none were asked for
  std::vector<TimelineOfTrace> traces;  // those that have events
  std::vector<std::size_t> silent;      // rows of History::traces: those without
  std::vector<TimelineOom> ooms;
  std::vector<Mark> marks;  // of the file

  [[nodiscard]] std::size_t row_count() const;
  // The points of all traces, one trace after the other. Valid as long as the answer.
  [[nodiscard]] TimelineRow Row(std::size_t row) const;
  [[nodiscard]] RowStream<TimelineRow> Rows(std::size_t limit = 0) const;
};

// A column per layer follows these, under the layer's key.
inline constexpr auto kTimelineFields = Fields<TimelineRow>({
    {"event", "EVENT", Unit::kOrdinal, &TimelineRow::event, "the event, -1 = before the first one"},
    {"time", "TIME", Unit::kMicroseconds, kInWords,
     "when it was, after the first event of the file"},
    {"time_us", "", Unit::kMicroseconds,
     [](const TimelineRow& row) {
       return row.time == kNoTime ? std::nullopt : std::optional(row.time / 1000);
     },
     "when it was, by the clock of the file"},
    {"device", "DEVICE", Unit::kOrdinal, &TimelineRow::device, "the device"},
    {"allocated", "ALLOCATED", Unit::kBytes,
     [](const TimelineRow& row) { return Unclamped(row.allocated); }, "bytes in blocks",
     kOrUnknown},
    {"reserved", "RESERVED", Unit::kBytes,
     [](const TimelineRow& row) { return Unclamped(row.reserved); }, "bytes in segments",
     kOrUnknown},
    {"lowest", "", Unit::kBytes, [](const TimelineRow& row) { return Unclamped(row.lowest); },
     "with --points: the least bytes in blocks in the part that the row is the highest of"},
});

// Errors: kUsage for a moment, a device or a grouping that the recording does not have.
Result<TimelineAnswer> BuildTimeline(const HistoryIndex& index, const Filter& filter,
                                     const TimelineQuery& query);
AnswerView MakeView(const TimelineAnswer& answer);

// Where the points of a trace are on the axis: event numbers, or nanoseconds after `zero`; never
// backwards, whatever the file's clock does.
std::vector<std::int64_t> GetAxis(const TimelineAnswer& answer, const TimelineOfTrace& trace);

}  // namespace memtool
