// Replaying a history: who is live after each event, and the exact numbers of a whole trace.
//
// A recorder starts late: what was allocated before it has no allocation event. Its bytes are the
// base: the sizes of frees that match no allocation, plus the blocks that are still there at the
// end and were never opened, plus what the format gives as a sum (Trace::preexisting_bytes), and
// never less than what events without an address (Action::kAdjust) free beyond what such events
// allocated. With
// them a replay must end at the sum of the blocks that the allocator lists; when it does, the trace
// has no holes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/model/recording.h"

namespace memtool {

// Everything `memtool info` says about one trace. Bytes are as the file logs them (PyTorch:
// requested sizes for blocks, rounded sizes for segments). Event numbers count from 0 within the
// trace; -1 is the base, before the first event. Totals that left the range of int64 are clamped to
// its end from there on, and unknown (Unclamped).
struct TraceSummary {
  std::int32_t device = -1;
  std::uint64_t events = 0;
  std::int64_t base_bytes = 0;
  std::int64_t start_bytes = 0;  // the base, and the earlier allocations that the first events list
  std::int64_t preexisting_bytes = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t peak_event = -1;  // the first strict maximum
  std::int64_t end_bytes = 0;
  std::int64_t live_block_bytes = 0;
  std::int64_t pending_free_bytes = 0;
  std::int64_t reserved_base_bytes = 0;
  std::int64_t reserved_peak_bytes = 0;
  std::int64_t reserved_peak_event = -1;
  std::int64_t reserved_end_bytes = 0;
  std::uint64_t unmatched_frees = 0;
  std::int64_t unmatched_bytes = 0;
  std::uint64_t unopened = 0;  // blocks at the end that no event opened
  std::int64_t unopened_bytes = 0;
  std::uint64_t double_allocs = 0;  // allocations at an address that was live
  std::uint64_t size_changes = 0;   // frees whose size is not the allocation's
  std::uint64_t segment_events = 0;
  std::vector<std::uint64_t> ooms;  // event numbers

  // Of the blocks that the allocator lists at the end.
  [[nodiscard]] std::int64_t listed_bytes() const {
    return RunningAdd(live_block_bytes, pending_free_bytes);
  }
  // A sum that left the range of int64 shows nothing.
  [[nodiscard]] bool is_known() const {
    return !IsClamped(end_bytes) && !IsClamped(listed_bytes());
  }
  [[nodiscard]] bool reconciles() const {
    bool saturated = false;
    std::int64_t blocks = live_block_bytes;
    AddTo(blocks, pending_free_bytes, saturated);
    return end_bytes == blocks && !saturated;
  }
  [[nodiscard]] bool has_holes() const { return is_known() && end_bytes != listed_bytes(); }
};

// Events of a trace, in order.
std::span<const Event> GetEvents(const Recording& recording, const Trace& trace);

// What an event says that it changes: live bytes of blocks (see also Replay::ChangeAt), reserved
// bytes of segments.
std::int64_t LiveChange(const Event& event);
std::int64_t ReservedChange(const Event& event);

// Something that is live at a moment.
struct LiveBlock {
  std::uint64_t address = 0;
  std::int64_t size = 0;
  StackId stack;                       // who allocated it; none when unknown
  std::optional<std::uint64_t> event;  // its allocation: row of History::events
  std::uint32_t block = UINT32_MAX;    // its row of AllocatorState::blocks, for unopened blocks
  bool before_recording = false;       // allocated before the first event
  bool pending_free = false;           // freed by the program, but a stream may still use it
  bool without_address = false;        // no block: what events without an address left
};

// One trace with every free matched to its allocation. Costs one pass with a hash table; all
// questions after that are plain scans.
class Replay {
 public:
  // The recording is kept by reference and must outlive the replay.
  Replay(const Recording& recording, const Trace& trace);

  [[nodiscard]] std::span<const Event> events() const { return events_; }
  [[nodiscard]] TraceSummary Summarize() const;
  // What is live after event `last` of the trace (-1 = before the first), by address. Sizes sum to
  // the replayed live bytes at that event.
  [[nodiscard]] std::vector<LiveBlock> LiveAt(std::int64_t last) const;

