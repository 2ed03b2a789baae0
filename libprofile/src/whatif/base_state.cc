#include "whatif/base_state.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "memtool/profile/allocator/allocator_state.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/replay/replay.h"

namespace memtool::whatif {

namespace {

// Runs of one reservation lie at whole pages of each other, and not too far.
constexpr std::uint64_t kFarthest = std::uint64_t{9} << 37U;

struct Run {
  Segment segment;
  std::uint32_t owner = 0;
  std::uint64_t reservation = 0;
};

class Base {
 public:
  Base(const HistoryIndex& index, const Trace& trace, const AllocatorSettings& settings,
       const Rules& rules, std::uint32_t freed_tags)
      : index_(index),
        trace_(trace),
        settings_(settings),
        rules_(rules),
        freed_tags_(freed_tags),
        sizes_(settings, {}, {}) {}

  void Lay(const KeyMap<std::uint64_t, std::uint32_t>& tags, const FindOwner& owner_of,
           Requests& requests) {
    at_ = StateAt(index_, trace_, -1);
    for (const Segment& segment : at_.state.segments) {
      runs_.push_back({segment, owner_of(segment.pool_owner, segment.pool_id)});
    }
    ListMapped();
    FindReservations();
    requests.unplaced = at_.unplaced_blocks;
    for (const Run& run : runs_) {
      AddRun(run, tags, requests);
    }
    if (!rules_.base_without_rests) {
      FindRests(requests);
    }
  }

 private:
  [[nodiscard]] std::uint64_t GetPage(const Segment& segment) const {
    return static_cast<std::uint64_t>(segment.small ? kSizes.small_segment
                                                    : settings_.large_segment);
  }
  [[nodiscard]] static auto Group(const Run& run) {
    return std::tuple(run.segment.expandable, run.owner, run.segment.stream, run.segment.small);
  }

  // Expandable segments come last, by reservation; the others by address.
  void FindReservations() {
    std::sort(runs_.begin(), runs_.end(), [](const Run& a, const Run& b) {
      return std::tuple_cat(Group(a), std::tuple(a.segment.address)) <
             std::tuple_cat(Group(b), std::tuple(b.segment.address));
    });
    std::size_t first = 0;  // of the reservation
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      Run& run = runs_[i];
      if (!run.segment.expandable) {
        continue;
      }
      const bool continues =
          i > first && Group(runs_[first]) == Group(run) &&
          run.segment.address - runs_[first].segment.address < kFarthest &&
          (run.segment.address - runs_[first].segment.address) % GetPage(run.segment) == 0;
      first = continues ? first : i;
      run.reservation = continues ? runs_[first].reservation : GetBegin(run);
    }
  }

  // By stream and address: where mapped runs begin, and what is mapped during the trace.
  using StreamAddress = std::pair<std::uint16_t, std::uint64_t>;
  void ListMapped() {
    for (const Run& run : runs_) {
      if (run.segment.expandable) {
        begins_.emplace_back(run.segment.stream, run.segment.address);
      }
    }
    for (const Event& event : GetEvents(index_.recording(), trace_)) {
      if (event.action == Action::kSegmentMap && !begins_.empty()) {
        maps_.push_back({{event.stream, event.key}, event.size});
      }
    }
    std::sort(begins_.begin(), begins_.end());
    std::sort(maps_.begin(), maps_.end());
  }

  // What is mapped later below the first run of a reservation, and above any other, belongs to it
  // too: it was not mapped when the recording began.
  [[nodiscard]] std::uint64_t GetBegin(const Run& run) const {
    const StreamAddress own{run.segment.stream, run.segment.address};
    const auto at = std::lower_bound(begins_.begin(), begins_.end(), own);
    const std::uint64_t above =
        at == begins_.begin() || std::prev(at)->first != own.first ? 0 : std::prev(at)->second;
    const std::uint64_t page = GetPage(run.segment);
    auto map = std::lower_bound(maps_.begin(), maps_.end(),
                                std::pair(StreamAddress{own.first, above}, INT64_MIN));
    for (; map != maps_.end() && map->first < own; ++map) {
      const std::uint64_t distance = own.second - map->first.second;
      if (distance < kFarthest && distance % page == 0 &&
          static_cast<std::uint64_t>(map->second) % page == 0) {
        return map->first.second;
      }
    }
    return own.second;
  }

