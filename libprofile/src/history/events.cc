#include "memtool/profile/history/events.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/numbers.h"
#include "memtool/profile/base/row_map.h"
#include "memtool/profile/select/view.h"

namespace memtool {

namespace {

constexpr std::array<std::pair<std::string_view, Action>, 12> kActions{
    {{"alloc", Action::kAlloc},
     {"free_requested", Action::kFreeRequested},
     {"free_completed", Action::kFreeCompleted},
     {"segment_alloc", Action::kSegmentAlloc},
     {"segment_free", Action::kSegmentFree},
     {"segment_map", Action::kSegmentMap},
     {"segment_unmap", Action::kSegmentUnmap},
     {"oom", Action::kOom},
     {"adjust", Action::kAdjust},
     {"snapshot", Action::kMark},
     {"annotate", Action::kAnnotate},
     {"other", Action::kOther}}};

constexpr std::uint32_t Bit(Action action) {
  return std::uint32_t{1} << static_cast<unsigned>(action);
}

std::uint32_t ActionBits(std::string_view name) {
  std::uint32_t bits = 0;
  for (const auto& [known, action] : kActions) {
    const bool group = (name == "free" && known.starts_with("free_")) ||
                       (name == "segment" && known.starts_with("segment_"));
    bits |= group || name == known ? Bit(action) : 0;
  }
  return bits;
}

bool OfSegment(Action action) {
  return action >= Action::kSegmentAlloc && action <= Action::kSegmentUnmap;
}

bool EndsSegment(Action action) {
  return action == Action::kSegmentFree || action == Action::kSegmentUnmap;
}

}  // namespace

Result<BlockId> ParseBlockId(std::string_view text) {
  BlockId id;
  std::string_view rest = text;
  const bool letter = rest.starts_with('b') || rest.starts_with('s');
  id.segment = rest.starts_with('s');
  rest.remove_prefix(letter ? 1 : 0);
  rest.remove_prefix(letter && rest.starts_with('\'') ? 1 : 0);
  const auto address = TakeNumber<std::uint64_t>(rest, 16);
  const bool separated = rest.starts_with('_');
  rest.remove_prefix(separated ? 1 : 0);
  const auto version = TakeNumber<std::uint64_t>(rest);
  if (!letter || !address || !separated || !version || !rest.empty()) {
    return Fail(ErrorCode::kUsage, fmt::format("'{}' is not a block of PyTorch's viewer", text),
                "b7f064c000000_0 for a block, s7f064c000000_0 for a segment");
  }
  id.address = *address;
  id.version = *version;
  return id;
}

std::string ToString(const BlockId& id) {
  std::array<char, 48> text{};  // of which two numbers of 64 bits need 38
  char* const end = fmt::format_to(text.data(), FMT_COMPILE("{}{:x}_{}"), id.segment ? 's' : 'b',
                                   id.address, id.version);
  return {text.data(), end};
}

std::string_view ActionName(Action action) {
  const auto* found = std::find_if(kActions.begin(), kActions.end(),
                                   [action](const auto& known) { return known.second == action; });
  return found == kActions.end() ? "other" : found->first;
}

Result<std::uint32_t> ParseActions(std::string_view text) {
  std::uint32_t bits = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view name = text.substr(begin, end - begin);
    const std::uint32_t own = ActionBits(name);
    if (own == 0) {
      std::string choices = "free, segment";
      for (const auto& [known, action] : kActions) {
        choices += fmt::format(", {}", known);
      }
      return Fail(ErrorCode::kUsage, fmt::format("there is no action '{}'", name), choices);
    }
    bits |= own;
    begin = end + 1;
  }
  return bits;
}

Result<std::vector<EventRange>> EventsBetween(const HistoryIndex& index, const MomentRange& range,
                                              std::string_view device) {
  const auto chosen = GetTraces(index.recording(), device);
  MEMTOOL_TRY(chosen);
  std::vector<EventRange> ranges;
  for (const std::size_t i : *chosen) {
    const Trace& trace = index.history().traces[i];
    if (trace.event_count == 0) {
      ranges.push_back({.trace = i});
      continue;
    }
    auto span = ResolveRange(index, trace, range);
    MEMTOOL_TRY(span);
    // The start is a state, after the earlier allocations that the first events list; here all
    // events belong to it.
    const bool start = range.from.kind == MomentSpec::Kind::kStart;
    ranges.push_back({.trace = i,
                      .first = start ? 0 : std::max<std::int64_t>(span->first, 0),
                      .last = span->last});
  }
  return ranges;
}

std::string RangeText(const MomentRange& range) {
  return range.from.text + " to " + range.to.text;
}

