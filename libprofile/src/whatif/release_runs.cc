#include "whatif/release_runs.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/replay/replay.h"

namespace memtool::whatif {

namespace {

constexpr std::uint32_t kNoRequest = UINT32_MAX;

bool Releases(Action action) {
  return action == Action::kSegmentFree || action == Action::kSegmentUnmap;
}
bool Makes(Action action) {
  return action == Action::kSegmentAlloc || action == Action::kSegmentMap;
}

class Finder {
 public:
  Finder(const HistoryIndex& index, const Trace& trace)
      : recording_(index.recording()),
        events_(GetEvents(recording_, trace)),
        summary_(index.summary(trace)) {}

  std::vector<ReleaseRun> Find() {
    std::int64_t reserved = summary_.reserved_base_bytes;
    highest_ = summary_.reserved_peak_bytes;
    bool open = false;
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
      const Event& event = events_[i];
      if (Releases(event.action)) {
        open = open && events_[runs_.back().last].stack == event.stack;
        if (!open) {
          runs_.push_back({.first = i, .last = i, .reserved_before = reserved});
          open = true;
        }
        runs_.back().last = i;
        runs_.back().bytes = SaturatingAdd(runs_.back().bytes, event.size);
      } else if (Makes(event.action) || event.action == Action::kAlloc ||
                 event.action == Action::kOom) {
        open = false;
      }
      reserved = SaturatingAdd(reserved, ReservedChange(event));
    }
    Wish wish;
    for (std::size_t i = runs_.size(); i-- > 0;) {
      wish = WishAfter(runs_[i].last, i + 1 < runs_.size() ? runs_[i + 1].first : kNoRequest, wish);
      Judge(runs_[i], wish);
    }
    return std::move(runs_);
  }

 private:
  // What the allocator was asked for next, and the segment that it needed for it.
  struct Wish {
    std::uint32_t request = kNoRequest;
    std::int64_t bytes = 0;
  };
  // `next_run`: where the next run begins, whose wish is `of_next`.
  [[nodiscard]] Wish WishAfter(std::uint32_t event, std::uint32_t next_run,
                               const Wish& of_next) const {
    Wish wish;
    for (std::uint32_t i = event + 1; i < events_.size(); ++i) {
      const Event& next = events_[i];
      if (i == next_run) {
        return {of_next.request, SaturatingAdd(wish.bytes, of_next.bytes)};
      }
      if (Makes(next.action)) {
        wish.bytes = SaturatingAdd(wish.bytes, next.size);
      } else if (next.action == Action::kAlloc || next.action == Action::kOom) {
        wish.request = i;
        wish.bytes = next.action == Action::kOom ? std::max(wish.bytes, next.size) : wish.bytes;
        return wish;
      }
    }
    return wish;
  }

  // Whether a frame of the stack is the call that gives memory back.
  [[nodiscard]] bool CallsEmptyCache(StackId stack) {
    if (!stack.valid()) {
      return false;
    }
    const auto [at, is_new] = calls_.try_emplace(stack.value(), false);
    if (is_new) {
      for (const LocationId location : recording_.Stack(stack)) {
        for (const Line& line : recording_.Lines(recording_.At(location))) {
          at->second = at->second || (line.function.valid() && IsEmptyCache(line.function));
        }
      }
    }
    return at->second;
  }
  [[nodiscard]] bool IsEmptyCache(FunctionId function) const {
    const std::string_view name = recording_.Text(recording_.functions[function.value()].name);
    return name.find("empty_cache") != std::string_view::npos ||
           name.find("emptyCache") != std::string_view::npos;
  }
  [[nodiscard]] bool HasFrames(StackId stack) const {
    return stack.valid() && !recording_.Stack(stack).empty();
  }

  void Judge(ReleaseRun& run, const Wish& wish) {
    run.segment_size = wish.bytes;
    const StackId stack = events_[run.last].stack;
    if (CallsEmptyCache(stack)) {
      return;
    }
    if (HasFrames(stack) && wish.request != kNoRequest && HasFrames(events_[wish.request].stack)) {
      const bool same = events_[wish.request].stack == stack;
      run.cause = same ? ReleaseRun::Cause::kRefused : ReleaseRun::Cause::kProgram;
      return;
    }
    if (wish.request == kNoRequest || wish.bytes == 0) {
      run.by = ReleaseRun::By::kNoWant;
    } else if (events_[wish.request].action != Action::kOom &&
               SaturatingAdd(run.reserved_before, run.segment_size) <= highest_) {
      run.by = ReleaseRun::By::kHighest;
    } else {
      // A limit from the highest that was ever reserved up to below all of these explains them.
      run.by = ReleaseRun::By::kOneLimit;
      run.cause = ReleaseRun::Cause::kRefused;
    }
  }

  const Recording& recording_;
  std::span<const Event> events_;
  const TraceSummary& summary_;
  std::int64_t highest_ = 0;
  std::vector<ReleaseRun> runs_;
  KeyMap<std::uint32_t, bool> calls_;
};

}  // namespace

std::vector<ReleaseRun> FindReleaseRuns(const HistoryIndex& index, const Trace& trace) {
  return Finder(index, trace).Find();
}

}  // namespace memtool::whatif