  // --- what a block keeps of the gap behind it ---
  //
  // A rest that is too small to be a block stays with the block before it. Files tell so of what
  // lives until their end. A gap as small as that is such a rest; in a larger one, the first block
  // that is laid into it lies where the rest ends.

  [[nodiscard]] std::int64_t LargestRest(const BaseSegment& segment, std::int64_t rounded) const {
    if (segment.place.small || settings_.expandable_segments) {
      return kSizes.block - 1;
    }
    if (segment.place.expandable) {
      return 0;
    }
    return !settings_.splits_everything() && rounded >= settings_.max_split_size ? segment.size
                                                                                 : kSizes.small;
  }

  struct Gap {
    std::uint64_t end = 0;
    std::int64_t largest = 0;  // rest
    std::uint32_t block = 0;   // its row in Requests::blocks; the free one follows
  };

  static void GiveRest(Requests& requests, std::uint32_t block, std::int64_t bytes) {
    std::int64_t& kept = requests.blocks[block].laid.size;
    kept = SaturatingAdd(kept, bytes);
    std::int64_t& left = requests.blocks[block + 1].laid.size;
    left = SaturatingSubtract(left, bytes);
  }

  void FindRests(Requests& requests) const {
    std::map<std::uint64_t, Gap> open;            // by where the gap begins
    KeyMap<std::uint64_t, std::uint64_t> before;  // address of its block → that
    for (const BaseSegment& segment : requests.segments) {
      std::uint64_t address = segment.place.address;
      for (std::uint32_t i = 0; i < segment.block_count; ++i) {
        const std::uint32_t row = segment.first_block + i;
        const BaseBlock& block = requests.blocks[row];
        const std::uint64_t begin = address;
        address += static_cast<std::uint64_t>(block.laid.size);
        const bool gap = i + 1 < segment.block_count && block.laid.tag < freed_tags_ &&
                         requests.blocks[row + 1].laid.tag == CachingAllocator::kFreeTag;
        if (!gap) {
          continue;
        }
        const std::int64_t size = requests.blocks[row + 1].laid.size;
        const std::int64_t largest = LargestRest(segment, block.laid.size);
        if (size <= largest) {
          GiveRest(requests, row, size);
          address = begin + static_cast<std::uint64_t>(requests.blocks[row].laid.size);
        } else if (largest > 0) {
          open[address] = {address + static_cast<std::uint64_t>(size), largest, row};
          before[begin] = address;
        }
      }
    }
    AskEvents(open, before, requests);
    DropEmpty(requests);
  }

  void AskEvents(std::map<std::uint64_t, Gap>& open,
                 const KeyMap<std::uint64_t, std::uint64_t>& before, Requests& requests) const {
    for (const Event& event : GetEvents(index_.recording(), trace_)) {
      if (open.empty()) {
        return;
      }
      if (event.action == Action::kFreeCompleted) {
        if (const auto gap = before.find(event.key); gap != before.end()) {
          open.erase(gap->second);
        }
      } else if (event.action == Action::kAlloc) {
        auto at = open.upper_bound(event.key);
        if (at == open.begin() || event.key >= (--at)->second.end) {
          continue;
        }
        const auto rest = static_cast<std::int64_t>(event.key - at->first);
        if (rest <= at->second.largest) {
          GiveRest(requests, at->second.block, rest);
        }
        open.erase(at);
      }
    }
  }

  // Gaps that became parts of the blocks before them.
  static void DropEmpty(Requests& requests) {
    std::vector<BaseBlock> blocks;
    blocks.reserve(requests.blocks.size());
    for (BaseSegment& segment : requests.segments) {
      const auto first = static_cast<std::uint32_t>(blocks.size());
      for (const BaseBlock& block :
           std::span(requests.blocks).subspan(segment.first_block, segment.block_count)) {
        if (block.laid.size > 0) {
          blocks.push_back(block);
        }
      }
      segment.first_block = first;
      segment.block_count = static_cast<std::uint32_t>(blocks.size()) - first;
    }
    requests.blocks = std::move(blocks);
  }

