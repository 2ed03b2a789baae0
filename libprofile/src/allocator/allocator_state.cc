#include "memtool/profile/allocator/allocator_state.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/row_map.h"

namespace memtool {

namespace {

// PyTorch's sizes (c10/cuda/CUDACachingAllocator.cpp).
constexpr std::int64_t kRound = 512;             // blocks are multiples of this
constexpr std::int64_t kSmallSize = 1 << 20;     // large blocks are not split for a rest this small
constexpr std::int64_t kSmallSegment = 2 << 20;  // size of segments for small blocks
constexpr std::int64_t kLargeSegment = 20 << 20;  // what large expandable segments grow by

std::int64_t Rounded(std::int64_t requested) {
  const std::int64_t bytes = std::max<std::int64_t>(requested, 1);
  return bytes > INT64_MAX - kRound ? bytes : (bytes + kRound - 1) / kRound * kRound;
}

std::uint64_t GetEnd(std::uint64_t address, std::int64_t size) {
  const std::uint64_t end = address + static_cast<std::uint64_t>(size);
  return end < address ? UINT64_MAX : end;
}

// Mapped memory of one device; undoing an event takes it one step back.
class Segments {
 public:
  struct Range {
    Segment segment;
    bool rebuilt = false;  // not, or not in this shape, in the file
  };

  Segments(const Recording& recording, const Trace& trace) : trace_(trace) {
    if (!recording.state) {
      return;
    }
    const bool host = trace.device < 0;
    for (const Segment& segment : recording.state->segments) {
      if (segment.host == host && (host || segment.device == trace.device)) {
        ranges_[segment.address] = {segment};
      }
    }
  }

  void Undo(const Event& event) {
    switch (event.action) {
      case Action::kSegmentAlloc:
      case Action::kSegmentMap:
        Remove(event.key, GetEnd(event.key, event.size));
        break;
      case Action::kSegmentFree:
        Add(event, false);
        break;
      case Action::kSegmentUnmap:
        Add(event, true);
        break;
      default:
        break;
    }
  }

  [[nodiscard]] const std::map<std::uint64_t, Range>& ranges() const { return ranges_; }
  // The range that holds an address, or null.
  [[nodiscard]] const Range* Find(std::uint64_t address) const {
    auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin()) {
      return nullptr;
    }
    const Range& range = std::prev(after)->second;
    return address < GetEnd(range.segment.address, range.segment.size) ? &range : nullptr;
  }

 private:
  void Remove(std::uint64_t begin, std::uint64_t end) {
    auto at = ranges_.upper_bound(begin);
    if (at != ranges_.begin()) {
      --at;
    }
    while (at != ranges_.end() && at->first < end) {
      const Segment whole = at->second.segment;
      const std::uint64_t whole_end = GetEnd(whole.address, whole.size);
      if (whole_end <= begin) {
        ++at;
        continue;
      }
      at = ranges_.erase(at);
      Keep(whole, whole.address, std::max(begin, whole.address));
      Keep(whole, std::min(end, whole_end), whole_end);
    }
  }
  void Keep(Segment segment, std::uint64_t begin, std::uint64_t end) {
    if (begin < end) {
      segment.address = begin;
      segment.size = static_cast<std::int64_t>(end - begin);
      ranges_[begin] = {segment, true};
    }
  }
  void Add(const Event& event, bool expandable) {
    Segment segment{
        .address = event.key,
        .size = event.size,
        .device = trace_.device,
        .stream = event.stream,
        .stack = {},
        .small = expandable ? event.size % kLargeSegment != 0 : event.size <= kSmallSegment,
        .expandable = expandable,
        .host = trace_.device < 0};
    // Mapped memory grows together: one entry per contiguous run.
    const auto joins = [&](const Segment& other) {
      return expandable && other.expandable && other.stream == event.stream;
    };
    auto after = ranges_.lower_bound(event.key);
    if (after != ranges_.end() && after->first == GetEnd(segment.address, segment.size) &&
        joins(after->second.segment)) {
      const Segment tail = after->second.segment;
      segment = tail;
      segment.address = event.key;
      segment.size = SaturatingAdd(event.size, tail.size);
      after = ranges_.erase(after);
    }
    if (after != ranges_.begin()) {
      const Segment head = std::prev(after)->second.segment;
      if (GetEnd(head.address, head.size) == segment.address && joins(head)) {
        const std::int64_t size = SaturatingAdd(head.size, segment.size);
        segment = head;
        segment.size = size;
      }
    }
    ranges_[segment.address] = {segment, true};
  }

