#include "memtool/profile/history/cut.h"

#include <algorithm>

#include "memtool/profile/allocator/allocator_state.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool {

namespace {

// PyTorch uses segments of 2 MiB for blocks up to this size
constexpr std::int64_t kSmallBlock = 1 << 20;

struct TimeSpan {
  std::int64_t first = INT64_MAX;
  std::int64_t last = INT64_MIN;

  void Add(const Event& event) {
    if (event.time != kNoTime) {
      first = std::min(first, event.time);
      last = std::max(last, event.time);
    }
  }
  [[nodiscard]] bool Touches(const Mark& mark) const {
    const std::int64_t begin = mark.begin == kNoTime ? mark.end : mark.begin;
    const std::int64_t end = mark.end == kNoTime ? begin : mark.end;
    return begin <= last && end >= first;
  }
};

class Cutter {
 public:
  explicit Cutter(const HistoryIndex& index) : index_(index), from_(index.recording()) {
    const History& history = index.history();
    history_.domains = history.domains;
    history_.streams = history.streams;
    history_.clock = history.clock;
    touched_.resize(history.marks.size(), 0);
    event_marks_ = static_cast<std::size_t>(
        std::count_if(history.events.begin(), history.events.end(),
                      [](const Event& event) { return event.action == Action::kMark; }));
    event_marks_ = std::min(event_marks_, history.marks.size());
  }

  void Add(const EventRange& range, Cut& cut) {
    const Trace& whole = from_.history->traces[range.trace];
    Trace trace = whole;
    const Replay& replay = index_.replay(range.trace);
    CountForgotten(trace, replay, range, cut);
    AddState(whole, replay, range, cut);
    const auto events = GetEvents(from_, trace);
    const std::uint64_t first = trace.first_event + static_cast<std::uint64_t>(range.first);
    trace.first_event = history_.events.size();
    trace.event_count = 0;
    TimeSpan span;
    // No event's time says what came before the first entry or after the last.
    span.first = range.first == 0 ? INT64_MIN : span.first;
    span.last = range.last + 1 == static_cast<std::int64_t>(events.size()) ? INT64_MAX : span.last;
    for (std::int64_t i = range.first; i <= range.last; ++i) {
      history_.events.push_back(events[static_cast<std::size_t>(i)]);
      span.Add(history_.events.back());
      if (!from_.history->labels.empty()) {
        history_.labels.push_back(from_.history->labels[first + trace.event_count]);
      }
      ++trace.event_count;
    }
    // An empty list begins at 0, as readers write it.
    trace.first_event = trace.event_count == 0 ? 0 : trace.first_event;
    AddMarks(trace, span);
    AddEventMarks(first, trace.event_count);
    history_.traces.push_back(std::move(trace));
  }

  History TakeHistory() {
    // Marks in the order of the file, each once however many traces they touch.
    for (std::size_t i = 0; i < touched_.size(); ++i) {
      if (touched_[i] != 0) {
        history_.marks.push_back(from_.history->marks[i]);
      }
    }
    return std::move(history_);
  }
  AllocatorState TakeState() { return std::move(state_); }

 private:
  void CountForgotten(const Trace& trace, const Replay& replay, const EventRange& range,
                      Cut& cut) const {
    const auto events = GetEvents(from_, trace);
    for (std::int64_t i = range.first; i <= range.last; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::uint32_t partner = replay.partners()[at];
      if (events[at].action == Action::kFreeCompleted && partner != Replay::kNoEvent &&
          partner < range.first) {
        ++cut.forgotten_blocks;
        cut.forgotten_bytes = SaturatingAdd(cut.forgotten_bytes, events[at].size);
      }
    }
  }

  void AddState(const Trace& trace, const Replay& replay, const EventRange& range, Cut& cut) {
    StateAtMoment at = StateAt(index_, trace, range.last);
    const bool replayed = range.last + 1 < static_cast<std::int64_t>(trace.event_count);
    const std::vector<LiveBlock> live = replay.LiveAt(range.last);
    Complete(at.state.blocks, live, replayed);
    if (replayed) {
      MakeRoom(at.state);
    }
    Complete(at.unplaced, live, replayed);
    cut.unplaced_blocks += at.unplaced_blocks;
    cut.unplaced_bytes = SaturatingAdd(cut.unplaced_bytes, at.unplaced_bytes);
    cut.segments += at.state.segments.size();
    const auto base = static_cast<std::uint32_t>(state_.blocks.size());
    for (std::size_t i = 0; i < at.state.segments.size(); ++i) {
      Segment segment = at.state.segments[i];
      segment.first_block += base;
      if (replayed) {  // their blocks have changed, and fill them
        segment.allocated = segment.active = segment.requested = kSumOfBlocks;
      }
      cut.estimated_segments += at.estimated[i] != 0 ? 1 : 0;
      state_.segments.push_back(segment);
    }
    state_.blocks.insert(state_.blocks.end(), at.state.blocks.begin(), at.state.blocks.end());
    const std::size_t known = state_.segments.size() - at.state.segments.size();
    for (std::size_t i = 0; i < at.unplaced.size(); ++i) {
      AddStandIn(trace, at, i);
    }
    std::sort(state_.segments.begin() + static_cast<std::ptrdiff_t>(known), state_.segments.end(),
              [](const Segment& a, const Segment& b) { return a.address < b.address; });
  }

