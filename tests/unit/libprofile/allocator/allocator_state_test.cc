// The state at every event of simulated runs, against the simulation: an independent caching
// allocator with PyTorch's rules, which records what it really did.
#include "memtool/profile/allocator/allocator_state.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "memtool/profile/replay/history_index.h"
#include "support/make_history.h"

namespace memtool {
namespace {

constexpr std::int64_t kStateMiB = 1 << 20;

struct SimBlock {
  std::int64_t size = 0;
  std::int64_t requested = 0;
  BlockState state = BlockState::kInactive;
  friend bool operator==(const SimBlock&, const SimBlock&) = default;
};
struct SimSegment {
  std::int64_t size = 0;
  bool small = false;
  std::map<std::uint64_t, SimBlock> blocks;
  friend bool operator==(const SimSegment& a, const SimSegment& b) {
    return a.size == b.size && a.blocks == b.blocks;
  }
};
using SimState = std::map<std::uint64_t, SimSegment>;

class Simulation {
 public:
  explicit Simulation(unsigned seed) : random_(seed) {}

  void Run(std::size_t events) {
    while (events_.size() < events) {
      const auto dice = random_() % 100;
      if (live_.empty() || (dice < 50 && live_.size() < 60)) {
        Allocate();
      } else if (dice < 97) {
        Free();
      } else {
        EmptyCache();
      }
    }
    while (!pending_.empty()) {
      Complete();
    }
  }

  // A recorder that starts at event `from`.
  [[nodiscard]] Recording Record(std::size_t from) const {
    AllocatorState state;
    for (const auto& [address, sim] : states_.back()) {
      Segment segment{.address = address,
                      .size = sim.size,
                      .allocated = kSumOfBlocks,
                      .active = kSumOfBlocks,
                      .requested = kSumOfBlocks,
                      .device = 0,
                      .stack = {},
                      .first_block = static_cast<std::uint32_t>(state.blocks.size()),
                      .block_count = static_cast<std::uint32_t>(sim.blocks.size()),
                      .small = sim.small};
      for (const auto& [at, block] : sim.blocks) {
        state.blocks.push_back({at, block.size, block.requested, {}, block.state});
      }
      state.segments.push_back(segment);
    }
    return test::MakeRecording(
        test::BuildHistory({events_.begin() + static_cast<std::ptrdiff_t>(from), events_.end()}),
        std::move(state));
  }
  // After event `i`.
  [[nodiscard]] const SimState& State(std::size_t i) const { return states_[i]; }
  [[nodiscard]] std::size_t size() const { return events_.size(); }

