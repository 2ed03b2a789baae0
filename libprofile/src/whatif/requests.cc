#include "memtool/profile/whatif/requests.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/replay/replay.h"
#include "whatif/base_state.h"
#include "whatif/release_runs.h"

namespace memtool::whatif {

namespace {

constexpr std::uint32_t kNoTag = UINT32_MAX;

// Names of private pools as small numbers, and which event is about which: newer files label
// events, older ones show the pool of the segments that there are at the end.
class Pools {
 public:
  Pools(const Recording& recording, const Trace& trace) : recording_(recording), trace_(trace) {
    if (recording.state) {
      for (const Segment& segment : recording.state->segments) {
        if (segment.device == trace.device && !segment.host &&
            (segment.pool_owner != 0 || segment.pool_id != 0)) {
          ranges_[segment.address] = {segment.address + static_cast<std::uint64_t>(segment.size),
                                      Number(segment.pool_owner, segment.pool_id)};
        }
      }
    }
  }

  std::uint32_t Number(std::uint64_t owner, std::uint64_t id) {
    if (owner == 0 && id == 0) {
      return 0;
    }
    const auto next = static_cast<std::uint32_t>(numbers_.size() + 1);
    return numbers_.try_emplace(std::pair(owner, id), next).first->second;
  }

  std::uint32_t Of(std::uint32_t event, std::uint64_t address) {
    const History& history = *recording_.history;
    if (!history.labels.empty()) {
      const LabelSetId set = history.labels[trace_.first_event + event];
      const auto known = labelled_.find(set.value());
      const std::uint32_t number =
          known != labelled_.end() ? known->second : (labelled_[set.value()] = FromLabels(set));
      if (number != 0) {
        return number;
      }
    }
    auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin()) {
      return 0;
    }
    const auto& [end, number] = std::prev(after)->second;
    return address < end ? number : 0;
  }

 private:
  std::uint32_t FromLabels(LabelSetId set) {
    for (const Label& label : recording_.Labels(set)) {
      if (recording_.Text(label.key) == "pool") {
        const std::string text(recording_.Text(label.text));  // "(1, 0)"
        char* end = nullptr;
        const std::uint64_t owner = text.size() > 1 ? std::strtoull(text.c_str() + 1, &end, 10) : 0;
        const std::uint64_t id =
            end != nullptr && *end == ',' ? std::strtoull(end + 1, nullptr, 10) : 0;
        return Number(owner, id);
      }
    }
    return 0;
  }

  const Recording& recording_;
  const Trace& trace_;
  std::map<std::uint64_t, std::pair<std::uint64_t, std::uint32_t>> ranges_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint32_t> numbers_;
  KeyMap<std::uint32_t, std::uint32_t> labelled_;
};

class Collector {
 public:
  Collector(const HistoryIndex& index, const Trace& trace)
      : index_(index),
        trace_(trace),
        replay_(index.replay(trace)),
        events_(GetEvents(index.recording(), trace)),
        pools_(index.recording(), trace) {}

  Requests Collect(const AllocatorSettings& settings, const Rules& rules) {
    requests_.runs = FindReleaseRuns(index_, trace_);
    requests_.double_allocations = index_.summary(trace_).double_allocs;
    TagBase();
    FindDelayed();
    tags_.assign(events_.size(), kNoTag);
    for (const std::uint32_t event : replay_.unmatched()) {
      tags_[event] = base_.of.at(events_[event].key);
    }
    requests_.rows.reserve(events_.size() / 3 * 2 + 1);
    auto run = requests_.runs.begin();
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
      Add(i);
      for (; run != requests_.runs.end() && run->last == i; ++run) {
        if (run->cause == ReleaseRun::Cause::kProgram) {
          requests_.rows.push_back({.event = i, .kind = Request::Kind::kEmptyCache});
        }
      }
    }
    requests_.tags = next_tag_;
    const FindOwner owner_of = [this](std::uint64_t owner, std::uint64_t id) {
      return pools_.Number(owner, id);
    };
    LayOutBase(index_, trace_, settings, rules, {.tags = base_, .owner_of = owner_of}, requests_);
    return std::move(requests_);
  }

 private:
  std::uint32_t NewTag() {
    if (free_tags_.empty()) {
      return next_tag_++;
    }
    const std::uint32_t tag = free_tags_.back();
    free_tags_.pop_back();
    return tag;
  }