  const Trace& trace_;
  std::map<std::uint64_t, Range> ranges_;
};

struct Placed {
  Block block;
  std::int64_t allocated_at = -1;  // event of the trace, or -1
  bool exact = false;              // its size is the file's
};

class Backward {
 public:
  Backward(const HistoryIndex& index, const Trace& trace, std::int64_t last)
      : recording_(index.recording()),
        trace_(trace),
        events_(GetEvents(recording_, trace)),
        last_(last),
        segments_(recording_, trace) {
    ReadEnd();
    for (std::size_t i = events_.size(); i-- > static_cast<std::size_t>(last + 1);) {
      segments_.Undo(events_[i]);
    }
    const auto blocks = index.LiveAt(trace, last);
    placed_.reserve(blocks->size());
    for (const LiveBlock& live : *blocks) {
      if (!live.without_address) {
        Place(live);
      }
    }
    GiveRests();
  }

  StateAtMoment Make() {
    StateAtMoment result;
    auto at = placed_.cbegin();
    for (const auto& [address, range] : segments_.ranges()) {
      for (; at != placed_.end() && at->block.address < address; ++at) {
        Unplaced(*at, result);
      }
      at = Fill(range, at, result);
    }
    for (; at != placed_.end(); ++at) {
      Unplaced(*at, result);
    }
    return result;
  }

 private:
  // What the end shows: sizes of the blocks that live until then, and whether blocks of expandable
  // segments keep small remainders (newer versions split them down to 512 bytes).
  void ReadEnd() {
    for (const auto& [address, range] : segments_.ranges()) {
      const Segment& segment = range.segment;
      for (std::uint32_t i = 0; i < segment.block_count; ++i) {
        const Block& block = recording_.state->blocks[segment.first_block + i];
        if (block.state != BlockState::kInactive) {
          at_end_.Put(block.address, segment.first_block + i);
          expandable_keeps_ |=
              segment.expandable && !segment.small && block.size > Rounded(block.requested) &&
              SaturatingSubtract(block.size, Rounded(block.requested)) <= kSmallSize;
        }
      }
    }
  }

  // Whether the block lives to the end: then its size there is its size now.
  void Place(const LiveBlock& live) {
    Placed placed;
    // A compiler's buffers have the sizes that it planned, and no rest.
    placed.exact = recording_.metadata.origin.kind == RecordingKind::kProgram;
    placed.block = {.address = live.address,
                    .size = placed.exact ? live.size : Rounded(live.size),
                    .requested = live.size,
                    .stack = live.stack,
                    .state = live.pending_free ? BlockState::kPendingFree : BlockState::kActive};
    if (!live.before_recording && live.event) {
      placed.allocated_at = static_cast<std::int64_t>(*live.event - trace_.first_event);
    }
    const std::uint32_t end = at_end_.Get(live.address);
    if (!placed.exact && end != RowMap::kNone && !FreedLater(live)) {
      placed.block.size = recording_.state->blocks[end].size;
      placed.exact = true;
    }
    // Of two at one address the later one is there.
    if (!placed_.empty() && placed_.back().block.address == live.address) {
      placed_.back() = placed;
    } else {
      placed_.push_back(placed);
    }
  }
  [[nodiscard]] bool FreedLater(const LiveBlock& live) {
    if (live.block != UINT32_MAX) {
      return false;
    }
    if (freed_.empty()) {
      freed_.resize(recording_.state->blocks.size());
      for (auto i = static_cast<std::size_t>(last_ + 1); i < events_.size(); ++i) {
        if (events_[i].action != Action::kFreeCompleted) {
          continue;
        }
        if (const std::uint32_t row = at_end_.Get(events_[i].key); row != RowMap::kNone) {
          freed_[row] = true;
        }
      }
    }
    return freed_[at_end_.Get(live.address)];
  }

