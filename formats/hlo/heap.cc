// Replay of a compiled program's heap.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "hlo/hlo_program.h"
#include "memtool/profile/base/arithmetic.h"

namespace memtool::formats::hlo {

namespace {

class Replayer {
 public:
  explicit Replayer(const HloProgram& program)
      : root_(program.buffers.size(), kNone), users_(program.buffers.size(), 0) {}

  // Of the first `count` events.
  void Run(const HeapTrace& trace, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const HeapEvent& event = trace.events[i];
      if (event.kind == HeapKind::kFree) {
        Give(i, event.buffer);
      } else if (root_[event.buffer] != kNone) {
        ++replay_.taken_twice;
      } else {
        Take(i, event);
      }
    }
  }
  [[nodiscard]] HeapReplay& replay() { return replay_; }
  // What is live now. A buffer that shares another's memory stands for it.
  [[nodiscard]] std::vector<LiveBuffer> Live() const {
    std::map<std::size_t, std::size_t> live;  // whose memory → who uses it
    for (std::size_t i = 0; i < root_.size(); ++i) {
      if (root_[i] != kNone && (root_[i] != i || !live.contains(i))) {
        live[root_[i]] = i;
      }
    }
    std::vector<LiveBuffer> buffers;
    buffers.reserve(live.size());
    for (const auto& [buffer, user] : live) {
      buffers.push_back({.buffer = buffer, .user = user});
    }
    return buffers;
  }

 private:
  void Take(std::size_t at, const HeapEvent& event) {
    // Roots are kept resolved, so that no chain of sharing is followed and none can be a circle.
    std::size_t owner = event.buffer;
    if (event.kind == HeapKind::kShareWith) {
      owner = root_[event.shared] == kNone ? event.shared : root_[event.shared];
    }
    root_[event.buffer] = owner;
    if (users_[owner]++ == 0) {
      replay_.steps.push_back({.event = at, .take = true, .owner = owner, .user = event.buffer});
    }
  }

  void Give(std::size_t at, std::size_t buffer) {
    const std::size_t owner = root_[buffer];
    if (owner == kNone) {
      ++replay_.free_without_alloc;
      return;
    }
    root_[buffer] = kNone;
    if (--users_[owner] == 0) {
      replay_.steps.push_back({.event = at, .take = false, .owner = owner, .user = buffer});
    }
  }

  std::vector<std::size_t> root_;     // per live buffer, whose memory it uses
  std::vector<std::uint64_t> users_;  // per buffer, live users of its memory
  HeapReplay replay_;
};

std::vector<LiveBuffer> ByOffset(const HloProgram& program, std::vector<LiveBuffer> live) {
  std::sort(live.begin(), live.end(), [&](const LiveBuffer& a, const LiveBuffer& b) {
    const Buffer& x = program.buffers[a.buffer];
    const Buffer& y = program.buffers[b.buffer];
    return std::tie(x.offset, y.size, a.buffer) < std::tie(y.offset, x.size, b.buffer);
  });
  return live;
}

// Without a heap trace nothing says when: of buffers that overlap the largest stands for all.
std::vector<LiveBuffer> WithoutOverlap(const HloProgram& program, const Allocation& allocation) {
  std::vector<std::size_t> rows = allocation.buffers;
  std::sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(program.buffers[b].size, a) < std::tie(program.buffers[a].size, b);
  });
  std::map<std::int64_t, std::int64_t> taken;  // begin → end, disjoint
  std::vector<LiveBuffer> live;
  for (const std::size_t row : rows) {
    const Buffer& buffer = program.buffers[row];
    const std::int64_t end = SaturatingAdd(buffer.offset, buffer.size);
    const auto next = taken.lower_bound(buffer.offset);
    const bool free = (next == taken.end() || next->first >= end) &&
                      (next == taken.begin() || std::prev(next)->second <= buffer.offset);
    if (free && buffer.size > 0) {
      taken.emplace(buffer.offset, end);
      live.push_back({.buffer = row, .user = row});
    }
  }
  return ByOffset(program, std::move(live));
}

}  // namespace

HeapReplay Replay(const HloProgram& program, const HeapTrace& trace) {
  Replayer replayer(program);
  replayer.Run(trace, trace.events.size());
  return std::move(replayer.replay());
}

std::size_t GetTrace(const HloProgram& program, std::int64_t color) {
  std::vector<std::size_t> of_allocation(program.allocations.size(), kNone);
  std::size_t longest = kNone;
  for (std::size_t i = 0; i < program.traces.size(); ++i) {
    const HeapTrace& trace = program.traces[i];
    if (trace.allocation != kNone && of_allocation[trace.allocation] == kNone) {
      of_allocation[trace.allocation] = i;
    }
    if (trace.color == color &&
        (longest == kNone || trace.events.size() > program.traces[longest].events.size())) {
      longest = i;
    }
  }
  for (std::size_t i = 0; i < program.allocations.size(); ++i) {
    const Allocation& allocation = program.allocations[i];
    if (allocation.color == color && !allocation.indefinite() && of_allocation[i] != kNone) {
      return of_allocation[i];
    }
  }
  return longest;
}

HeapPeak FindPeak(const HloProgram& program, const HeapTrace& trace) {
  const HeapReplay replay = Replay(program, trace);
  HeapPeak peak;
  std::int64_t bytes = 0;
  for (const HeapStep& step : replay.steps) {
    const std::int64_t size = program.buffers[step.owner].size;
    bytes = SaturatingAdd(bytes, step.take ? size : -size);
    if (bytes > peak.bytes) {
      peak.bytes = bytes;
      peak.point = step.event + 1;
    }
  }
  Replayer until(program);
  until.Run(trace, peak.point);
  peak.live = ByOffset(program, until.Live());
  return peak;
}

std::vector<LiveBuffer> BuffersAtPeak(const HloProgram& program, std::size_t allocation) {
  for (const HeapTrace& trace : program.traces) {
    if (trace.allocation == allocation) {
      std::vector<LiveBuffer> live = FindPeak(program, trace).live;
      std::erase_if(live, [&](const LiveBuffer& one) {
        return program.buffers[one.buffer].allocation != allocation;
      });
      return live;
    }
  }
  return WithoutOverlap(program, program.allocations[allocation]);
}

}  // namespace memtool::formats::hlo