  void TagBase() {
    for (const std::uint32_t event : replay_.unmatched()) {
      base_.of.try_emplace(events_[event].key, next_tag_);
      next_tag_ = static_cast<std::uint32_t>(base_.of.size());
    }
    base_.freed = next_tag_;
    for (const std::uint32_t row : replay_.unopened()) {
      base_.of.try_emplace(index_.recording().state->blocks[row].address, next_tag_);
      next_tag_ = static_cast<std::uint32_t>(base_.of.size());
    }
  }

  [[nodiscard]] bool CompletesAtOnce(std::uint32_t i) const {
    return i + 1 < events_.size() && events_[i + 1].key == events_[i].key &&
           events_[i + 1].action == Action::kFreeCompleted;
  }
  // Addresses whose free is completed later than it is requested: few.
  void FindDelayed() {
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
      if (events_[i].action == Action::kFreeRequested && !CompletesAtOnce(i)) {
        delayed_.insert(events_[i].key);
      }
    }
  }

  void Push(std::uint32_t event, std::uint32_t tag, Request::Kind kind) {
    const Event& from = events_[event];
    const bool allocates = kind == Request::Kind::kAllocate || kind == Request::Kind::kFailed;
    requests_.rows.push_back(
        {.size = std::max<std::int64_t>(from.size, 1),
         .event = event,
         .tag = tag,
         .owner = allocates && kind == Request::Kind::kAllocate ? pools_.Of(event, from.key) : 0,
         .stream = from.stream,
         .kind = kind});
  }

  void Add(std::uint32_t i) {
    const Event& event = events_[i];
    switch (event.action) {
      case Action::kAlloc:
        tags_[i] = NewTag();
        Push(i, tags_[i], Request::Kind::kAllocate);
        if (!delayed_.empty() && delayed_.contains(event.key)) {
          open_[event.key] = tags_[i];
        }
        break;
      case Action::kFreeRequested:
        AddRequested(i);
        break;
      case Action::kFreeCompleted:
        AddCompleted(i);
        break;
      case Action::kOom:
        Push(i, NewTag(), Request::Kind::kFailed);
        free_tags_.push_back(requests_.rows.back().tag);
        break;
      default:
        break;
    }
  }

  void AddRequested(std::uint32_t i) {
    const Event& event = events_[i];
    if (CompletesAtOnce(i)) {
      return;
    }
    if (const auto open = open_.find(event.key); open != open_.end()) {
      Push(i, open->second, Request::Kind::kFreeRequested);
    } else if (const auto base = base_.of.find(event.key); base != base_.of.end()) {
      Push(i, base->second, Request::Kind::kFreeRequested);
    }
  }

  void AddCompleted(std::uint32_t i) {
    const std::uint32_t opened = replay_.partners()[i];
    const std::uint32_t tag = opened == Replay::kNoEvent ? tags_[i] : tags_[opened];
    // Of two frees of one base address the second is of nothing that is known.
    if (tag == kNoTag || (opened == Replay::kNoEvent && !freed_base_.insert(tag).second)) {
      return;
    }
    Push(i, tag, Request::Kind::kFreeCompleted);
    free_tags_.push_back(tag);
    if (!open_.empty()) {
      open_.erase(events_[i].key);
    }
  }

  const HistoryIndex& index_;
  const Trace& trace_;
  const Replay& replay_;
  std::span<const Event> events_;
  Pools pools_;
  Requests requests_;
  BaseTags base_;
  KeySet<std::uint64_t> delayed_;
  KeyMap<std::uint64_t, std::uint32_t> open_;  // of delayed_, address → tag
  KeySet<std::uint32_t> freed_base_;
  std::vector<std::uint32_t> tags_;  // per event that allocates, or frees what was there before
  std::vector<std::uint32_t> free_tags_;
  std::uint32_t next_tag_ = 0;
};

}  // namespace

Requests CollectRequests(const HistoryIndex& index, const Trace& trace,
                         const AllocatorSettings& settings, Rules rules) {
  return Collector(index, trace).Collect(settings, rules);
}