  [[nodiscard]] bool KeepsRests(const Segment& segment) const {
    return !segment.small && (!segment.expandable || expandable_keeps_);
  }

  // From the end of the block to the next live one or the end of its segment.
  [[nodiscard]] std::int64_t GapAfter(std::uint64_t address, std::int64_t size,
                                      const Segment& segment, std::uint64_t next) const {
    const std::uint64_t limit = std::min(next, GetEnd(segment.address, segment.size));
    const std::uint64_t end = GetEnd(address, size);
    return end < limit ? static_cast<std::int64_t>(limit - end) : 0;
  }

  // A large block is never smaller than kSmallSize, so a gap this small is the remainder of the
  // block before it. A wider gap may hide such a remainder: how much was free when the block was
  // allocated says.
  void GiveRests() {
    std::vector<OpenGap> open;
    std::int64_t first = INT64_MAX;
    for (auto at = placed_.begin(); at != placed_.end(); ++at) {
      Placed& placed = *at;
      const std::uint64_t address = placed.block.address;
      const Segments::Range* range = segments_.Find(address);
      if (placed.exact || range == nullptr || !KeepsRests(range->segment)) {
        continue;
      }
      const auto after = std::next(at);
      const std::uint64_t next = after == placed_.end() ? UINT64_MAX : after->block.address;
      const std::int64_t gap = GapAfter(address, placed.block.size, range->segment, next);
      if (gap <= kSmallSize) {
        placed.block.size = SaturatingAdd(placed.block.size, gap);
      } else if (placed.allocated_at >= 0) {
        open.push_back({.placed = &placed, .live = {}});
        first = std::min(first, placed.allocated_at);
      }
    }
    if (!open.empty()) {
      AskAllocations(open, first);
    }
  }

  // What was live right behind a block where now nothing is, near enough to leave it a remainder.
  struct OpenGap {
    Placed* placed;
    std::set<std::uint64_t> live;

    [[nodiscard]] std::uint64_t begin() const { return placed->block.address; }
    [[nodiscard]] std::uint64_t end() const {
      return GetEnd(begin(), SaturatingAdd(placed->block.size, kSmallSize));
    }
  };
  // Back to the event `first`. `open`: by address; they do not overlap.
  void AskAllocations(std::vector<OpenGap>& open, std::int64_t first) {
    Segments segments = segments_;
    std::vector<std::uint64_t> begins;  // of `open`, close together: each event is looked up
    begins.reserve(open.size());
    for (const OpenGap& gap : open) {
      begins.push_back(gap.begin());
    }
    for (std::int64_t i = last_; i >= first; --i) {
      const Event& event = events_[static_cast<std::size_t>(i)];
      if (event.action != Action::kFreeCompleted && event.action != Action::kAlloc) {
        segments.Undo(event);
        continue;
      }
      const auto after = std::upper_bound(begins.begin(), begins.end(), event.key);
      if (after == begins.begin()) {
        continue;
      }
      OpenGap& gap = open[static_cast<std::size_t>(after - begins.begin()) - 1];
      if (event.key > gap.end()) {
        continue;
      }
      if (event.action == Action::kFreeCompleted) {
        gap.live.insert(event.key);
        continue;
      }
      gap.live.erase(event.key);
      if (event.key == gap.begin() && gap.placed->allocated_at == i) {
        GiveRest(gap, segments);
      }
    }
  }
  // As it was when the block was allocated.
  void GiveRest(const OpenGap& gap, const Segments& segments) const {
    Block& block = gap.placed->block;
    if (const Segments::Range* range = segments.Find(block.address)) {
      const auto next = gap.live.upper_bound(block.address);
      const std::int64_t rest = GapAfter(block.address, block.size, range->segment,
                                         next == gap.live.end() ? UINT64_MAX : *next);
      block.size = SaturatingAdd(block.size, rest <= kSmallSize ? rest : 0);
    }
  }

