// The case of `memtool oom` that a snapshot tells.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "oom/oom_case.h"
#include "rows/rows.h"

namespace memtool::commands {

namespace {

// "(0, 1)" as the event's label has it.
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

// The failed allocation that the moment stands at.
const Event* OomAt(const Recording& recording, const MomentOfTrace& moment) {
  const auto events = EventsOf(recording, recording.history->traces[moment.trace]);
  if (moment.event < 0 || moment.event >= static_cast<std::int64_t>(events.size())) {
    return nullptr;
  }
  const Event& event = events[static_cast<std::size_t>(moment.event)];
  return event.action == Action::kOom ? &event : nullptr;
}

void FillFacts(const Event* oom, OomCase& found) {
  const OomState& state = *found.state;
  const auto fact = [](std::int64_t bytes) {
    return Quantity{.bytes = bytes, .source = "snapshot"};
  };
  OomFacts& facts = found.facts;
  facts.live = fact(state.live);
  facts.cached = fact(state.free);
  if (state.pending > 0) {
    facts.pending = fact(state.pending);
  }
  if (oom == nullptr) {
    return;
  }
  found.failed = true;
  facts.asked = fact(oom->size);
  // Expandable segments grow by pages; others come whole.
  facts.wanted = state.expandable > 0 ? facts.asked : fact(SegmentFor(oom->size));
  if (oom->key <= static_cast<std::uint64_t>(INT64_MAX)) {
    facts.free = fact(static_cast<std::int64_t>(oom->key));
  }
}

std::string MomentText(const MomentOfTrace& moment) {
  const auto events = static_cast<std::int64_t>(moment.summary.events);
  if (moment.event + 1 >= events) {
    return "the end";
  }
  return moment.event < 0 ? "the start" : "event " + FormatCount(moment.event);
}

}  // namespace

std::optional<std::string> LastOom(const Recording& recording, const std::string& device) {
  std::optional<std::string> best;
  std::int64_t best_time = kNoTime;
  for (const Trace& trace : recording.history->traces) {
    const std::string number = std::to_string(trace.device);
    const auto events = EventsOf(recording, trace);
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

std::string OtherFailures(const Selection& loaded) {
  constexpr std::size_t kNamed = 3;
  const Recording& recording = loaded.recording();
  std::string text;
  std::size_t others = 0;
  for (std::size_t i = 0; i < recording.history->traces.size(); ++i) {
    const Trace& trace = recording.history->traces[i];
    const auto events = EventsOf(recording, trace);
    for (std::size_t e = 0; e < events.size(); ++e) {
      const bool shown = std::any_of(
          loaded.moments().begin(), loaded.moments().end(), [&](const MomentOfTrace& moment) {
            return moment.trace == i && moment.event == static_cast<std::int64_t>(e);
          });
      if (events[e].action != Action::kOom || shown || ++others > kNamed) {
        continue;
      }
      text += fmt::format("{} {} at event {} (asked {})", others > 1 ? "," : "", TraceText(trace),
                          FormatCount(static_cast<std::int64_t>(e)), FormatSize(events[e].size));
    }
  }
  if (others == 0) {
    return {};
  }
  text += others > kNamed
              ? fmt::format(" and {} more", FormatCount(static_cast<std::int64_t>(others - kNamed)))
              : "";
  return "out of memory elsewhere in this file, by --device and --at oom:K:" + text;
}

OomCase CaseOf(const Selection& loaded, const std::string& at) {
  const Recording& recording = loaded.recording();
  OomCase found{.snapshot = true, .settings = recording.settings};
  found.state.emplace();
  OomRequest request;
  const Event* oom = nullptr;
  for (const MomentOfTrace& moment : loaded.moments()) {
    found.elsewhere = found.elsewhere || !moment.summary.ooms.empty();
    // Of several devices at once, no one request can be judged.
    oom = loaded.moments().size() == 1 ? OomAt(recording, moment) : nullptr;
  }
  if (oom != nullptr) {
    request = {.asked = oom->size, .stream = oom->stream};
    TakePool(recording, *oom, request);
  }
  for (const MomentOfTrace& moment : loaded.moments()) {
    AddState(StateAt(*loaded.history(), recording.history->traces[moment.trace], moment.event),
             request, *found.state);
  }
  if (loaded.moments().size() == 1) {
    const MomentOfTrace& only = loaded.moments().front();
    found.where = TraceText(recording.history->traces[only.trace]);
    found.moment = MomentText(only);
  } else {
    found.where = FormatCount(static_cast<std::int64_t>(loaded.moments().size())) + " devices";
    found.moment = "the end";
  }
  found.at = !at.empty() ? at : oom != nullptr ? "oom" : "end";
  if (recording.history->traces.size() > 1 && loaded.moments().size() == 1) {
    const Trace& trace = recording.history->traces[loaded.moments().front().trace];
    found.at += fmt::format(" --device {}", trace.device);
  }
  FillFacts(oom, found);
  Conclude(found);
  return found;
}

}  // namespace memtool::commands