void RemoveBase(Requests& requests, std::span<const char> gone) {
  for (BaseBlock& block : requests.blocks) {
    if (block.laid.tag != CachingAllocator::kFreeTag && gone[block.laid.tag] != 0) {
      requests.base_live = SaturatingSubtract(requests.base_live, block.requested);
      block.laid = {.size = block.laid.size};
    }
  }
  // Two free blocks side by side are one.
  std::vector<BaseBlock> blocks;
  blocks.reserve(requests.blocks.size());
  for (BaseSegment& segment : requests.segments) {
    const auto old = std::span(requests.blocks).subspan(segment.first_block, segment.block_count);
    const std::size_t first = blocks.size();
    for (const BaseBlock& block : old) {
      const bool joins = blocks.size() > first && block.laid.tag == CachingAllocator::kFreeTag &&
                         blocks.back().laid.tag == CachingAllocator::kFreeTag;
      if (joins) {
        blocks.back().laid.size = SaturatingAdd(blocks.back().laid.size, block.laid.size);
      } else {
        blocks.push_back(block);
      }
    }
    segment.first_block = static_cast<std::uint32_t>(first);
    segment.block_count = static_cast<std::uint32_t>(blocks.size() - first);
  }
  requests.blocks = std::move(blocks);
}

Requests Between(const Requests& requests, std::size_t first, std::size_t last) {
  constexpr std::size_t kNone = SIZE_MAX;
  std::vector<std::size_t> made(requests.tags, kNone);  // row of the allocation that is live
  std::vector<char> gone(requests.tags, 0);             // of the base
  for (std::size_t i = 0; i < first; ++i) {
    const Request& row = requests.rows[i];
    if (row.kind == Request::Kind::kAllocate) {
      made[row.tag] = i;
    } else if (row.kind == Request::Kind::kFreeCompleted) {
      if (made[row.tag] == kNone) {
        gone[row.tag] = 1;
      }
      made[row.tag] = kNone;
    }
  }
  Requests part = requests;
  RemoveBase(part, gone);
  std::erase(made, kNone);
  std::sort(made.begin(), made.end());
  part.rows.clear();
  for (const std::size_t row : made) {
    part.rows.push_back(requests.rows[row]);
  }
  const auto begin = requests.rows.begin();
  part.rows.insert(part.rows.end(), begin + static_cast<std::ptrdiff_t>(first),
                   begin + static_cast<std::ptrdiff_t>(last));
  return part;
}

Requests Without(const HistoryIndex& index, const Trace& trace, Requests requests,
                 const std::function<bool(StackId)>& leaves_out) {
  const auto events = GetEvents(index.recording(), trace);
  std::vector<char> gone(requests.tags, 0);
  for (const BaseBlock& block : requests.blocks) {
    if (block.laid.tag != CachingAllocator::kFreeTag && leaves_out(block.stack)) {
      gone[block.laid.tag] = 1;
    }
  }
  RemoveBase(requests, gone);
  std::erase_if(requests.rows, [&](const Request& request) {
    if (request.kind == Request::Kind::kAllocate) {
      gone[request.tag] = leaves_out(events[request.event].stack) ? 1 : 0;
    }
    return request.kind != Request::Kind::kEmptyCache && request.kind != Request::Kind::kFailed &&
           gone[request.tag] != 0;
  });
  return requests;
}

Requests Scaled(Requests requests, double factor) {
  const auto scale = [factor](std::int64_t size) {
    return std::max<std::int64_t>(memtool::Scaled(size, factor), 1);
  };
  requests.base_live = 0;
  for (Request& request : requests.rows) {
    request.size = scale(request.size);
  }
  for (BaseBlock& block : requests.blocks) {
    block.requested = scale(block.requested);
    const bool live = block.laid.tag != CachingAllocator::kFreeTag;
    requests.base_live = SaturatingAdd(requests.base_live, live ? block.requested : 0);
  }
  return requests;
}

Requests WithEmptyCache(Requests requests, const std::vector<std::int64_t>& events) {
  std::vector<Request> rows;
  rows.reserve(requests.rows.size() + events.size());
  auto next = events.begin();
  const auto add_until = [&](std::int64_t event) {
    for (; next != events.end() && *next < event; ++next) {
      rows.push_back({.event = static_cast<std::uint32_t>(std::max<std::int64_t>(*next, 0)),
                      .kind = Request::Kind::kEmptyCache});
    }
  };
  for (const Request& request : requests.rows) {
    add_until(request.event);
    rows.push_back(request);
  }
  add_until(INT64_MAX);
  requests.rows = std::move(rows);
  return requests;
}

Requests WithoutEmptyCache(Requests requests) {
  std::erase_if(requests.rows,
                [](const Request& request) { return request.kind == Request::Kind::kEmptyCache; });
  return requests;
}

}  // namespace memtool::whatif
