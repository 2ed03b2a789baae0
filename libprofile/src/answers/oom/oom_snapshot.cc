// The out-of-memory case of a recording.
#include <algorithm>
#include <charconv>

#include "answers/oom/oom_conclude.h"
#include "memtool/profile/allocator/allocator_state.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/model/extent.h"

namespace memtool {

namespace {

// Reads the pool from the event's label: "(0, 1)".
void TakePool(const Recording& recording, const Event& event, OomRequest& request) {
  const History& history = *recording.history;
  if (history.labels.empty()) {
    return;
  }
  const auto row = static_cast<std::size_t>(&event - history.events.data());
  for (const Label& label : recording.Labels(history.labels[row])) {
    const std::string_view text = recording.Text(label.text);
    const std::size_t comma = text.find(", ");
    if (recording.Text(label.key) == "pool" && text.starts_with('(') &&
        comma != std::string_view::npos) {
      std::from_chars(text.data() + 1, text.data() + comma, request.pool_owner);
      std::from_chars(text.data() + comma + 2, text.data() + text.size(), request.pool_id);
    }
  }
}

// The failed allocation at the moment, or null.
const Event* OomAt(const Recording& recording, const MomentOfTrace& moment) {
  return FailedAt(recording, recording.history->traces[moment.trace], moment.event);
}

void FillStates(const Selection& selection, const OomRequest& request, OomCase& found) {
  const Recording& recording = selection.recording();
  found.state.emplace();
  for (const MomentOfTrace& moment : selection.moments()) {
    const Trace& trace = recording.history->traces[moment.trace];
    const StateAtMoment at = StateAt(*selection.history(), trace, moment.event);
    AddState(at, UseOfEach(at, recording, trace, moment.event), request, *found.state);
  }
}

void FillFacts(const Event* oom, OomCase& found) {
  const OomState& state = *found.state;
  const auto fact = [](std::int64_t bytes) {
    return Quantity{.bytes = bytes, .source = "snapshot"};
  };
  OomFacts& facts = found.facts;
  facts.live = fact(SaturatingAdd(state.live, state.unplaced));
  // What lies in no known segment may lie in what looks free.
  if (state.unplaced == 0) {
    facts.cached = fact(state.free);
  }
  if (state.pending > 0) {
    facts.pending = fact(state.pending);
  }
  if (oom == nullptr) {
    return;
  }
  found.failed = true;
  facts.requested_bytes = fact(oom->size);
  // Expandable segments grow by pages; others are allocated whole.
  facts.segment_size = state.expandable > 0 ? facts.requested_bytes : fact(SegmentFor(oom->size));
  if (oom->key <= static_cast<std::uint64_t>(INT64_MAX)) {
    facts.free = fact(static_cast<std::int64_t>(oom->key));
  }
}

// Who allocates, where only requests are recorded.
std::string_view AllocatorOf(Framework framework) {
  switch (framework) {
    case Framework::kJax:
      return "XLA";
    case Framework::kPyTorch:
      return "PyTorch";
    case Framework::kMxnet:
      return "MXNet";
    case Framework::kDriver:
      return "this process";
    case Framework::kRapids:
      return "RMM";
    case Framework::kUnknown:
      break;
  }
  return "the allocator";
}

// What is live is all that requests show of an allocator.
void FillRequests(const Selection& selection, const Event* oom, OomCase& found) {
  found.allocator = AllocatorOf(selection.recording().metadata.origin.framework);
  std::int64_t live = 0;
  for (const MomentOfTrace& moment : selection.moments()) {
    live = SaturatingAdd(live, moment.live);
  }
  found.facts.live = Quantity{.bytes = live, .source = "recording"};
  if (selection.moments().size() == 1) {
    const TraceSummary& summary = selection.moments().front().summary;
    found.peak = {.bytes = summary.peak_bytes, .event = summary.peak_event};
  }
  if (oom != nullptr) {
    found.failed = true;
    found.facts.requested_bytes = Quantity{.bytes = oom->size, .source = "recording"};
    if (oom->key <= static_cast<std::uint64_t>(INT64_MAX)) {
      found.facts.free =
          Quantity{.bytes = static_cast<std::int64_t>(oom->key), .source = "recording"};
    }
  }
}

void FillPlace(const Selection& selection, OomCase& found) {
  const auto& moments = selection.moments();
  if (moments.empty()) {
    return;
  }
  if (moments.size() > 1) {
    found.place = {.kind = OomPlace::Kind::kDevices, .devices = moments.size()};
    return;
  }
  const MomentOfTrace& only = moments.front();
  const auto& traces = selection.recording().history->traces;
  found.place = {.kind = OomPlace::Kind::kTrace, .trace = TraceText(traces[only.trace])};
  if (only.event + 1 < static_cast<std::int64_t>(only.summary.events)) {
    found.event = only.event;
  }
  if (traces.size() > 1) {
    found.device = traces[only.trace].device;
  }
}

}  // namespace

std::optional<std::string> LastOom(const Recording& recording, std::string_view device) {
  std::optional<std::string> best;
  std::int64_t best_time = kNoTime;
  for (const Trace& trace : recording.history->traces) {
    const std::string number = std::to_string(trace.device);
    const auto events = GetEvents(recording, trace);
    const auto last = std::find_if(events.rbegin(), events.rend(),
                                   [](const Event& event) { return event.action == Action::kOom; });
    if (last == events.rend() || (!device.empty() && device != number && device != trace.name)) {
      continue;
    }
    if (!best || last->time >= best_time) {
      best = number;
      best_time = last->time;
    }
  }
  return best;
}

OomCase MakeCase(const Selection& selection) {
  const Recording& recording = selection.recording();
  const auto& moments = selection.moments();
  OomCase found{
      .snapshot = true,
      .unrecorded = recording.state && (moments.empty() || ExtentOf(recording) == Extent::kNothing),
      .ring_of_one = recording.state && ExtentOf(recording) == Extent::kLastEvent,
      .platform = recording.metadata.origin.platform,
      .settings = recording.settings};
  // With several devices at once, no single request can be judged.
  const Event* oom = moments.size() == 1 ? OomAt(recording, moments.front()) : nullptr;
  OomRequest request;
  if (oom != nullptr) {
    request = {.requested_bytes = oom->size, .stream = oom->stream};
    TakePool(recording, *oom, request);
  }
  for (const MomentOfTrace& moment : moments) {
    found.elsewhere = found.elsewhere || !moment.summary.ooms.empty();
  }
  FillPlace(selection, found);
  if (recording.state) {
    FillStates(selection, request, found);
    FillFacts(oom, found);
  } else {
    FillRequests(selection, oom, found);
  }
  if (oom != nullptr && oom->time != kNoTime && recording.history->clock == Clock::kUnix) {
    found.time = oom->time;
  }
  Judge(found);
  Conclude(found);
  return found;
}

}  // namespace memtool
