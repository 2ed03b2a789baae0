#include "memtool/profile/whatif/recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/model/recording_builder.h"
#include "memtool/profile/replay/replay.h"
#include "memtool/profile/whatif/fidelity.h"
#include "memtool/profile/whatif/limit.h"
#include "memtool/profile/whatif/requests.h"
#include "memtool/profile/whatif/scenario.h"
#include "whatif/model_state.h"
#include "whatif/player.h"
#include "whatif/run_driver.h"

namespace memtool::whatif {

namespace {

// One trace, event by event: its requests go to the model, and what that does becomes events.
class TraceWriter {
 public:
  TraceWriter(const HistoryIndex& index, const Trace& trace, const Requests& requests,
              const AllocatorSettings& settings, const RunOptions& options)
      : index_(index),
        trace_(trace),
        events_(GetEvents(index.recording(), trace)),
        requests_(requests),
        options_(options),
        expandable_(settings.expandable_segments),
        player_(requests, settings, MakeDriver(requests, options)),
        addresses_(requests.tags, 0),
        owners_(requests.tags) {}

  // Appends to the events (and labels) of `history`, and gives the state at the end.
  AllocatorState Write(History& history) {
    history_ = &history;
    Lay();
    auto next = requests_.rows.begin();
    for (std::uint32_t i = 0; i < events_.size(); ++i) {
      for (; next != requests_.rows.end() && next->event < i; ++next) {
      }
      for (auto own = next; own != requests_.rows.end() && own->event == i; ++own) {
        if (own->kind == Request::Kind::kEmptyCache) {
          Send(*own, i);
        }
      }
      const bool is_request = next != requests_.rows.end() && next->event == i &&
                              next->kind != Request::Kind::kEmptyCache;
      AddEvent(i, is_request ? &*next : nullptr);
    }
    return ToState(player_.allocator(), owners_, trace_.device);
  }

 private:
  using BlockId = CachingAllocator::BlockId;

  void Lay() {
    player_.LayAnew();
    for (const BaseSegment& segment : requests_.segments) {
      std::uint64_t address = segment.place.address;
      for (const BaseBlock& block :
           std::span(requests_.blocks).subspan(segment.first_block, segment.block_count)) {
        const std::uint32_t tag = block.laid.tag;
        if (tag != CachingAllocator::kFreeTag) {
          live_[address] = tag;
          owners_[tag] = {block.stack, block.requested};
          NoteAddress(tag);
        }
        address += static_cast<std::uint64_t>(block.laid.size);
      }
    }
  }

  void NoteAddress(std::uint32_t tag) {
    const BlockId block = player_.GetBlock(tag);
    addresses_[tag] =
        block == CachingAllocator::kNoBlock ? kUnknownBytes : player_.allocator().GetAddress(block);
  }

  void Push(const Event& event, std::uint32_t from) {
    history_->events.push_back(event);
    if (!index_.history().labels.empty()) {
      history_->labels.push_back(index_.history().labels[trace_.first_event + from]);
    }
  }

  // Sends a request, and writes down what it did to segments and to blocks that waited for a
  // stream.
  BlockId Send(const Request& request, std::uint32_t i) {
    const BlockId block = player_.Send(request);
    for (const std::uint32_t tag : player_.allocator().completed()) {
      Push(EventOf(i, tag, Action::kFreeCompleted), i);
    }
    for (const SegmentChange& change : player_.allocator().changes()) {
      Push(SegmentEvent(events_[i], change, trace_, expandable_), i);
    }
    return block;
  }

  [[nodiscard]] Event EventOf(std::uint32_t i, std::uint32_t tag, Action action) const {
    return BlockEvent(events_[i], addresses_[tag], owners_[tag].second, action, trace_);
  }

  void AddEvent(std::uint32_t i, const Request* request) {
    switch (events_[i].action) {
      case Action::kAlloc:
      case Action::kOom:
        if (request != nullptr) {
          AddAllocation(i, *request);
        }
        break;
      case Action::kFreeRequested:
      case Action::kFreeCompleted:
        AddFree(i, request);
        break;
      case Action::kSegmentAlloc:
      case Action::kSegmentFree:
      case Action::kSegmentMap:
      case Action::kSegmentUnmap:
        break;
      default:
        AddOther(i);
    }
  }

  void AddAllocation(std::uint32_t i, const Request& request) {
    const bool allocates = request.kind == Request::Kind::kAllocate;
    owners_[request.tag] = {events_[i].stack, request.size};
    const std::int64_t reserved = player_.allocator().counters().reserved;
    if (Send(request, i) == CachingAllocator::kNoBlock) {
      Event event = events_[i];
      event.action = Action::kOom;
      event.domain = static_cast<std::uint8_t>(trace_.blocks.value());
      event.key = options_.limit == kNoLimit
                      ? kUnknownBytes
                      : static_cast<std::uint64_t>(std::max<std::int64_t>(
                            SaturatingSubtract(options_.limit, reserved), 0));
      Push(event, i);
    } else if (allocates) {
      NoteAddress(request.tag);
      live_[events_[i].key] = request.tag;
      Push(EventOf(i, request.tag, Action::kAlloc), i);
    }
  }

  void AddFree(std::uint32_t i, const Request* request) {
    const auto live = live_.find(events_[i].key);
    if (live == live_.end()) {
      return;
    }
    const std::uint32_t tag = live->second;
    const bool there = player_.GetBlock(tag) != CachingAllocator::kNoBlock;
    if (there) {
      Push(EventOf(i, tag, events_[i].action), i);
    }
    if (request != nullptr) {
      Send(*request, i);
    }
    if (events_[i].action == Action::kFreeCompleted) {
      live_.erase(live);
    }
  }

