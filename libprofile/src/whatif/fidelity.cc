#include "memtool/profile/whatif/fidelity.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "memtool/profile/allocator/allocator_state.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/replay/replay.h"
#include "whatif/player.h"

namespace memtool::whatif {

namespace {

// Sizes in both lists, each used once.
std::uint64_t Common(std::vector<std::int64_t>& a, std::vector<std::int64_t>& b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::uint64_t common = 0;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    if (*x == *y) {
      ++common;
      ++x;
      ++y;
    } else {
      ++(*x < *y ? x : y);
    }
  }
  return common;
}

std::int64_t Sum(const std::vector<std::int64_t>& sizes) {
  std::int64_t sum = 0;
  for (const std::int64_t size : sizes) {
    sum = SaturatingAdd(sum, size);
  }
  return sum;
}

// What segments did during one request.
struct Changes {
  std::vector<std::int64_t> made;
  std::vector<std::int64_t> released;
};

// Runs the model next to the recording and compares them after every request, because a figure of
// the model is worth something only as far as the model reproduces what really happened.
//
// All of the recording's segment events up to a request's own event belong to that request: the
// caching allocator talks to the driver only while it serves one. Per request they are compared as
// multisets of sizes, not in order, because segments released together have no meaningful order.
//
// The model is given what no model can compute (driver_model.h): the addresses of new segments and
// whether the driver refused. Otherwise one different address would make every later placement
// differ, and the comparison would measure the driver, not the allocator's rules. With a limit,
// refusals are the model's own, and comparing them with the recorded ones tests the limit.
class Comparison {
 public:
  Comparison(const HistoryIndex& index, const Trace& trace, const AllocatorSettings& settings,
             const Requests& requests, Rules rules, std::int64_t limit = kNoLimit)
      : index_(index),
        trace_(trace),
        events_(GetEvents(index.recording(), trace)),
        requests_(requests),
        limit_decides_(limit != kNoLimit),
        player_(requests, settings, Limited(limit), rules) {}

  Fidelity Run() {
    player_.LayRecorded();
    reserved_ = index_.summary(trace_).reserved_base_bytes;
    CompareReserved(-1, Difference::Kind::kBase);
    for (const Request& request : requests_.rows) {
      Send(request);
    }
    CompareEnd();
    return fidelity_;
  }
  Refusals TakeRefusals() { return {std::move(refused_), player_.allocator().counters().retries}; }

 private:
  static DriverModel Limited(std::int64_t limit) {
    DriverModel driver;
    driver.limit = limit;
    return driver;
  }

  void Differ(Difference::Kind kind, std::int64_t event, std::uint64_t expected,
              std::uint64_t got) {
    if (!fidelity_.first) {
      fidelity_.first = {kind, event, expected, got};
    }
  }

  void CompareReserved(std::int64_t event, Difference::Kind kind) {
    const std::int64_t got = player_.allocator().counters().reserved;
    const std::int64_t difference = Magnitude(SaturatingSubtract(got, reserved_));
    fidelity_.reserved_difference = std::max(fidelity_.reserved_difference, difference);
    if (difference != 0) {
      Differ(kind, event, static_cast<std::uint64_t>(reserved_), static_cast<std::uint64_t>(got));
    }
  }

  // What the file says about segments up to the request's event.
  Changes Recorded(const Request& request, DriverReport& report) {
    Changes changes;
    // The order of events within a request says what the driver did: segments before the first
    // release were granted; a release means that it refused and the allocator gave memory back;
    // segments after that come from the second attempt.
    for (; cursor_ <= request.event; ++cursor_) {
      const Event& event = events_[cursor_];
      if (event.action == Action::kSegmentAlloc || event.action == Action::kSegmentMap) {
        changes.made.push_back(event.size);
        report.segments.push_back({event.key, event.size});
        ++(changes.released.empty() ? report.granted : report.granted_then);
      } else if (event.action == Action::kSegmentFree || event.action == Action::kSegmentUnmap) {
        changes.released.push_back(event.size);
        report.given_back = SaturatingAdd(report.given_back, event.size);
      }
      reserved_ = SaturatingAdd(reserved_, ReservedChange(event));
    }
    report.failed = request.kind == Request::Kind::kFailed;
    report.refused = report.failed || !changes.released.empty();
    return changes;
  }