 private:
  void Log(Action action, std::uint64_t key, std::int64_t size) {
    events_.push_back({.key = key, .size = size, .stack = {}, .action = action});
    states_.push_back(state_);
  }
  std::int64_t Size() {
    return random_() % 2 == 0
               ? 1 + static_cast<std::int64_t>(random_() % kStateMiB)
               : kStateMiB + 1 + static_cast<std::int64_t>(random_() % (14 * kStateMiB));
  }
  void Allocate() {
    const std::int64_t requested = Size();
    const std::int64_t size = (requested + 511) / 512 * 512;
    const bool small = size <= kStateMiB;
    auto [segment, at] = BestFit(size, small);
    if (segment == state_.end()) {
      const std::int64_t bytes = small ? 2 * kStateMiB
                                 : size < 10 * kStateMiB
                                     ? 20 * kStateMiB
                                     : (size + 2 * kStateMiB - 1) / (2 * kStateMiB) * 2 * kStateMiB;
      segment = state_.insert({next_, {bytes, small, {{next_, {bytes}}}}}).first;
      at = next_;
      next_ += static_cast<std::uint64_t>(bytes);  // neighbours touch, and must not be joined
      Log(Action::kSegmentAlloc, at, bytes);
    }
    SimBlock& block = segment->second.blocks[at];
    const std::int64_t rest = block.size - size;
    if (small ? rest >= 512 : rest > kStateMiB) {
      block.size = size;
      segment->second.blocks[at + static_cast<std::uint64_t>(size)] = {rest};
    }
    SimBlock& taken = segment->second.blocks[at];
    taken.requested = requested;
    taken.state = BlockState::kActive;
    live_.push_back(at);
    Log(Action::kAlloc, at, requested);
  }
  std::pair<SimState::iterator, std::uint64_t> BestFit(std::int64_t size, bool small) {
    std::pair<SimState::iterator, std::uint64_t> best{state_.end(), 0};
    std::int64_t best_size = INT64_MAX;
    for (auto segment = state_.begin(); segment != state_.end(); ++segment) {
      for (const auto& [at, block] : segment->second.blocks) {
        if (segment->second.small == small && block.state == BlockState::kInactive &&
            block.size >= size && block.size < best_size) {
          best = {segment, at};
          best_size = block.size;
        }
      }
    }
    return best;
  }
  SimState::iterator GetSegment(std::uint64_t at) { return std::prev(state_.upper_bound(at)); }
  void Free() {
    const std::size_t pick = random_() % live_.size();
    const std::uint64_t at = live_[pick];
    live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(pick));
    SimBlock& block = GetSegment(at)->second.blocks[at];
    block.state = BlockState::kPendingFree;
    Log(Action::kFreeRequested, at, block.requested);
    pending_.push_back(at);
    if (random_() % 10 != 0) {  // else another stream still uses it
      Complete();
    }
  }
  void Complete() {
    const std::uint64_t at = pending_.back();
    pending_.pop_back();
    auto& blocks = GetSegment(at)->second.blocks;
    auto block = blocks.find(at);
    const std::int64_t requested = block->second.requested;
    block->second = {block->second.size};
    if (const auto next = std::next(block);
        next != blocks.end() && next->second.state == BlockState::kInactive) {
      block->second.size += next->second.size;
      blocks.erase(next);
    }
    if (block != blocks.begin() && std::prev(block)->second.state == BlockState::kInactive) {
      std::prev(block)->second.size += block->second.size;
      blocks.erase(block);
    }
    Log(Action::kFreeCompleted, at, requested);
  }
  void EmptyCache() {
    for (auto segment = state_.begin(); segment != state_.end();) {
      const auto& [at, sim] = *segment;
      if (sim.blocks.size() == 1 && sim.blocks.begin()->second.state == BlockState::kInactive) {
        const std::uint64_t address = at;
        const std::int64_t bytes = sim.size;
        segment = state_.erase(segment);
        Log(Action::kSegmentFree, address, bytes);
      } else {
        ++segment;
      }
    }
  }

  std::mt19937 random_;
  SimState state_;
  std::vector<std::uint64_t> live_;
  std::vector<std::uint64_t> pending_;
  std::uint64_t next_ = 0x7f0000000000;
  std::vector<Event> events_;
  std::vector<SimState> states_;
};

SimState AsSim(const StateAtMoment& at) {
  SimState result;
  for (const Segment& segment : at.state.segments) {
    SimSegment& sim = result[segment.address];
    sim.size = segment.size;
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      const Block& block = at.state.blocks[segment.first_block + i];
      sim.blocks[block.address] = {block.size, block.requested, block.state};
    }
  }
  return result;
}

void ExpectBlocksFillSegments(const StateAtMoment& at) {
  for (const Segment& segment : at.state.segments) {
    std::uint64_t next = segment.address;
    std::int64_t active = 0;
    for (std::uint32_t i = 0; i < segment.block_count; ++i) {
      const Block& block = at.state.blocks[segment.first_block + i];
      ASSERT_EQ(block.address, next);
      ASSERT_GT(block.size, 0);
      next += static_cast<std::uint64_t>(block.size);
      active += block.state == BlockState::kInactive ? 0 : block.size;
    }
    ASSERT_EQ(next, segment.address + static_cast<std::uint64_t>(segment.size));
    ASSERT_EQ(active, segment.active);
  }
}

TEST(AllocatorState, EqualsTheTruthAfterEveryEvent) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    Simulation simulation(seed);
    simulation.Run(900);
    const HistoryIndex index(simulation.Record(0));
    const Trace& trace = index.history().traces[0];
    for (std::size_t i = 0; i < simulation.size(); ++i) {
      const auto at = StateAt(index, trace, static_cast<std::int64_t>(i));
      ASSERT_EQ(AsSim(at), simulation.State(i)) << "seed " << seed << " event " << i;
    }
    EXPECT_TRUE(StateAt(index, trace, -1).state.segments.empty());
  }
}