  static void Unplaced(const Placed& placed, StateAtMoment& result) {
    ++result.unplaced_blocks;
    result.unplaced_bytes = SaturatingAdd(result.unplaced_bytes, placed.block.requested);
    result.unplaced.push_back(placed.block);
  }

  using At = std::vector<Placed>::const_iterator;
  // Lays the blocks from `at` on into the segment, with free blocks between them.
  At Fill(const Segments::Range& range, At at, StateAtMoment& result) const {
    Segment segment = range.segment;
    auto& blocks = result.state.blocks;
    segment.first_block = static_cast<std::uint32_t>(blocks.size());
    segment.allocated = segment.active = segment.requested = 0;
    bool estimated = range.rebuilt;
    const std::uint64_t end = GetEnd(segment.address, segment.size);
    std::uint64_t from = segment.address;
    const auto free_until = [&](std::uint64_t until) {
      if (from < until) {
        blocks.push_back({.address = from,
                          .size = static_cast<std::int64_t>(until - from),
                          .stack = {},
                          .state = BlockState::kInactive});
      }
    };
    for (; at != placed_.end() && at->block.address < end; ++at) {
      Block block = at->block;
      free_until(block.address);
      const auto next = std::next(at);
      const std::uint64_t limit = next == placed_.end() ? end : std::min(end, next->block.address);
      if (GetEnd(block.address, block.size) > limit) {
        block.size = static_cast<std::int64_t>(limit - block.address);
        estimated = true;
      }
      // Events may ask for more than the file's blocks have.
      estimated = estimated || !at->exact || block.requested > block.size;
      block.requested = std::min(block.requested, block.size);
      from = GetEnd(block.address, block.size);
      segment.active = SaturatingAdd(segment.active, block.size);
      segment.requested = SaturatingAdd(segment.requested, block.requested);
      if (block.state == BlockState::kActive) {
        segment.allocated = SaturatingAdd(segment.allocated, block.size);
      }
      blocks.push_back(block);
    }
    free_until(end);
    segment.block_count = static_cast<std::uint32_t>(blocks.size()) - segment.first_block;
    result.state.segments.push_back(segment);
    result.estimated.push_back(estimated ? 1 : 0);
    return at;
  }

  const Recording& recording_;
  const Trace& trace_;
  std::span<const Event> events_;
  std::int64_t last_;
  Segments segments_;
  RowMap at_end_;            // address → row of AllocatorState::blocks
  std::vector<bool> freed_;  // of these rows, freed after the moment; empty: not asked yet
  bool expandable_keeps_ = false;
  std::vector<Placed> placed_;  // by address
};

}  // namespace

StateAtMoment StateAtEnd(const Recording& recording, const Trace& trace) {
  StateAtMoment result;
  if (!recording.state) {
    return result;
  }
  const bool host = trace.device < 0;
  for (Segment segment : recording.state->segments) {
    if (segment.host != host || (!host && segment.device != trace.device)) {
      continue;
    }
    const auto blocks =
        std::span(recording.state->blocks).subspan(segment.first_block, segment.block_count);
    segment.first_block = static_cast<std::uint32_t>(result.state.blocks.size());
    result.state.blocks.insert(result.state.blocks.end(), blocks.begin(), blocks.end());
    result.state.segments.push_back(segment);
    result.estimated.push_back(0);
  }
  return result;
}

StateAtMoment StateAt(const HistoryIndex& index, const Trace& trace, std::int64_t last) {
  if (last + 1 >= static_cast<std::int64_t>(trace.event_count)) {
    return StateAtEnd(index.recording(), trace);
  }
  return Backward(index, trace, last).Make();
}

}  // namespace memtool
