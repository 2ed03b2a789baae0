#include "memtool/profile/steps/loops.h"

#include <algorithm>
#include <array>
#include <map>
#include <queue>
#include <tuple>

#include "memtool/profile/base/key_hash.h"

namespace memtool {

namespace {

using Sequence = std::span<const std::uint32_t>;

// Loops are runs in which element i equals element i + period. Testing every period would be
// quadratic, so candidates are guessed first and then verified exactly:
//   1. Suggest: hash every window of a few elements (rolling, linear time) and count the distances
//      between equal windows that follow each other. A loop of period P yields P at nearly every
//      position, so the few most frequent distances contain the true periods.
//   2. AddRuns: for each suggested period, one pass that compares elements finds all runs. A wrong
//      suggestion costs a pass and nothing else; hashes never decide.
//   3. FindLoops: the longest runs win. A run that is partly covered by a longer one comes back as
//      its free parts. Of equally long runs the shorter period wins, because every multiple of a
//      period is a period, too.
// Three windows: short ones see short loops and survive noise, long ones tell the iteration of an
// outer loop from that of an inner one.
constexpr std::array<std::size_t, 3> kWindows{8, 32, 128};
constexpr std::size_t kDistances = 12;  // of each window
// Pieces of runs that are looked at: hostile sequences have many that overlap.
constexpr std::size_t kMaxPieces = std::size_t{1} << 20U;

// Where a hash was last seen in a pass over a sequence. Equal hashes of different windows cost a
// wrong suggestion, no more. Between passes nothing is cleared, which would cost as much as a pass:
// places of earlier ones count as empty.
class LastSeen {
 public:
  explicit LastSeen(std::size_t most) : most_(most) {
    std::size_t size = 16;
    while (size < 2 * most) {
      size *= 2;
    }
    slots_.resize(size);
  }
  void BeginPass() { earlier_ += most_; }
  // The place before, from 1; 0 = none.
  std::uint64_t Put(std::uint64_t hash, std::uint64_t place) {
    std::size_t at = static_cast<std::size_t>(HashNumber(hash)) & (slots_.size() - 1);
    while (slots_[at].place > earlier_ && slots_[at].hash != hash) {
      at = (at + 1) & (slots_.size() - 1);
    }
    const std::uint64_t before = slots_[at].place > earlier_ ? slots_[at].place - earlier_ : 0;
    slots_[at] = {hash, earlier_ + place};
    return before;
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint64_t place = 0;
  };
  std::vector<Slot> slots_;
  std::uint64_t most_;
  std::uint64_t earlier_ = 0;  // places up to it are of earlier passes
};

// Adds the most frequent distances between equal windows to `periods`.
void Suggest(Sequence sequence, std::size_t window, LastSeen& seen,
             std::vector<std::uint32_t>& counts, std::vector<std::size_t>& periods) {
  if (sequence.size() < 2 * window) {
    return;
  }
  // A polynomial of keyed hashes: the keys are small consecutive numbers, of which those of
  // neighbouring windows would collide often.
  constexpr std::uint64_t kFactor = 0x100000001b3ULL;
  std::uint64_t leaving = 1;  // kFactor to the power of `window`
  for (std::size_t i = 0; i < window; ++i) {
    leaving *= kFactor;
  }
  counts.assign(sequence.size(), 0);
  seen.BeginPass();
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    hash = hash * kFactor + HashNumber(sequence[i]);
    if (i >= window) {
      hash -= leaving * HashNumber(sequence[i - window]);
    }
    if (i + 1 >= window) {
      const std::uint64_t before = seen.Put(hash, i + 1);
      if (before != 0) {
        ++counts[i + 1 - before];
      }
    }
  }
  std::vector<std::size_t> found;
  for (std::size_t distance = 1; distance < counts.size(); ++distance) {
    if (counts[distance] > 0) {
      found.push_back(distance);
    }
  }
  const std::size_t kept = std::min(kDistances, found.size());
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept), found.end(),
                    [&counts](std::size_t a, std::size_t b) {
                      return std::tuple(counts[b], a) < std::tuple(counts[a], b);
                    });
  periods.insert(periods.end(), found.begin(), found.begin() + static_cast<std::ptrdiff_t>(kept));
}

bool IsLoop(std::size_t length, std::size_t period) {
  return length >= kMinRepetitions * period && length >= kMinLoopLength;
}

struct Longest {
  bool operator()(const Loop& a, const Loop& b) const {
    return std::tuple(a.length, b.period, b.begin) < std::tuple(b.length, a.period, a.begin);
  }
};
using Candidates = std::priority_queue<Loop, std::vector<Loop>, Longest>;

void AddRuns(Sequence sequence, std::size_t period, Candidates& candidates) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i + period <= sequence.size(); ++i) {
    const bool equal = i + period < sequence.size() && sequence[i] == sequence[i + period];
    if (!equal) {
      if (IsLoop(i - begin + period, period)) {
        candidates.push({begin, period, i - begin + period});
      }
      begin = i + 1;
    }
  }
}

// Loops that were taken, by their beginning.
class Taken {
 public:
  // The parts of `loop` that are free.
  [[nodiscard]] std::vector<Loop> FreeParts(const Loop& loop) const {
    std::vector<Loop> parts;
    std::size_t at = loop.begin;
    auto next = taken_.upper_bound(loop.begin);
    if (next != taken_.begin() && std::prev(next)->second.end() > at) {
      at = std::prev(next)->second.end();
    }
    for (; next != taken_.end() && next->first < loop.end(); ++next) {
      Add(loop, at, next->first, parts);
      at = next->second.end();
    }
    Add(loop, at, loop.end(), parts);
    return parts;
  }
  void Take(const Loop& loop) { taken_.emplace(loop.begin, loop); }
  [[nodiscard]] std::vector<Loop> All() const {
    std::vector<Loop> loops;
    loops.reserve(taken_.size());
    for (const auto& [begin, loop] : taken_) {
      loops.push_back(loop);
    }
    return loops;
  }

 private:
  static void Add(const Loop& loop, std::size_t begin, std::size_t end, std::vector<Loop>& parts) {
    if (begin < end && IsLoop(end - begin, loop.period)) {
      parts.push_back({begin, loop.period, end - begin});
    }
  }
  std::map<std::size_t, Loop> taken_;
};

}  // namespace

std::vector<Loop> FindLoops(std::span<const std::uint32_t> sequence) {
  std::vector<std::size_t> periods;
  LastSeen seen(sequence.size());
  std::vector<std::uint32_t> counts;
  for (const std::size_t window : kWindows) {
    Suggest(sequence, window, seen, counts, periods);
  }
  std::sort(periods.begin(), periods.end());
  periods.erase(std::unique(periods.begin(), periods.end()), periods.end());
  Candidates candidates;
  for (const std::size_t period : periods) {
    AddRuns(sequence, period, candidates);
  }
  Taken taken;
  for (std::size_t pieces = 0; !candidates.empty() && pieces < kMaxPieces; ++pieces) {
    const Loop loop = candidates.top();
    candidates.pop();
    const std::vector<Loop> parts = taken.FreeParts(loop);
    if (parts.size() == 1 && parts[0].length == loop.length) {
      taken.Take(loop);
      continue;
    }
    for (const Loop& part : parts) {
      candidates.push(part);
    }
  }
  return taken.All();
}

std::size_t FoldedLength(std::size_t length, std::span<const Loop> loops) {
  for (const Loop& loop : loops) {
    length -= loop.length - loop.period;
  }
  return length;
}

}  // namespace memtool