bool EventFilter::Matches(const Event& event) const {
  if ((actions & Bit(event.action)) == 0 || event.size < least || event.size > most) {
    return false;
  }
  if ((since != INT64_MIN || until != INT64_MAX) &&
      (event.time == kNoTime || event.time < since || event.time > until)) {
    return false;
  }
  const bool about_block = event.action <= Action::kSegmentUnmap;
  // A block of no bytes still has its address.
  return !address ||
         (about_block && *address >= event.key &&
          *address - event.key < static_cast<std::uint64_t>(std::max<std::int64_t>(event.size, 1)));
}

bool EventKeeper::Keeps(LabelSetId labels, StackId stack) {
  if (!view_.Keeps(labels)) {
    return false;
  }
  const FilterOptions& options = view_.filter_options();
  if (!stack.valid()) {
    return options.focus.empty() && options.show_from.empty();
  }
  char& kept = kept_[stack.value()];
  if (kept == kUnknown) {
    kept = view_.Expand(stack, visible_) ? kKept : kDropped;
  }
  return kept == kKept;
}

EventCursor::EventCursor(const HistoryIndex& index, const View& view,
                         std::vector<EventRange> ranges, const EventFilter& filter)
    : index_(index),
      recording_(view.recording()),
      keeper_(view),
      ranges_(std::move(ranges)),
      filter_(filter) {
  FindWanted();
}

void EventCursor::FindWanted() {
  constexpr std::size_t kFewOf = 8;  // of so many events one
  const History& history = *recording_.history;
  std::size_t count = 0;
  for (const EventRange& range : ranges_) {
    count += static_cast<std::size_t>(std::max<std::int64_t>(range.last + 1 - range.first, 0));
  }
  if (count > history.events.size() / kFewOf) {
    return;
  }
  wanted_.emplace();
  for (const EventRange& range : ranges_) {
    const auto events = GetEvents(recording_, history.traces[range.trace]);
    for (std::int64_t i = range.first; i <= range.last; ++i) {
      const std::uint64_t address = events[static_cast<std::size_t>(i)].key;
      if (wanted_->Put(address, 0) == RowMap::kNone) {
        addresses_.push_back(address);
      }
    }
  }
}

// Traces that are not selected still count versions, as they do in the viewer.
bool EventCursor::EnterTrace() {
  const auto& traces = recording_.history->traces;
  if (next_range_ >= ranges_.size() || trace_ >= traces.size()) {
    return false;
  }
  events_ = GetEvents(recording_, traces[trace_]);
  inside_ = true;
  at_ = 0;
  range_ = {.trace = trace_, .first = 0, .last = -1};
  replay_ = nullptr;
  if (ranges_[next_range_].trace == trace_) {
    range_ = ranges_[next_range_++];
    replay_ = &index_.replay(trace_);
    live_ = index_.summary(trace_).base_bytes;
    others_.clear();
    MatchRequests();
    MatchSegments();
    if (wanted_) {
      live_ = index_.TotalsAfter(trace_, range_.first - 1).live;
      SkipTo(range_.first);
    }
  }
  return true;
}

// Counts the versions of the addresses that are wanted, up to an event.
void EventCursor::SkipTo(std::int64_t number) {
  constexpr std::size_t kCompared = 8;  // so many are compared faster than looked up
  const auto is_wanted = [this](std::uint64_t address) {
    return addresses_.size() <= kCompared
               ? std::find(addresses_.begin(), addresses_.end(), address) != addresses_.end()
               : wanted_->Get(address) != RowMap::kNone;
  };
  for (; at_ < number; ++at_) {
    const Event& event = events_[static_cast<std::size_t>(at_)];
    if (is_wanted(event.key)) {
      Count(event, true);
    }
  }
}

// Requests that complete in the very next event, as nearly all do, share that event's allocation;
// the others are matched here, by following only their addresses.
void EventCursor::MatchRequests() {
  RowMap waiting;
  for (auto i = static_cast<std::size_t>(range_.first); static_cast<std::int64_t>(i) <= range_.last;
       ++i) {
    if (events_[i].action == Action::kFreeRequested && !CompletesNext(i)) {
      waiting.Put(events_[i].key, 0);
    }
  }
  RowMap open;
  for (std::size_t i = 0; waiting.size() > 0 && static_cast<std::int64_t>(i) <= range_.last; ++i) {
    const Event& event = events_[i];
    if (event.action > Action::kFreeCompleted || waiting.Get(event.key) == RowMap::kNone) {
      continue;
    }
    if (event.action == Action::kAlloc) {
      open.Put(event.key, static_cast<std::uint32_t>(i));
    } else if (event.action == Action::kFreeCompleted) {
      open.Take(event.key);
    } else if (const std::uint32_t opened = open.Get(event.key); opened != RowMap::kNone) {
      others_[static_cast<std::int64_t>(i)] = opened;
    }
  }
}

