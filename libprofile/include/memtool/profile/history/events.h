// The events of a history one by one: which are asked for, what PyTorch's viewer calls the block
// that each is about, and which event ends what it began.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/base/row_map.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/replay/replay.h"
#include "memtool/profile/select/filter.h"
#include "memtool/profile/select/view.h"

namespace memtool {

// A block or segment by the name that PyTorch's viewer gives it: "b7f064c000000_0" is the first
// block at address 0x7f064c000000, "s7f064c000000_1" the second segment there. A block's number
// goes up when a free at its address completes, a segment's when it is freed or unmapped; all
// devices of a file count together, in the order of its lists.
struct BlockId {
  bool segment = false;
  std::uint64_t address = 0;
  std::uint64_t version = 0;
  friend bool operator==(const BlockId&, const BlockId&) = default;
};

// Also the form with a mark after the letter ("b'7f064c000000_0"). Errors: kUsage.
Result<BlockId> ParseBlockId(std::string_view text);
std::string ToString(const BlockId& id);

// An action as PyTorch's snapshots write it: "free_completed". kMark is "snapshot".
std::string_view ActionName(Action action);
// "alloc,free,oom": a set of actions as bits (1 << Action). "free" is both kinds of free, "segment"
// all four of segments. Errors: kUsage.
Result<std::uint32_t> ParseActions(std::string_view text);

// All that is given must hold.
struct EventFilter {
  std::uint32_t actions = UINT32_MAX;
  std::int64_t least = INT64_MIN;  // bytes
  std::int64_t most = INT64_MAX;
  std::int64_t since = INT64_MIN;  // nanoseconds, by the file's clock
  std::int64_t until = INT64_MAX;
  std::optional<std::uint64_t> address{};  // inside [key, key + size)
  std::optional<BlockId> id{};

  [[nodiscard]] bool Matches(const Event& event) const;  // but for the id
};

// Entries `first` to `last` of a trace, both included.
struct EventRange {
  std::size_t trace = 0;  // row of History::traces
  std::int64_t first = 0;
  std::int64_t last = -1;
};

// The events of a range in each trace of GetTraces, none in one without events; both ends are
// included, and a moment is the last event that has happened by then. Errors: kUsage for a device
// or a moment that the recording does not have.
Result<std::vector<EventRange>> EventsBetween(const HistoryIndex& index, const MomentRange& range,
                                              std::string_view device);
// "start to end": both ends as they were given.
std::string RangeText(const MomentRange& range);

struct ListedEvent {
  std::size_t trace = 0;
  std::int64_t number = 0;  // entry of the trace
  const Event* event = nullptr;
  LabelSetId labels{0U};
  std::optional<BlockId> id;  // none for events that are about no block
  // Its own; for a free without frames, that of what it frees; may be none.
  StackId stack;
  std::int64_t live = 0;  // bytes in blocks after it
  // The other end, as an entry of the trace: the free of an allocation, the allocation of a free.
  std::optional<std::int64_t> partner;
};

// The filters of a view, applied to events; each stack is evaluated once.
class EventKeeper {
 public:
  explicit EventKeeper(const View& view)
      : view_(view), kept_(view.recording().stack_count(), kUnknown) {}
  // What has no stack passes unless a frame is required (focus, show-from).
  bool Keeps(LabelSetId labels, StackId stack);

 private:
  enum : char { kUnknown, kKept, kDropped };
  const View& view_;
  std::vector<char> kept_;  // per stack
  VisibleStack visible_;
};

// Walks the chosen events in the order of the file. Memory: what counts of the addresses take that
// events of the ranges are about.
class EventCursor {
 public:
  // `ranges` in the order of their traces. The index, which is of the recording behind `view`, must
  // outlive the cursor.
  EventCursor(const HistoryIndex& index, const View& view, std::vector<EventRange> ranges,
              const EventFilter& filter);

  // The next event that filter and view let through; false after the last one.
  bool Next(ListedEvent& out);

 private:
  bool EnterTrace();
  void MatchRequests();
  void MatchSegments();
  [[nodiscard]] bool CompletesNext(std::size_t request) const;
  void FindWanted();
  void SkipTo(std::int64_t number);
  std::optional<BlockId> Count(const Event& event, bool inside);
  bool NextInTrace(ListedEvent& out);
  void Describe(std::int64_t number, const std::optional<BlockId>& id, ListedEvent& out) const;
  [[nodiscard]] std::optional<std::int64_t> FindPartner(std::int64_t number) const;

  const HistoryIndex& index_;
  const Recording& recording_;
  EventKeeper keeper_;
  std::vector<EventRange> ranges_;
  EventFilter filter_;
  std::size_t trace_ = 0;
  std::size_t next_range_ = 0;
  bool inside_ = false;
  EventRange range_;
  std::int64_t at_ = 0;
  std::int64_t live_ = 0;
  std::span<const Event> events_;
  const Replay* replay_ = nullptr;             // of a trace that has a range
  KeyMap<std::int64_t, std::int64_t> others_;  // partners that a replay does not match
  // Addresses that events of the ranges are about, where those are few: versions of others are not
  // asked for.
  std::optional<RowMap> wanted_;
  std::vector<std::uint64_t> addresses_;  // the same
  RowMap block_versions_;
  RowMap segment_versions_;
};

}  // namespace memtool
