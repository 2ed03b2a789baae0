#include "support/make_history.h"

#include <array>
#include <iterator>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include "memtool/profile/base/result.h"

namespace memtool::test {

namespace {

bool IsOfSegments(Action action) {
  return action == Action::kSegmentAlloc || action == Action::kSegmentFree ||
         action == Action::kSegmentMap || action == Action::kSegmentUnmap;
}

class RandomEvents {
 public:
  RandomEvents(std::uint32_t seed, const std::vector<StackId>& stacks)
      : random_(seed), stacks_(stacks) {
    for (int i = 0; i < 6; ++i) {
      before_.emplace_back(NextAddress(), Size());
    }
    for (int i = 0; i < 400; ++i) {
      Step();
    }
    for (std::size_t i = 0; i < events_.size(); ++i) {
      events_[i].time = 1'000'000'000 + static_cast<std::int64_t>(i) * 1'000'000;
    }
  }

  [[nodiscard]] const std::vector<Event>& events() const { return events_; }

  [[nodiscard]] std::vector<Block> BlocksAtTheEnd() const {
    std::vector<Block> blocks;
    for (const auto& [address, size] : before_) {
      blocks.push_back({.address = address,
                        .size = size,
                        .requested = size,
                        .stack = {},
                        .state = BlockState::kActive});
    }
    for (const auto& [address, block] : live_) {
      blocks.push_back({.address = address,
                        .size = block.size,
                        .requested = block.size,
                        .stack = block.stack,
                        .state = block.pending ? BlockState::kPendingFree : BlockState::kActive});
    }
    return blocks;
  }

 private:
  struct Live {
    std::int64_t size;
    StackId stack;
    bool pending = false;
  };

  std::uint32_t Below(std::uint32_t end) {
    return std::uniform_int_distribution<std::uint32_t>(0, end - 1)(random_);
  }
  std::int64_t Size() { return 1 + Below(1000); }
  // Addresses of freed blocks are reused.
  std::uint64_t NextAddress() {
    if (!free_.empty() && Below(2) == 0) {
      const std::uint64_t address = free_.back();
      free_.pop_back();
      return address;
    }
    return next_address_ += 1024;
  }
  void Put(Action action, std::uint64_t key, std::int64_t size, StackId stack) {
    events_.push_back({.key = key, .size = size, .stack = stack, .action = action});
  }

  void Step() {
    const std::uint32_t dice = Below(20);
    if (dice == 0 && !before_.empty() && Below(3) == 0) {
      const auto [address, size] = before_.back();
      before_.pop_back();
      Put(Action::kFreeRequested, address, size, stacks_[0]);
      Put(Action::kFreeCompleted, address, size, stacks_[0]);
      free_.push_back(address);
    } else if (dice == 1) {
      Put(Action::kOom, 12, 5000, stacks_[1]);
    } else if (dice < 11 || live_.empty()) {
      const std::uint64_t address = NextAddress();
      const Live block{.size = Size(), .stack = stacks_[Below(kRandomStacks)]};
      Put(Action::kAlloc, address, block.size, block.stack);
      live_[address] = block;
    } else {
      Free();
    }
  }

  void Free() {
    auto it = live_.begin();
    std::advance(it, Below(static_cast<std::uint32_t>(live_.size())));
    Live& block = it->second;
    if (!block.pending) {
      Put(Action::kFreeRequested, it->first, block.size, StackId());
      block.pending = true;
      if (Below(3) == 0) {
        return;  // a stream still uses it
      }
    }
    Put(Action::kFreeCompleted, it->first, block.size, StackId());
    free_.push_back(it->first);
    live_.erase(it);
  }