// For what was allocated before the recording and freed in it, no allocation tells the block's
// size: blocks still fill their segments, and what differs is marked.
TEST(AllocatorState, LateRecordingsAreMarkedWhereTheyDiffer) {
  Simulation simulation(4);
  simulation.Run(900);
  constexpr std::size_t kFrom = 300;
  const HistoryIndex index(simulation.Record(kFrom));
  const Trace& trace = index.history().traces[0];
  std::size_t exact = 0;
  for (std::size_t i = kFrom; i < simulation.size(); ++i) {
    const auto at = StateAt(index, trace, static_cast<std::int64_t>(i - kFrom));
    ExpectBlocksFillSegments(at);
    EXPECT_EQ(at.unplaced_blocks, 0U);
    const SimState found = AsSim(at);
    for (std::size_t s = 0; s < at.state.segments.size(); ++s) {
      const std::uint64_t address = at.state.segments[s].address;
      ASSERT_TRUE(simulation.State(i).contains(address));
      const bool same = found.at(address) == simulation.State(i).at(address);
      ASSERT_TRUE(same || at.estimated[s] != 0) << "event " << i;
      exact += same ? 1 : 0;
    }
    ASSERT_EQ(at.state.segments.size(), simulation.State(i).size());
  }
  EXPECT_GT(exact, 0U);
}

// Mapped memory grows and shrinks at its end and in its middle.
TEST(AllocatorState, ExpandableSegments) {
  std::vector<Event> events;
  const auto event = [&](Action action, std::uint64_t key, std::int64_t size) {
    events.push_back({.key = key, .size = size, .stack = {}, .action = action});
  };
  constexpr std::uint64_t kBase = 0x7f0000000000;
  event(Action::kSegmentMap, kBase, 40 * kStateMiB);                     // 0
  event(Action::kAlloc, kBase, 1000);                                    // 1
  event(Action::kSegmentMap, kBase + 40 * kStateMiB, 20 * kStateMiB);    // 2
  event(Action::kSegmentUnmap, kBase + 20 * kStateMiB, 20 * kStateMiB);  // 3
  const Segment head{.address = kBase,
                     .size = 20 * kStateMiB,
                     .allocated = kSumOfBlocks,
                     .active = kSumOfBlocks,
                     .requested = kSumOfBlocks,
                     .device = 0,
                     .stack = {},
                     .first_block = 0,
                     .block_count = 2,
                     .expandable = true};
  Segment tail = head;
  tail.address = kBase + 40 * kStateMiB;
  tail.first_block = 2;
  tail.block_count = 1;
  const AllocatorState state{
      .segments = {head, tail},
      .blocks = {{kBase, 1024, 1000, {}, BlockState::kActive},
                 {kBase + 1024, 20 * kStateMiB - 1024, 0, {}, BlockState::kInactive},
                 {kBase + 40 * kStateMiB, 20 * kStateMiB, 0, {}, BlockState::kInactive}}};
  const HistoryIndex index(test::MakeRecording(test::BuildHistory(std::move(events)), state));
  const Trace& trace = index.history().traces[0];
  const auto sizes = [&](std::int64_t last) {
    std::map<std::uint64_t, std::int64_t> result;
    const auto at = StateAt(index, trace, last);
    ExpectBlocksFillSegments(at);
    for (const Segment& segment : at.state.segments) {
      result[segment.address - kBase] = segment.size;
    }
    return result;
  };
  using Sizes = std::map<std::uint64_t, std::int64_t>;
  EXPECT_EQ(sizes(3), (Sizes{{0, 20 * kStateMiB}, {40 * kStateMiB, 20 * kStateMiB}}));
  EXPECT_EQ(sizes(2), (Sizes{{0, 60 * kStateMiB}}));
  EXPECT_EQ(sizes(1), (Sizes{{0, 40 * kStateMiB}}));
  EXPECT_EQ(sizes(0), (Sizes{{0, 40 * kStateMiB}}));
  EXPECT_TRUE(sizes(-1).empty());
}

// Without segment events a live block may lie in memory that no event tells about.
TEST(AllocatorState, BlocksOutsideSegmentsAreCounted) {
  const HistoryIndex index(test::MakeRecording(
      test::BuildHistory(
          {{.key = 4096, .size = 700, .stack = {}, .action = Action::kAlloc},
           {.key = 4096, .size = 700, .stack = {}, .action = Action::kFreeCompleted}}),
      AllocatorState{}));
  const auto at = StateAt(index, index.history().traces[0], 0);
  EXPECT_EQ(at.unplaced_blocks, 1U);
  EXPECT_EQ(at.unplaced_bytes, 700);
}

}  // namespace
}  // namespace memtool