  static void Push(Requests& requests, std::int64_t size, std::uint32_t tag, const Block& block) {
    requests.blocks.push_back(
        {.laid = {.size = size, .tag = tag, .pending = block.state == BlockState::kPendingFree},
         .requested = block.requested > 0 ? block.requested : block.size,
         .stack = block.stack});
  }
  static void PushFree(Requests& requests, std::int64_t size) {
    if (size > 0) {
      auto& last = requests.blocks;
      if (last.size() > FirstOfSegment(requests) &&
          last.back().laid.tag == CachingAllocator::kFreeTag) {
        last.back().laid.size = SaturatingAdd(last.back().laid.size, size);
      } else {
        last.push_back({.laid = {.size = size}, .stack = {}});
      }
    }
  }
  static std::size_t FirstOfSegment(const Requests& requests) {
    return requests.segments.back().first_block;
  }

  // Powers of two make blocks larger than multiples of 512 bytes would be; the state only knows the
  // latter.
  [[nodiscard]] std::int64_t SizeOf(const Block& block, std::int64_t room) const {
    if (rules_.base_without_rests && block.requested > 0) {
      return std::min(block.size, sizes_.RoundedSize(block.requested));
    }
    const std::int64_t rounded = sizes_.RoundedSize(block.requested);
    return block.requested > 0 && rounded > block.size && rounded <= SaturatingAdd(block.size, room)
               ? rounded
               : block.size;
  }

  void AddRun(const Run& run, const KeyMap<std::uint64_t, std::uint32_t>& tags,
              Requests& requests) {
    const Segment& segment = run.segment;
    requests.segments.push_back(
        {.place = {.pool = {segment.stream, run.owner},
                   .small = segment.small,
                   .address = segment.address,
                   .blocks = {},
                   .expandable = segment.expandable,
                   .reservation = run.reservation},
         .size = segment.size,
         .first_block = static_cast<std::uint32_t>(requests.blocks.size())});
    const auto blocks =
        std::span(at_.state.blocks).subspan(segment.first_block, segment.block_count);
    std::int64_t taken = 0;  // of the free block ahead
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const Block& block = blocks[i];
      const auto tag = tags.find(block.address);
      if (block.state == BlockState::kInactive || tag == tags.end()) {
        PushFree(requests, SaturatingSubtract(block.size, taken));
        taken = 0;
        continue;
      }
      const bool free_next = i + 1 < blocks.size() && blocks[i + 1].state == BlockState::kInactive;
      const std::int64_t size = SizeOf(block, free_next ? blocks[i + 1].size : 0);
      Push(requests, size, tag->second, block);
      requests.base_live = SaturatingAdd(requests.base_live, requests.blocks.back().requested);
      taken = std::max<std::int64_t>(SaturatingSubtract(size, block.size), 0);
      PushFree(requests, SaturatingSubtract(block.size, size));
    }
    BaseSegment& added = requests.segments.back();
    added.block_count = static_cast<std::uint32_t>(requests.blocks.size()) - added.first_block;
    requests.base_reserved = SaturatingAdd(requests.base_reserved, segment.size);
  }

  const HistoryIndex& index_;
  const Trace& trace_;
  const AllocatorSettings& settings_;
  const Rules& rules_;
  std::uint32_t freed_tags_;
  CachingAllocator sizes_;  // for its rounding
  StateAtMoment at_;
  std::vector<Run> runs_;
  std::vector<StreamAddress> begins_;
  std::vector<std::pair<StreamAddress, std::int64_t>> maps_;
};

}  // namespace

void LayOutBase(const HistoryIndex& index, const Trace& trace, const AllocatorSettings& settings,
                const Rules& rules, const BaseNames& names, Requests& requests) {
  Base(index, trace, settings, rules, names.tags.freed)
      .Lay(names.tags.of, names.owner_of, requests);
}

}  // namespace memtool::whatif