bool EventCursor::CompletesNext(std::size_t request) const {
  return request + 1 < events_.size() && events_[request + 1].key == events_[request].key &&
         events_[request + 1].action == Action::kFreeCompleted;
}

void EventCursor::MatchSegments() {
  const auto chosen = events_.subspan(static_cast<std::size_t>(range_.first),
                                      static_cast<std::size_t>(range_.last + 1 - range_.first));
  if (std::none_of(chosen.begin(), chosen.end(),
                   [](const Event& event) { return OfSegment(event.action); })) {
    return;
  }
  RowMap open;
  for (std::size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    if (!OfSegment(event.action)) {
      continue;
    }
    if (!EndsSegment(event.action)) {
      open.Put(event.key, static_cast<std::uint32_t>(i));
      continue;
    }
    const std::uint32_t opened = open.Take(event.key);
    // Memory may be unmapped in other pieces than it was mapped: those are not pairs.
    if (opened != RowMap::kNone && events_[opened].size == event.size) {
      others_[static_cast<std::int64_t>(i)] = opened;
      others_[opened] = static_cast<std::int64_t>(i);
    }
  }
}

std::optional<BlockId> EventCursor::Count(const Event& event, bool inside) {
  if ((event.action > Action::kSegmentUnmap && event.action != Action::kAnnotate) ||
      (!inside && wanted_ && wanted_->Get(event.key) == RowMap::kNone)) {
    return std::nullopt;
  }
  const bool segment = OfSegment(event.action);
  const bool ends = event.action == Action::kFreeCompleted || EndsSegment(event.action);
  RowMap& versions = segment ? segment_versions_ : block_versions_;
  const std::uint32_t known = versions.Get(event.key);
  const std::uint32_t version = known == RowMap::kNone ? 0 : known;
  if (ends) {
    versions.Put(event.key, version + 1);
  }
  return BlockId{.segment = segment, .address = event.key, .version = version};
}

std::optional<std::int64_t> EventCursor::FindPartner(std::int64_t number) const {
  const auto at = static_cast<std::size_t>(number);
  const auto partners = replay_->partners();
  std::uint32_t partner = partners[at];
  if (events_[at].action == Action::kFreeRequested && CompletesNext(at)) {
    partner = partners[at + 1];
  }
  if (partner != Replay::kNoEvent) {
    return partner;
  }
  const auto other = others_.find(number);
  return other == others_.end() ? std::nullopt : std::optional(other->second);
}

void EventCursor::Describe(std::int64_t number, const std::optional<BlockId>& id,
                           ListedEvent& out) const {
  const History& history = *recording_.history;
  const Event& event = events_[static_cast<std::size_t>(number)];
  const std::uint64_t row = history.traces[trace_].first_event + static_cast<std::uint64_t>(number);
  out = {.trace = trace_,
         .number = number,
         .event = &event,
         .labels = history.labels.empty() ? LabelSetId(0U) : history.labels[row],
         .id = id,
         .stack = event.stack,
         .live = live_,
         .partner = FindPartner(number)};
  const bool has_frames = out.stack.valid() && !recording_.Stack(out.stack).empty();
  if (!has_frames) {
    const bool freed = out.partner && *out.partner < number;
    out.stack = freed ? events_[static_cast<std::size_t>(*out.partner)].stack : StackId();
  }
}

bool EventCursor::NextInTrace(ListedEvent& out) {
  // Past the range only versions are counted, and only while a later trace needs them.
  const auto count = static_cast<std::int64_t>(events_.size());
  const std::int64_t end = next_range_ < ranges_.size() ? count : range_.last + 1;
  while (at_ < end) {
    const std::int64_t number = at_++;
    const Event& event = events_[static_cast<std::size_t>(number)];
    const bool inside = number >= range_.first && number <= range_.last;
    const std::optional<BlockId> id = Count(event, inside);
    if (replay_ != nullptr) {
      live_ = RunningAdd(live_, replay_->ChangeAt(static_cast<std::uint32_t>(number)));
    }
    if (!inside || !filter_.Matches(event) || (filter_.id && id != filter_.id)) {
      continue;
    }
    Describe(number, id, out);
    if (keeper_.Keeps(out.labels, out.stack)) {
      return true;
    }
  }
  return false;
}

bool EventCursor::Next(ListedEvent& out) {
  while (inside_ || EnterTrace()) {
    if (NextInTrace(out)) {
      return true;
    }
    inside_ = false;
    ++trace_;
  }
  return false;
}

}  // namespace memtool