  void Send(const Request& request) {
    if (request.kind == Request::Kind::kFreeRequested ||
        request.kind == Request::Kind::kFreeCompleted) {
      player_.Send(request);
      return;
    }
    DriverReport report;
    Changes recorded = Recorded(request, report);
    CachingAllocator& allocator = player_.allocator();
    report.limit_decides = limit_decides_;
    allocator.driver().SetReport(std::move(report));
    const std::uint64_t before = allocator.counters().refusals;
    const CachingAllocator::BlockId block = player_.Send(request);
    if (allocator.counters().refusals > before) {
      refused_.push_back(request.event);
    }
    Compare(request, recorded);
    if (request.kind == Request::Kind::kAllocate) {
      ComparePlacement(request, block);
    } else if (request.kind == Request::Kind::kFailed) {
      ++fidelity_.failures;
      const bool failed = block == CachingAllocator::kNoBlock;
      fidelity_.failures_equal += failed ? 1 : 0;
      if (!failed) {
        Differ(Difference::Kind::kFailure, request.event, static_cast<std::uint64_t>(request.size),
               0);
      }
    }
    CompareReserved(request.event, Difference::Kind::kSegment);
  }

  void Compare(const Request& request, Changes& recorded) {
    Changes got;
    for (const SegmentChange& change : player_.allocator().changes()) {
      (change.released ? got.released : got.made).push_back(change.size);
    }
    if (recorded.made.empty() && got.made.empty() && recorded.released.empty() &&
        got.released.empty()) {
      return;
    }
    const std::uint64_t made = Common(recorded.made, got.made);
    fidelity_.segments += recorded.made.size();
    fidelity_.segments_equal += made;
    fidelity_.segments_false += got.made.size() - made;
    const std::uint64_t released = Common(recorded.released, got.released);
    fidelity_.releases += recorded.released.size();
    fidelity_.releases_equal += released;
    fidelity_.releases_false += got.released.size() - released;
    if (recorded.released != got.released) {
      Differ(Difference::Kind::kRelease, request.event,
             static_cast<std::uint64_t>(Sum(recorded.released)),
             static_cast<std::uint64_t>(Sum(got.released)));
    }
    if (recorded.made != got.made) {
      Differ(Difference::Kind::kSegment, request.event,
             static_cast<std::uint64_t>(Sum(recorded.made)),
             static_cast<std::uint64_t>(Sum(got.made)));
    }
  }

  void ComparePlacement(const Request& request, CachingAllocator::BlockId block) {
    ++fidelity_.placements;
    const std::uint64_t expected = events_[request.event].key;
    if (block == CachingAllocator::kNoBlock) {
      Differ(Difference::Kind::kFailure, request.event, 0,
             static_cast<std::uint64_t>(request.size));
      return;
    }
    const std::uint64_t got = player_.allocator().GetAddress(block);
    fidelity_.placements_equal += got == expected ? 1 : 0;
    if (got != expected) {
      Differ(Difference::Kind::kPlacement, request.event, expected, got);
    }
  }

  // The blocks that the file ends with: in use, at an address, of a size.
  void CompareEnd() {
    KeyMap<std::uint64_t, std::pair<std::int64_t, bool>> got;
    for (const CachingAllocator::View& block : player_.allocator().Blocks()) {
      got[block.address] = {block.size, block.used};
    }
    const StateAtMoment end = StateAtEnd(index_.recording(), trace_);
    for (const Block& block : end.state.blocks) {
      ++fidelity_.blocks;
      const auto same = got.find(block.address);
      const bool used = block.state != BlockState::kInactive;
      fidelity_.blocks_equal +=
          same != got.end() && same->second == std::pair(block.size, used) ? 1 : 0;
    }
    if (fidelity_.blocks != fidelity_.blocks_equal) {
      Differ(Difference::Kind::kBlocks, static_cast<std::int64_t>(events_.size()) - 1,
             fidelity_.blocks, fidelity_.blocks_equal);
    }
  }

