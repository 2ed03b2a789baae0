#include "memtool/profile/replay/moment.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/device_name.h"
#include "memtool/profile/base/numbers.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/extent.h"
#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/replay/mark_groups.h"

namespace memtool {

namespace {

using Kind = MomentSpec::Kind;

constexpr std::string_view kChoices =
    "end, start, peak, peak:reserved, job-peak, oom[:K], oom-or-peak, event:N, time:12.5s, "
    "time:@EPOCH, mark:NAME[#K][:end], step:K";

// "12.5s" or "12.5" in nanoseconds.
std::optional<std::int64_t> Seconds(std::string_view text) {
  if (text.ends_with('s')) {
    text.remove_suffix(1);
  }
  const auto seconds = ParseNumber<double>(text);
  return seconds && *seconds > -9e9 && *seconds < 9e9
             ? std::optional(static_cast<std::int64_t>(*seconds * 1e9))
             : std::nullopt;
}

tl::unexpected<Error> NoSuch(const MomentSpec& spec, std::string_view why) {
  return Fail(ErrorCode::kUsage, fmt::format("{} {}: {}", spec.option, spec.text, why),
              fmt::format("moments: {}", kChoices));
}

// "NAME[#K][:end]" into the spec.
void ParseMark(std::string_view text, MomentSpec& spec) {
  if (text.ends_with(":end")) {
    spec.mark_end = true;
    text.remove_suffix(4);
  }
  const std::size_t hash = text.rfind('#');
  if (hash != std::string_view::npos && hash > 0) {
    if (const auto index = ParseNumber<std::int64_t>(text.substr(hash + 1))) {
      spec.index = *index;
      spec.indexed = true;
      spec.name = text.substr(0, hash);
      return;
    }
  }
  spec.name = text;
}

// Row `index` of `size`, negative from the end.
std::optional<std::size_t> AtIndex(std::int64_t index, std::size_t size) {
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t row = index < 0 ? index + count : index;
  return row >= 0 && row < count ? std::optional(static_cast<std::size_t>(row)) : std::nullopt;
}

// The last event at or before a time.
std::int64_t LastEventBy(std::span<const Event> events, std::int64_t time) {
  for (std::size_t i = events.size(); i-- > 0;) {
    if (events[i].time != kNoTime && events[i].time <= time) {
      return static_cast<std::int64_t>(i);
    }
  }
  return -1;
}

Result<std::int64_t> FirstTime(const HistoryIndex& index, const MomentSpec& spec) {
  const std::int64_t first = index.first_time();
  if (first == kNoTime) {
    return NoSuch(spec, "the events of this file carry no times; use event:N");
  }
  return first;
}

Result<std::int64_t> ResolveTime(const HistoryIndex& index, const Trace& trace,
                                 const MomentSpec& spec) {
  const auto first = FirstTime(index, spec);
  MEMTOOL_TRY(first);
  const std::int64_t time = spec.epoch ? spec.nanos : SaturatingAdd(*first, spec.nanos);
  return LastEventBy(GetEvents(index.recording(), trace), time);
}

tl::unexpected<Error> NoSuchMark(std::span<const Mark> marks, const MomentSpec& spec) {
  const std::string what = spec.option + " " + spec.text;
  return marks.empty() ? Fail(ErrorCode::kUsage, what + ": this file has no marks",
                              "record_function and profiler steps make them")
                       : Fail(ErrorCode::kUsage, what + ": there is no such mark",
                              "marks: " + MarkNames(marks));
}

Result<std::int64_t> ResolveMark(const Recording& recording, const Trace& trace,
                                 const MomentSpec& spec) {
  // "step:3" and "mark:ProfilerStep#3": the number may be part of the name.
  const std::string whole = spec.indexed ? fmt::format("{}#{}", spec.name, spec.index) : spec.name;
  for (const auto& [name, index] :
       {std::pair(whole, std::int64_t{0}), std::pair(spec.name, spec.indexed ? spec.index : 0)}) {
    std::vector<const Mark*> found;
    for (const Mark& mark : recording.history->marks) {
      if (mark.name == name && (mark.device < 0 || mark.device == trace.device)) {
        found.push_back(&mark);
      }
    }
    if (const auto row = AtIndex(index, found.size())) {
      const std::int64_t time = spec.mark_end ? found[*row]->end : found[*row]->begin;
      if (time == kNoTime) {
        return NoSuch(spec, "this mark has no recorded end");
      }
      return LastEventBy(GetEvents(recording, trace), time);
    }
  }
  return NoSuchMark(recording.history->marks, spec);
}

// "2 out-of-memory events are recorded: oom:0 to oom:1", of each device that has any.
std::string RecordedOoms(const HistoryIndex& index) {
  std::string text;
  for (const Trace& trace : index.history().traces) {
    const std::size_t count = index.summary(trace).ooms.size();
    if (count == 0) {
      continue;
    }
    const std::string of =
        index.history().traces.size() == 1 ? std::string() : " on " + TraceText(trace);
    text += (text.empty() ? "" : "; ") +
            (count == 1 ? fmt::format("1 out-of-memory event is recorded{}: oom or oom:0", of)
                        : fmt::format("{} out-of-memory events are recorded{}: oom:0 to oom:{}",
                                      count, of, count - 1));
  }
  return text.empty() ? "no out-of-memory event is recorded in this file; its highest moment is "
                        "'peak'"
                      : text;
}

Result<std::int64_t> ResolveOom(const HistoryIndex& index, const Trace& trace,
                                const MomentSpec& spec) {
  const std::vector<std::uint64_t>& ooms = index.summary(trace).ooms;
  if (const auto row = AtIndex(spec.index, ooms.size())) {
    return static_cast<std::int64_t>(ooms[*row]);
  }
  return NoSuch(spec, RecordedOoms(index));
}

Result<std::int64_t> ResolveStep(const HistoryIndex& index, const Trace& trace,
                                 const MomentSpec& spec) {
  if (!spec.placed.empty()) {
    return spec.placed[static_cast<std::size_t>(&trace - index.history().traces.data())];
  }
  return ResolveMark(index.recording(), trace, spec);
}

// The first time at which all traces together hold the most.
Result<std::int64_t> JobPeakTime(const HistoryIndex& index, const MomentSpec& spec) {
  if (auto first = FirstTime(index, spec); !first) {
    return first;
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> changes;
  for (const Event& event : index.history().events) {
    if (const std::int64_t change = LiveChange(event); event.time != kNoTime && change != 0) {
      changes.emplace_back(event.time, change);
    }
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::int64_t live = 0;
  std::int64_t peak = 0;
  std::int64_t time = std::numeric_limits<std::int64_t>::min() + 1;
  for (const auto& [at, change] : changes) {
    live = RunningAdd(live, change);
    if (live > peak) {
      peak = live;
      time = at;
    }
  }
  return time;
}

}  // namespace

std::string TraceNames(const Recording& recording) {
  std::string names;
  for (const Trace& trace : recording.history->traces) {
    names += (names.empty() ? "" : ", ") + trace.name;
  }
  return names;
}

Result<std::vector<std::size_t>> GetTraces(const Recording& recording, std::string_view device) {
  const History& history = *recording.history;
  const auto domain = [&history](const Trace& trace) -> const MemoryDomain& {
    return history.domains[trace.blocks.value()];
  };
  const auto is_cpu = [&domain](const Trace& trace) {
    return domain(trace).kind == DomainKind::kCpu;
  };
  // What holds another trace's domain: its bytes are those of that one, and more.
  std::vector<bool> is_whole(history.domains.size());
  for (const Trace& trace : history.traces) {
    const MemoryDomain& inner = domain(trace);
    // Parents come first where they have a trace of their own: no circle of them hides all.
    if (inner.parent.valid() && inner.parent.value() < trace.blocks.value() &&
        inner.level != DomainLevel::kUser) {
      is_whole[inner.parent.value()] = true;
    }
  }
  const bool only_cpu = std::all_of(history.traces.begin(), history.traces.end(), is_cpu);
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < history.traces.size(); ++i) {
    const Trace& trace = history.traces[i];
    const bool apart = domain(trace).level == DomainLevel::kUser || is_whole[trace.blocks.value()];
    const bool by_default = !apart && (only_cpu || !is_cpu(trace));
    const bool by_name = apart ? trace.name == device : DeviceMatches(trace.name, device);
    if (device.empty() ? by_default : by_name) {
      chosen.push_back(i);
    }
  }
  if (chosen.empty() && !device.empty()) {
    return Fail(ErrorCode::kUsage, fmt::format("--device: there is no device '{}'", device),
                "devices: " + TraceNames(recording));
  }
  return chosen;
}

namespace {

// The usual spelling of a moment: "Peak" becomes "peak", and a plain number an event. Names of
// marks stay as they are.
std::string Normalized(std::string_view text) {
  if (ParseNumber<std::int64_t>(text)) {
    return fmt::format("event:{}", text);
  }
  std::string normalized(text);
  const std::size_t names = std::min(text.find(':'), text.size());
  std::transform(normalized.begin(), normalized.begin() + static_cast<std::ptrdiff_t>(names),
                 normalized.begin(), [](char c) {
                   return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
                 });
  return normalized;
}

}  // namespace

Result<MomentSpec> ParseMoment(std::string_view text, std::string_view option) {
  MomentSpec spec;
  spec.text = Normalized(text);
  spec.option = option;
  const std::string_view moment = spec.text;
  const std::map<std::string_view, Kind> words{{"end", Kind::kEnd},
                                               {"start", Kind::kStart},
                                               {"peak", Kind::kPeak},
                                               {"oom", Kind::kOom},
                                               {"job-peak", Kind::kJobPeak},
                                               {"peak:reserved", Kind::kPeakReserved},
                                               {"oom-or-peak", Kind::kOomOrPeak}};
  if (const auto word = words.find(moment); word != words.end()) {
    spec.kind = word->second;
    return spec;
  }
  const std::size_t colon = moment.find(':');
  const std::string_view head = moment.substr(0, colon);
  const std::string_view rest =
      colon == std::string_view::npos ? std::string_view{} : moment.substr(colon + 1);
  if (head == "oom" || head == "event" || head == "step") {
    const auto number = ParseNumber<std::int64_t>(rest);
    if (!number) {
      return NoSuch(spec, "needs a whole number after the colon");
    }
    spec.kind = head == "oom" ? Kind::kOom : head == "event" ? Kind::kEvent : Kind::kStep;
    spec.index = *number;
    spec.indexed = true;
    spec.name = "ProfilerStep";
    return spec;
  }
  if (head == "time") {
    spec.kind = Kind::kTime;
    spec.epoch = rest.starts_with('@');
    const auto nanos = Seconds(spec.epoch ? rest.substr(1) : rest);
    if (!nanos) {
      return NoSuch(spec, "needs seconds, such as time:12.5s or time:@1700000000.5");
    }
    spec.nanos = *nanos;
    return spec;
  }
  if (head == "mark" && !rest.empty()) {
    spec.kind = Kind::kMark;
    ParseMark(rest, spec);
    return spec;
  }
  return NoSuch(spec, "there is no such moment");
}

MomentSpec DefaultMoment(const Recording& recording) {
  if (!recording.history || recording.history->events.empty() ||
      ExtentOf(recording) != Extent::kWhole) {
    return {.text = "end"};
  }
  return recording.metadata.origin.kind == RecordingKind::kProgram
             ? MomentSpec{.kind = Kind::kPeak, .text = "peak"}
             : MomentSpec{.kind = Kind::kOomOrPeak, .text = "oom-or-peak"};
}

MomentSpec AgreedMoment(MomentSpec spec, const HistoryIndex& index,
                        std::span<const std::size_t> traces) {
  if (spec.kind != Kind::kOomOrPeak) {
    return spec;
  }
  const auto failed = std::count_if(traces.begin(), traces.end(), [&index](std::size_t trace) {
    return !index.summary(trace).ooms.empty();
  });
  if (failed == 0) {
    spec.kind = Kind::kPeak;
    spec.text = "peak";
  } else if (failed == static_cast<std::ptrdiff_t>(traces.size())) {
    spec.kind = Kind::kOom;
    spec.text = "oom";
  }
  return spec;
}

Result<std::int64_t> ResolveMoment(const HistoryIndex& index, const Trace& trace,
                                   const MomentSpec& spec) {
  const Recording& recording = index.recording();
  const auto count = static_cast<std::int64_t>(trace.event_count);
  switch (spec.kind) {
    case Kind::kEnd:
      return count - 1;
    case Kind::kStart:
      return static_cast<std::int64_t>(trace.listed_before) - 1;
    case Kind::kPeak:
      return index.summary(trace).peak_event;
    case Kind::kPeakReserved:
      return index.summary(trace).reserved_peak_event;
    case Kind::kJobPeak: {
      const auto time = JobPeakTime(index, spec);
      return time ? Result<std::int64_t>(LastEventBy(GetEvents(recording, trace), *time)) : time;
    }
    case Kind::kOom:
      return ResolveOom(index, trace, spec);
    case Kind::kOomOrPeak: {
      const TraceSummary& summary = index.summary(trace);
      return summary.ooms.empty() ? summary.peak_event
                                  : static_cast<std::int64_t>(summary.ooms.back());
    }
    case Kind::kEvent:
      if (spec.index < -1 || spec.index >= count) {
        return NoSuch(spec, fmt::format("the trace of device {} has events 0 to {}", trace.device,
                                        count - 1));
      }
      return spec.index;
    case Kind::kTime:
      return ResolveTime(index, trace, spec);
    case Kind::kMark:
      return ResolveMark(recording, trace, spec);
    case Kind::kStep:
      return ResolveStep(index, trace, spec);
  }
  return count - 1;
}

Result<StateSpan> ResolveRange(const HistoryIndex& index, const Trace& trace,
                               const MomentRange& range) {
  auto first = ResolveMoment(index, trace, range.from);
  auto last = first ? ResolveMoment(index, trace, range.to) : first;
  MEMTOOL_TRY(last);
  if (*first > *last) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{} {} is event {} of {}, after {} {}, event {}", range.from.option,
                            range.from.text, *first, TraceText(trace), range.to.option,
                            range.to.text, *last));
  }
  return StateSpan{*first, *last};
}

std::string TraceText(const Trace& trace) {
  const bool number = trace.name.find_first_not_of("0123456789") == std::string::npos;
  return number ? "device " + trace.name : trace.name;
}

}  // namespace memtool
