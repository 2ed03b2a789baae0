#include "growth/iterations.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/history/timeline.h"
#include "memtool/profile/replay/replay.h"

namespace memtool {

namespace {

constexpr std::size_t kMinIterations = 3;

// Counts how often a series falls by at least `depth` from its highest value since it last rose by
// as much.
class Falls {
 public:
  explicit Falls(std::int64_t depth) : depth_(depth) {}
  void Take(std::int64_t value) {
    if (high_ && SaturatingSubtract(turn_, value) >= depth_) {
      ++count_;
      high_ = false;
      turn_ = value;
    } else if (!high_ && SaturatingSubtract(value, turn_) >= depth_) {
      high_ = true;
      turn_ = value;
    } else {
      turn_ = high_ ? std::max(turn_, value) : std::min(turn_, value);
    }
  }
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::int64_t depth_;
  std::int64_t turn_ = 0;  // the highest since the last rise, or the lowest since the last fall
  bool high_ = false;
  std::size_t count_ = 0;
};

std::vector<std::int64_t> GetLive(std::span<const Event> events, const Step& range) {
  std::vector<std::int64_t> live;
  std::int64_t now = 0;
  for (std::int64_t i = range.first + 1; i <= range.last; ++i) {
    now = RunningAdd(now, LiveChange(events[static_cast<std::size_t>(i)]));
    live.push_back(now);
  }
  return live;
}

// Whether most allocations come from stacks that allocate in each third; true without stacks.
bool RecursInThirds(std::span<const Event> events, const Step& range, std::size_t stacks) {
  constexpr std::size_t kThirds = 3;
  std::vector<std::array<std::int64_t, kThirds>> counts(stacks);
  std::int64_t known = 0;
  const std::int64_t all = range.last - range.first;
  for (std::int64_t i = range.first + 1; i <= range.last; ++i) {
    const Event& event = events[static_cast<std::size_t>(i)];
    if (event.action == Action::kAlloc && event.stack.valid()) {
      const std::int64_t third = (i - range.first - 1) / (all / 3 + 1);
      ++counts[event.stack.value()].at(static_cast<std::size_t>(third));
      ++known;
    }
  }
  std::int64_t recurring = 0;
  for (const auto& of_stack : counts) {
    if (std::all_of(of_stack.begin(), of_stack.end(), [](auto count) { return count > 0; })) {
      recurring += of_stack[0] + of_stack[1] + of_stack[2];
    }
  }
  return known == 0 || recurring > known / 2;
}

}  // namespace

bool ShowsIterations(const HistoryIndex& index, const ChosenTrace& chosen) {
  const Recording& recording = index.recording();
  const auto events = GetEvents(recording, *chosen.trace);
  const std::vector<std::int64_t> live = GetLive(events, chosen.range);
  if (live.empty()) {
    return false;
  }
  const auto [low, high] = std::minmax_element(live.begin(), live.end());
  const std::int64_t depth = SaturatingSubtract(*high, *low) / 4;
  if (depth <= 0) {
    return false;
  }
  Falls falls(depth);
  for (const std::int64_t value : live) {
    falls.Take(SaturatingSubtract(value, *low));
  }
  return falls.count() >= kMinIterations &&
         RecursInThirds(events, chosen.range, recording.stack_count());
}

}  // namespace memtool