  const HistoryIndex& index_;
  const Trace& trace_;
  std::span<const Event> events_;
  const Requests& requests_;
  bool limit_decides_;
  Player player_;
  std::uint32_t cursor_ = 0;  // events before it are compared
  std::int64_t reserved_ = 0;
  std::vector<std::int64_t> refused_;
  Fidelity fidelity_;
};

// How many allocations lie in no known segment. Many such allocations mean that the file lacks the
// segment events, and then comparing placements would compare nothing (Obstacle::kOutside).
std::uint64_t Outside(const Recording& recording, const Trace& trace) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  const auto add = [&ranges](std::uint64_t address, std::int64_t size) {
    ranges.emplace_back(address,
                        address + static_cast<std::uint64_t>(std::max<std::int64_t>(size, 0)));
  };
  for (const Segment& segment : StateAtEnd(recording, trace).state.segments) {
    add(segment.address, segment.size);
  }
  const auto events = GetEvents(recording, trace);
  for (const Event& event : events) {
    if (ReservedChange(event) != 0) {
      add(event.key, event.size);
    }
  }
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t highest = 0;
  for (auto& range : ranges) {  // the end of all that begins here or before
    highest = std::max(highest, range.second);
    range.second = highest;
  }
  std::uint64_t outside = 0;
  for (const Event& event : events) {
    if (event.action == Action::kAlloc) {
      const auto after = std::upper_bound(ranges.begin(), ranges.end(),
                                          std::pair(event.key, std::uint64_t{UINT64_MAX}));
      outside += after == ranges.begin() || event.key >= std::prev(after)->second ? 1 : 0;
    }
  }
  return outside;
}

// The model adds up sizes of segments and blocks without looking each time.
bool IsWithinRange(const Recording& recording, const Trace& trace) {
  std::int64_t sum = 0;
  for (const Segment& segment : StateAtEnd(recording, trace).state.segments) {
    sum = SaturatingAdd(sum, Magnitude(segment.size));
  }
  for (const Event& event : GetEvents(recording, trace)) {
    sum = SaturatingAdd(sum, Magnitude(ReservedChange(event)));
    if (event.size < 0 || event.size > CachingAllocator::kMaxSize) {
      return false;
    }
  }
  return sum <= CachingAllocator::kMaxSize;
}

}  // namespace

const char* ObstacleName(Obstacle obstacle) {
  constexpr std::array<const char*, 8> kNames{"none",      "not_pytorch", "host_memory",
                                              "no_events", "no_state",    "other_allocator",
                                              "too_large", "outside"};
  return kNames.at(static_cast<std::size_t>(obstacle));
}

const char* DifferenceName(Difference::Kind kind) {
  constexpr std::array<const char*, 6> kNames{"base",    "placement", "segment",
                                              "release", "failure",   "blocks"};
  return kNames.at(static_cast<std::size_t>(kind));
}

Obstacle FindObstacle(const Recording& recording, const Trace& trace) {
  if (recording.metadata.origin.framework != Framework::kPyTorch ||
      recording.metadata.origin.kind != RecordingKind::kSnapshot) {
    return Obstacle::kNotPyTorch;
  }
  if (trace.device < 0) {
    return Obstacle::kHostMemory;
  }
  if (RecordedSettings(recording).other_allocator) {
    return Obstacle::kOtherAllocator;
  }
  if (!recording.state) {
    return Obstacle::kNoState;
  }
  if (!IsWithinRange(recording, trace)) {
    return Obstacle::kTooLarge;
  }
  const auto events = GetEvents(recording, trace);
  const bool any = std::any_of(events.begin(), events.end(), [](const Event& event) {
    return event.action == Action::kAlloc || event.action == Action::kOom;
  });
  return any ? Obstacle::kNone : Obstacle::kNoEvents;
}

Refusals RefusalsUnder(const HistoryIndex& index, const Trace& trace,
                       const AllocatorSettings& settings, const Requests& requests,
                       std::int64_t limit) {
  Comparison comparison(index, trace, settings, requests, {}, limit);
  comparison.Run();
  return comparison.TakeRefusals();
}

Fidelity ComputeFidelity(const HistoryIndex& index, const Trace& trace,
                         const AllocatorSettings& settings, const Requests& requests, Rules rules) {
  Fidelity fidelity;
  fidelity.obstacle = FindObstacle(index.recording(), trace);
  if (fidelity.obstacle != Obstacle::kNone) {
    return fidelity;
  }
  const std::uint64_t outside = Outside(index.recording(), trace);
  fidelity = Comparison(index, trace, settings, requests, rules).Run();
  fidelity.outside = outside;
  if (outside * 2 > fidelity.placements) {
    fidelity.obstacle = Obstacle::kOutside;
  }
  return fidelity;
}

}  // namespace memtool::whatif