  std::mt19937 random_;
  std::vector<StackId> stacks_;
  std::vector<Event> events_;
  std::vector<std::pair<std::uint64_t, std::int64_t>> before_;  // still there from before
  std::map<std::uint64_t, Live> live_;
  std::vector<std::uint64_t> free_;
  std::uint64_t next_address_ = 0x7f0000000000;
};

}  // namespace

Trace& AddTrace(History& history, const std::vector<Event>& events, DomainId blocks,
                DomainId segments) {
  if (history.streams.empty()) {
    history.streams = {0};
  }
  const std::size_t number = history.traces.size();
  history.traces.push_back({.device = static_cast<std::int32_t>(number),
                            .name = std::to_string(number),
                            .first_event = history.events.size(),
                            .event_count = events.size(),
                            .blocks = blocks,
                            .segments = segments});
  history.events.insert(history.events.end(), events.begin(), events.end());
  return history.traces.back();
}

Trace& AddTrace(History& history, std::vector<Event> events) {
  const DomainId segments(history.domains.size());
  const DomainId blocks(history.domains.size() + 1);
  const auto device = static_cast<std::int32_t>(history.traces.size());
  history.domains.push_back({.name = "segments", .device = device, .level = DomainLevel::kDriver});
  history.domains.push_back({.name = "blocks", .device = device, .parent = segments});
  for (Event& event : events) {
    const DomainId book = IsOfSegments(event.action) ? segments : blocks;
    event.domain = static_cast<std::uint8_t>(book.value());
  }
  return AddTrace(history, events, blocks, segments);
}

History BuildHistory(std::vector<Event> events) {
  History history;
  AddTrace(history, std::move(events));
  return history;
}

AllocatorState InOneSegment(std::vector<Block> blocks, std::int64_t size) {
  std::sort(blocks.begin(), blocks.end(),
            [](const Block& a, const Block& b) { return a.address < b.address; });
  const auto count = static_cast<std::uint32_t>(blocks.size());
  const std::uint64_t address = blocks.empty() ? 0 : blocks.front().address;
  if (!blocks.empty()) {
    const std::uint64_t last = blocks.back().address - address;
    size = std::max(size, static_cast<std::int64_t>(last) + blocks.back().size);
  }
  return {.segments = {{.address = address,
                        .size = size,
                        .allocated = kSumOfBlocks,
                        .active = kSumOfBlocks,
                        .requested = kSumOfBlocks,
                        .device = 0,
                        .stack = {},
                        .block_count = count}},
          .blocks = std::move(blocks)};
}

std::vector<StackId> AddStacks(RecordingBuilder& builder, std::size_t count,
                               std::string_view file) {
  std::vector<StackId> stacks;
  for (std::size_t i = 0; i < count; ++i) {
    const StringId name = builder.Intern("f" + std::to_string(i));
    const Line line{.function = builder.AddFunction(
                        {.name = name, .system_name = name, .filename = builder.Intern(file)}),
                    .line = static_cast<std::int64_t>(i) + 1};
    const LocationId location = builder.AddLocation({}, std::array{line});
    stacks.push_back(builder.AddStack(std::array{location}));
  }
  stacks.push_back(builder.AddStack({}));
  return stacks;
}

Recording MakeRecording(History history, std::optional<AllocatorState> state,
                        RecordingBuilder builder) {
  builder.SetHistory(std::move(history));
  if (state) {
    builder.SetState(*std::move(state));
  }
  auto recording = std::move(builder).Finish();
  if (!recording) {
    throw std::runtime_error(ToString(recording.error()));
  }
  return *std::move(recording);
}

Recording RandomHistory(std::uint32_t seed, std::int64_t standing) {
  RecordingBuilder builder;
  const RandomEvents random(seed, AddStacks(builder, kRandomStacks - 1, "model.py"));
  History history = BuildHistory(random.events());
  history.clock = Clock::kUnix;
  history.marks = {{.name = "step", .begin = 1'000'000'000, .end = 1'010'000'000},
                   {.name = "step", .begin = 1'020'000'000}};
  history.traces[0].preexisting_bytes = standing;
  return MakeRecording(std::move(history), InOneSegment(random.BlocksAtTheEnd(), 1'000'000),
                       std::move(builder));
}

}  // namespace memtool::test