  // Marks, annotations of blocks, and what has no meaning here.
  void AddOther(std::uint32_t i) {
    Event event = events_[i];
    if (event.action == Action::kAnnotate) {
      const auto live = live_.find(event.key);
      if (live == live_.end()) {
        return;
      }
      event.key = addresses_[live->second];
    }
    Push(event, i);
  }

  const HistoryIndex& index_;
  const Trace& trace_;
  std::span<const Event> events_;
  const Requests& requests_;
  const RunOptions& options_;
  bool expandable_;
  Player player_;
  std::vector<std::uint64_t> addresses_;       // by tag
  KeyMap<std::uint64_t, std::uint32_t> live_;  // recorded address → tag
  Owners owners_;
  History* history_ = nullptr;
};

void CopyEvents(const History& from, const Trace& trace, History& to) {
  const auto begin = from.events.begin() + static_cast<std::ptrdiff_t>(trace.first_event);
  to.events.insert(to.events.end(), begin, begin + static_cast<std::ptrdiff_t>(trace.event_count));
  if (!from.labels.empty()) {
    const auto labels = from.labels.begin() + static_cast<std::ptrdiff_t>(trace.first_event);
    to.labels.insert(to.labels.end(), labels,
                     labels + static_cast<std::ptrdiff_t>(trace.event_count));
  }
}

void AddSegments(const AllocatorState& from, std::size_t row, AllocatorState& to) {
  Segment segment = from.segments[row];
  const auto blocks = std::span(from.blocks).subspan(segment.first_block, segment.block_count);
  segment.first_block = static_cast<std::uint32_t>(to.blocks.size());
  to.blocks.insert(to.blocks.end(), blocks.begin(), blocks.end());
  to.segments.push_back(segment);
}

RunOptions OptionsFor(const HistoryIndex& index, const Trace& trace, const AllocatorSettings& own,
                      const Requests& requests) {
  const Limit limit = ComputeLimit(index, trace, own, requests);
  const bool reported = limit.from != Limit::From::kHighest;
  return {.limit = reported ? limit.low : kNoLimit,
          .total = {},
          .continues_after_failure = true,
          .until = {}};
}

}  // namespace

Result<Recording> Rebuilt(
    const HistoryIndex& index, const std::string& note,
    const std::function<Result<AllocatorState>(const Trace& trace, History& history)>& write) {
  const Recording& recording = index.recording();
  const History& old = index.history();
  History history = old;
  history.events.clear();
  history.labels.clear();
  history.mapped.clear();  // refers to events by row; of other formats
  AllocatorState state;
  std::vector<std::int32_t> replayed;
  Obstacle obstacle = Obstacle::kNoEvents;
  for (std::size_t row = 0; row < old.traces.size(); ++row) {
    const Trace& trace = old.traces[row];
    history.traces[row].first_event = history.events.size();
    const Obstacle found =
        trace.segments.valid() ? FindObstacle(recording, trace) : Obstacle::kOutside;
    if (found == Obstacle::kNone) {
      const Result<AllocatorState> made = write(trace, history);
      MEMTOOL_TRY(made);
      for (std::size_t i = 0; i < made->segments.size(); ++i) {
        AddSegments(*made, i, state);
      }
      replayed.push_back(trace.device);
    } else {
      obstacle = obstacle == Obstacle::kNoEvents ? found : obstacle;
      CopyEvents(old, trace, history);
    }
    history.traces[row].event_count = history.events.size() - history.traces[row].first_event;
  }
  if (replayed.empty()) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("its allocator cannot be replayed ({})", ObstacleName(obstacle)),
                "memtool whatif says why");
  }
  for (std::size_t i = 0; recording.state && i < recording.state->segments.size(); ++i) {
    const Segment& segment = recording.state->segments[i];
    if (segment.host ||
        std::find(replayed.begin(), replayed.end(), segment.device) == replayed.end()) {
      AddSegments(*recording.state, i, state);
    }
  }
  std::stable_sort(state.segments.begin(), state.segments.end(),
                   [](const Segment& a, const Segment& b) {
                     return std::pair(a.device, a.address) < std::pair(b.device, b.address);
                   });
  RecordingBuilder builder(recording);
  builder.SetHistory(std::move(history));
  builder.SetState(std::move(state));
  builder.AddDiagnostic({.severity = Severity::kNote, .code = "whatif", .message = note});
  return std::move(builder).Finish();
}

Result<Recording> RecordedUnder(const HistoryIndex& index, const AllocatorSettings& settings) {
  const Recording& recording = index.recording();
  const AllocatorSettings own = RecordedSettings(recording);
  if (ConfText(own) == ConfText(settings)) {
    return recording;
  }
  const std::string text = ConfText(settings);
  return Rebuilt(index,
                 fmt::format("segments are those of a model of the allocator under {}",
                             text.empty() ? "PyTorch's defaults" : text),
                 [&](const Trace& trace, History& history) -> Result<AllocatorState> {
                   const Requests requests = CollectRequests(index, trace, own);
                   const RunOptions options = OptionsFor(index, trace, own, requests);
                   return TraceWriter(index, trace, requests, settings, options).Write(history);
                 });
}

}  // namespace memtool::whatif