  // Groups of allocations for PeakWithout: a group number per stack, and one each for allocations
  // without frames that were made before and during the recording, and for events without an
  // address. kNoGroup = in no group.
  static constexpr std::uint32_t kNoGroup = UINT32_MAX;
  struct Groups {
    std::span<const std::uint32_t> of_stack;
    std::uint32_t before_recording = kNoGroup;
    std::uint32_t without_stack = kNoGroup;
    std::size_t count = 0;
    std::uint32_t without_address = kNoGroup;
  };
  // Per group: how high the trace's peak would be if the group had never existed, clamped where
  // that is unknown. One pass over the events, whatever the number of groups.
  [[nodiscard]] std::vector<std::int64_t> PeakWithout(const Groups& groups) const;
  // The same for groups that share allocations: those of stack S are members[first[S]] up to
  // members[first[S + 1]], each once.
  struct SharedGroups {
    std::span<const std::uint32_t> first;  // one more than there are stacks
    std::span<const std::uint32_t> members;
    std::span<const std::uint32_t> before_recording;
    std::span<const std::uint32_t> without_stack;
    std::size_t count = 0;
    std::span<const std::uint32_t> without_address{};
  };
  [[nodiscard]] std::vector<std::int64_t> PeakWithout(const SharedGroups& groups) const;

  // Per event: of an allocation the free that ends it, of a free the allocation; kNoEvent when the
  // trace holds none.
  static constexpr std::uint32_t kNoEvent = UINT32_MAX;
  [[nodiscard]] std::span<const std::uint32_t> partners() const { return partner_; }
  // Whether an event allocates memory of its own, with an address or without: it was not there
  // before the recording, and does not go on with what the event before it freed (label
  // kContinues).
  [[nodiscard]] bool TakesMemory(std::uint32_t event) const;
  // The free that ends an allocation and all that goes on with it, or kNoEvent.
  [[nodiscard]] std::uint32_t EndOf(std::uint32_t event) const;
  // What an event changes of the live bytes: a free ends all of its allocation, whatever size it
  // gives itself, so that live bytes are never less than nothing.
  [[nodiscard]] std::int64_t ChangeAt(std::uint32_t event) const;
  // The base: frees without an allocation, and rows of AllocatorState::blocks that no event opened.
  [[nodiscard]] std::span<const std::uint32_t> unmatched() const { return unmatched_; }
  [[nodiscard]] std::span<const std::uint32_t> unopened() const { return unopened_; }
  // Likewise, as sums: what the format gives, less what events without an address free of it; and
  // that.
  [[nodiscard]] std::int64_t preexisting() const { return preexisting_; }
  [[nodiscard]] std::int64_t base_without_address() const { return base_without_address_; }

 private:
  class Matcher;
  [[nodiscard]] bool HasFrames(StackId stack) const {
    return stack.valid() && !recording_.Stack(stack).empty();
  }
  [[nodiscard]] std::span<const std::uint32_t> GroupsOfStack(
      const SharedGroups& groups, StackId stack,
      std::span<const std::uint32_t> without_frames) const;
  [[nodiscard]] std::span<const std::uint32_t> GroupsOfEvent(const SharedGroups& groups,
                                                             std::uint32_t event) const;
  [[nodiscard]] std::int64_t FreedWithoutAddress() const;
  [[nodiscard]] std::int64_t WithoutAddressAt(std::uint32_t end) const;
  [[nodiscard]] std::vector<std::uint64_t> PendingAt(std::uint32_t end) const;
  // Peaks, ends and out-of-memory events, from the bases that `summary` has.
  void AddPeaks(TraceSummary& summary) const;

  const Recording& recording_;
  const Trace& trace_;
  std::span<const Event> events_;
  std::vector<std::uint32_t> partner_;
  std::vector<std::uint32_t> unmatched_;
  std::vector<std::uint32_t> unopened_;
  std::vector<std::uint32_t> unended_;  // allocations without a partner
  // Requests to free that do not complete in the very next event, as nearly all do, and the event
  // that completes each (or takes its address anew); kNoEvent.
  struct Waiting {
    std::uint32_t request = 0;
    std::uint32_t until = kNoEvent;
  };
  std::vector<Waiting> waiting_;
  bool has_adjustments_ = false;  // events without an address
  std::int64_t preexisting_ = 0;
  std::int64_t base_without_address_ = 0;
  std::uint64_t double_allocs_ = 0;
  std::uint64_t size_changes_ = 0;
};

}  // namespace memtool