  // Blocks get the stacks of their allocations, which the file may tell by the events alone;
  // replayed ones also get all bytes that a trace with holes has live at their address, so that the
  // base stays right.
  static void Complete(std::vector<Block>& blocks, std::span<const LiveBlock> live, bool replayed) {
    for (Block& block : blocks) {
      if (block.state == BlockState::kInactive) {
        continue;
      }
      auto at = std::lower_bound(
          live.begin(), live.end(), block.address,
          [](const LiveBlock& one, std::uint64_t address) { return one.address < address; });
      std::int64_t bytes = 0;
      for (; at != live.end() && at->address == block.address; ++at) {
        bytes = SaturatingAdd(bytes, at->size);
        block.stack = block.stack.valid() ? block.stack : at->stack;
      }
      block.requested = replayed ? bytes : block.requested;
    }
  }

  // Where a trace with holes has more live at an address than a block holds, the block takes what
  // it needs of the free one behind it.
  static void MakeRoom(AllocatorState& state) {
    for (const Segment& segment : state.segments) {
      const auto blocks = std::span(state.blocks).subspan(segment.first_block, segment.block_count);
      for (std::size_t i = 1; i < blocks.size(); ++i) {
        Block& block = blocks[i - 1];
        Block& next = blocks[i];
        const std::int64_t needed = SaturatingSubtract(block.requested, block.size);
        if (needed > 0 && block.state != BlockState::kInactive &&
            next.state == BlockState::kInactive) {
          const std::int64_t taken = std::min(needed, next.size);
          block.size = SaturatingAdd(block.size, taken);
          next.address += static_cast<std::uint64_t>(taken);
          next.size = SaturatingSubtract(next.size, taken);
        }
      }
    }
  }

  // A segment around one block that lies in none; it ends where the next block or segment begins.
  void AddStandIn(const Trace& trace, const StateAtMoment& at, std::size_t row) {
    Block block = at.unplaced[row];
    block.size = std::max(block.size, block.requested);
    const auto limit = [&block](std::uint64_t next) {
      if (next > block.address && next - block.address < static_cast<std::uint64_t>(block.size)) {
        block.size = static_cast<std::int64_t>(next - block.address);
      }
    };
    if (row + 1 < at.unplaced.size()) {
      limit(at.unplaced[row + 1].address);
    }
    const auto after = std::upper_bound(
        at.state.segments.begin(), at.state.segments.end(), block.address,
        [](std::uint64_t address, const Segment& segment) { return address < segment.address; });
    if (after != at.state.segments.end()) {
      limit(after->address);
    }
    state_.segments.push_back({.address = block.address,
                               .size = block.size,
                               .allocated = block.state == BlockState::kActive ? block.size : 0,
                               .active = block.size,
                               .requested = block.requested,
                               .device = trace.device,
                               .stack = {},
                               .first_block = static_cast<std::uint32_t>(state_.blocks.size()),
                               .block_count = 1,
                               .small = block.size <= kSmallBlock,
                               .host = trace.device < 0});
    state_.blocks.push_back(block);
  }

  void AddMarks(const Trace& trace, const TimeSpan& span) {
    const auto& marks = from_.history->marks;
    for (std::size_t i = event_marks_; i < marks.size(); ++i) {
      const bool own = marks[i].device < 0 || marks[i].device == trace.device;
      touched_[i] = touched_[i] != 0 || (own && span.Touches(marks[i])) ? 1 : 0;
    }
  }

  // Readers put the marks that events make before all others, in the order of the events.
  void AddEventMarks(std::uint64_t first, std::uint64_t count) {
    std::size_t mark = 0;
    for (std::uint64_t row = 0; row < first + count && mark < event_marks_; ++row) {
      if (from_.history->events[row].action == Action::kMark) {
        touched_[mark++] |= row >= first ? 1 : 0;
      }
    }
  }

  const HistoryIndex& index_;
  const Recording& from_;
  std::size_t event_marks_ = 0;
  History history_;
  AllocatorState state_;
  std::vector<char> touched_;  // per mark of the input
};

}  // namespace

Result<Cut> CutHistory(const HistoryIndex& index, std::span<const EventRange> ranges) {
  Cut cut;
  Cutter cutter(index);
  for (const EventRange& range : ranges) {
    cutter.Add(range, cut);
  }
  History history = cutter.TakeHistory();
  AllocatorState state = cutter.TakeState();
  RecordingBuilder builder(index.recording());
  builder.SetHistory(std::move(history));
  builder.SetState(std::move(state));
  auto made = std::move(builder).Finish();
  MEMTOOL_TRY(made);
  cut.recording = *std::move(made);
  return cut;
}

}  // namespace memtool
