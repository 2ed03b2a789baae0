#include "memtool/profile/analysis/growth_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "memtool/profile/analysis/flat_cum.h"
#include "memtool/profile/analysis/timeline.h"
#include "memtool/profile/analysis/values.h"

namespace memtool {

namespace {

constexpr std::size_t kFewestMarks = 3;

// A step of one trace: from the state after event `first` to the state after event `last`.
struct Step {
  std::int64_t first = -1;
  std::int64_t last = -1;
};

// A step that all traces share, by the clock: events after `begin`, up to and with `end`.
struct Span {
  std::string name;
  std::int64_t begin = kNoTime;
  std::int64_t end = kNoTime;
};

struct ChosenTrace {
  const Trace* trace = nullptr;
  Step range;
  std::vector<Step> steps;
};

// "ProfilerStep#3" is a ProfilerStep; "Optimizer.step#AdamW.step" has no number.
std::string_view WithoutNumber(std::string_view name) {
  const std::size_t hash = name.rfind('#');
  if (hash == std::string_view::npos || hash + 1 == name.size()) {
    return name;
  }
  const std::string_view tail = name.substr(hash + 1);
  return tail.find_first_not_of("0123456789") == std::string_view::npos ? name.substr(0, hash)
                                                                        : name;
}

// Marks that `wanted` names, in order of time, without overlap.
std::vector<Span> SpansOf(const History& history, std::string_view wanted) {
  std::vector<const Mark*> marks;
  for (const Mark& mark : history.marks) {
    const bool fits = mark.name == wanted || WithoutNumber(mark.name) == wanted;
    if (fits && mark.begin != kNoTime) {
      marks.push_back(&mark);
    }
  }
  // The same span may be noted for every device; one device's marks are the program's steps.
  std::int32_t device = INT32_MAX;
  for (const Mark* mark : marks) {
    device = std::min(device, mark->device);
  }
  std::erase_if(marks, [device](const Mark* mark) { return mark->device != device; });
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Mark* a, const Mark* b) { return a->begin < b->begin; });
  std::vector<Span> spans;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    // What happens at the very moment in which a step begins is of that step.
    const std::int64_t next = (i + 1 < marks.size() ? marks[i + 1]->begin : INT64_MAX) - 1;
    const std::int64_t begin = marks[i]->begin - 1;
    const std::int64_t end = marks[i]->end == kNoTime ? next : std::min(marks[i]->end, next);
    spans.push_back({marks[i]->name, begin, std::max(end, begin)});
  }
  return spans;
}

// The marks that are steps by themselves, where nobody named any.
std::pair<std::string, std::vector<Span>> FindSpans(const History& history) {
  std::vector<std::string> names{"ProfilerStep"};
  for (const Mark& mark : history.marks) {
    if (mark.name.starts_with("Optimizer.step")) {
      names.emplace_back(WithoutNumber(mark.name));
      break;
    }
  }
  for (std::string& name : names) {
    std::vector<Span> spans = SpansOf(history, name);
    if (spans.size() >= kFewestMarks) {
      return {std::move(name), std::move(spans)};
    }
  }
  return {};
}

// Per event its time; clocks of files step back, this one never does.
std::vector<std::int64_t> ClockOf(std::span<const Event> events) {
  std::vector<std::int64_t> clock;
  clock.reserve(events.size());
  std::int64_t now = kNoTime;
  for (const Event& event : events) {
    now = std::max(now, event.time);
    clock.push_back(now);
  }
  return clock;
}

// The last event of the range that has happened at `time`.
std::int64_t LastBy(const std::vector<std::int64_t>& clock, std::int64_t time, const Step& range) {
  const auto after = std::upper_bound(clock.begin(), clock.end(), time);
  return std::clamp<std::int64_t>(after - clock.begin() - 1, range.first, range.last);
}

std::vector<Step> StepsBySpans(std::span<const Event> events, const Step& range,
                               const std::vector<Span>& spans) {
  const std::vector<std::int64_t> clock = ClockOf(events);
  std::vector<Step> steps;
  for (const Span& span : spans) {
    steps.push_back({LastBy(clock, span.begin, range), LastBy(clock, span.end, range)});
  }
  return steps;
}

std::vector<Step> EqualSteps(const Step& range, std::size_t parts) {
  const std::int64_t all = range.last - range.first;
  const auto count = static_cast<std::int64_t>(parts);
  std::vector<Step> steps;
  for (std::int64_t i = 0; i < count; ++i) {
    // Quotient and remainder apart: all · i may not fit.
    const auto at = [&](std::int64_t part) {
      return range.first + all / count * part + all % count * part / count;
    };
    steps.push_back({at(i), at(i + 1)});
  }
  return steps;
}

// Bytes per row while one trace is walked through.
class Walk {
 public:
  // `before`, `no_stack`: rows of what has no group; all rows are below `rows`.
  struct Unnamed {
    std::uint32_t before = 0;
    std::uint32_t no_stack = 0;
    std::size_t rows = 0;
    bool keep_before = true;  // false: a filter takes what nobody knows the stack of
  };
  Walk(const Recording& recording, const TimelineGroups& groups, const Unnamed& unnamed)
      : recording_(recording),
        groups_(groups),
        before_(unnamed.keep_before ? unnamed.before : kDropped),
        no_stack_(unnamed.no_stack),
        held_(unnamed.rows),
        of_stack_(recording.stack_count()) {}

  struct Sums {
    std::vector<std::vector<std::int64_t>> series;  // [row][step]
    std::vector<std::vector<std::int64_t>> kept;    // [row][step]: allocated in it, never freed
    std::vector<std::int64_t> kept_before;          // [row]
    std::vector<std::int64_t> totals;               // [step]
  };

  void Run(const ChosenTrace& chosen, StepMeasure measure, Sums& sums);

  // Live bytes per stack at the end of the ranges: which of a row's places weighs most.
  [[nodiscard]] const std::vector<std::int64_t>& of_stack() const { return of_stack_; }

 private:
  static constexpr std::uint32_t kDropped = UINT32_MAX;

  [[nodiscard]] std::uint32_t RowOfStack(StackId stack) const {
    // kRest = kDropped: a filter took it.
    return stack.valid() ? groups_.of_stack[stack.value()] : no_stack_;
  }
  [[nodiscard]] std::uint32_t RowOf(std::uint32_t event) const;
  void StartAtBase(Sums& sums);
  void Apply(std::uint32_t event, std::size_t step, Sums& sums);
  void Add(std::uint32_t row, std::int64_t bytes) {
    if (row != kDropped) {
      held_[row] = SaturatingAdd(held_[row], bytes);
      total_ = SaturatingAdd(total_, bytes);
    }
  }

  const Recording& recording_;
  const TimelineGroups& groups_;
  std::uint32_t before_;
  std::uint32_t no_stack_;
  std::vector<std::int64_t> held_;
  std::vector<std::int64_t> of_stack_;
  std::int64_t total_ = 0;

  // Of the trace that is walked through.
  const Replay* replay_ = nullptr;
  const Trace* trace_ = nullptr;
  std::span<const Event> events_;
  Step range_;
};

// The row of the allocation that an event makes or ends.
std::uint32_t Walk::RowOf(std::uint32_t event) const {
  const bool is_free = events_[event].action == Action::kFreeCompleted;
  const std::uint32_t opened = is_free ? replay_->partners()[event] : event;
  if (opened == Replay::kNoEvent) {
    return before_;
  }
  if (!groups_.of_stream.empty()) {
    return groups_.of_stream[events_[opened].stream];
  }
  if (!groups_.of_label.empty()) {
    const auto& labels = recording_.history->labels;
    const LabelSetId set = labels.empty() ? LabelSetId(0U) : labels[trace_->first_event + opened];
    return groups_.of_label[set.valid() ? set.value() : 0];
  }
  return RowOfStack(events_[opened].stack);
}

// What was there before the first event; frees after the range prove that it stays within.
void Walk::StartAtBase(Sums& sums) {
  std::fill(held_.begin(), held_.end(), 0);
  total_ = 0;
  const auto add = [&](std::uint32_t row, std::int64_t bytes, bool stays) {
    Add(row, bytes);
    if (row != kDropped && stays) {
      sums.kept_before[row] = SaturatingAdd(sums.kept_before[row], bytes);
    }
  };
  for (const std::uint32_t event : replay_->unmatched()) {
    add(before_, events_[event].size, event > range_.last);
  }
  for (const std::uint32_t row : replay_->ghosts()) {
    const Block& block = recording_.state->blocks[row];
    const bool frames =
        !groups_.of_stack.empty() && block.stack.valid() && !recording_.Stack(block.stack).empty();
    add(frames ? RowOfStack(block.stack) : before_, block.requested, true);
  }
}

void Walk::Apply(std::uint32_t event, std::size_t step, Sums& sums) {
  const Event& at = events_[event];
  if (at.action != Action::kAlloc && at.action != Action::kFreeCompleted) {
    return;
  }
  const std::uint32_t row = RowOf(event);
  if (row == kDropped) {
    return;
  }
  Add(row, LiveChange(at));
  const bool frees = at.action == Action::kFreeCompleted;
  const std::uint32_t other = replay_->partners()[event];
  const bool stays = !frees && (other == Replay::kNoEvent || other > range_.last);
  if (stays && event <= range_.first) {
    sums.kept_before[row] = SaturatingAdd(sums.kept_before[row], at.size);
  } else if (stays) {
    sums.kept[row][step] = SaturatingAdd(sums.kept[row][step], at.size);
  }
  const StackId stack = frees && other != Replay::kNoEvent ? events_[other].stack : at.stack;
  if (stack.valid()) {
    std::int64_t& live = of_stack_[stack.value()];
    live = SaturatingAdd(live, LiveChange(at));
  }
}

void Walk::Run(const ChosenTrace& chosen, StepMeasure measure, Sums& sums) {
  const Replay replay(recording_, *chosen.trace);
  replay_ = &replay;
  trace_ = chosen.trace;
  events_ = EventsOf(recording_, *trace_);
  range_ = chosen.range;
  StartAtBase(sums);
  std::int64_t done = -1;
  std::vector<std::int64_t> low;
  for (std::size_t step = 0; step < chosen.steps.size(); ++step) {
    for (; done < chosen.steps[step].first; ++done) {
      Apply(static_cast<std::uint32_t>(done + 1), step, sums);
    }
    low = held_;
    std::int64_t low_total = total_;
    for (; done < chosen.steps[step].last; ++done) {
      const auto event = static_cast<std::uint32_t>(done + 1);
      Apply(event, step, sums);
      if (events_[event].action == Action::kFreeCompleted) {
        const std::uint32_t row = RowOf(event);
        if (row != kDropped) {
          low[row] = std::min(low[row], held_[row]);
          low_total = std::min(low_total, total_);
        }
      }
    }
    const bool lowest = measure == StepMeasure::kLow;
    for (std::size_t row = 0; row < held_.size(); ++row) {
      std::int64_t& to = sums.series[row][step];
      to = SaturatingAdd(to, lowest ? low[row] : held_[row]);
    }
    sums.totals[step] = SaturatingAdd(sums.totals[step], lowest ? low_total : total_);
  }
}

// The traces that are looked at, each with its range.
Result<std::vector<ChosenTrace>> ChooseTraces(const Recording& recording,
                                              const StepOptions& options) {
  const History& history = *recording.history;
  std::vector<ChosenTrace> chosen;
  std::string names;
  for (const Trace& trace : history.traces) {
    names += (names.empty() ? "" : ", ") + trace.name;
    // A caller's own books lie within the driver's: together they would count bytes twice.
    const bool user = history.ledgers[trace.blocks.value()].level == LedgerLevel::kUser;
    const bool wanted = user ? trace.name == options.device
                             : options.device.empty() || DeviceMatches(trace.name, options.device);
    if (!wanted || trace.event_count == 0) {
      continue;
    }
    auto first = ResolveMoment(recording, trace, options.from);
    auto last = ResolveMoment(recording, trace, options.to);
    if (!first || !last) {
      Error error = !first ? first.error() : last.error();
      error.message.replace(0, std::string_view("--at").size(), !first ? "--from" : "--to");
      return Fail(std::move(error));
    }
    if (*first >= *last) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("--from {} is event {} of device {}, not before "
                              "--to {}, event {}",
                              options.from.text, *first, trace.name, options.to.text, *last));
    }
    chosen.push_back({.trace = &trace, .range = {*first, *last}});
  }
  if (chosen.empty()) {
    return options.device.empty()
               ? Fail(ErrorCode::kUsage, "the history of this file has no events")
               : Fail(ErrorCode::kUsage,
                      fmt::format("--device: there is no device '{}' with events", options.device),
                      "devices: " + names);
  }
  return chosen;
}

// Parts of equal time of all chosen traces together.
Result<std::vector<Span>> EqualSpans(const Recording& recording,
                                     const std::vector<ChosenTrace>& chosen, std::size_t parts) {
  std::int64_t first = INT64_MAX;
  std::int64_t last = kNoTime;
  for (const ChosenTrace& one : chosen) {
    const auto events = EventsOf(recording, *one.trace);
    for (std::int64_t i = one.range.first + 1; i <= one.range.last; ++i) {
      const std::int64_t time = events[static_cast<std::size_t>(i)].time;
      first = time == kNoTime ? first : std::min(first, time);
      last = std::max(last, time);
    }
  }
  if (first >= last) {
    return Fail(ErrorCode::kUsage, "--axis time: the events of this file carry no times");
  }
  const auto at = [&](std::size_t part) {
    const double share = static_cast<double>(part) / static_cast<double>(parts);
    return part == parts
               ? last
               : first - 1 + static_cast<std::int64_t>(static_cast<double>(last - first) * share);
  };
  std::vector<Span> spans;
  for (std::size_t i = 0; i < parts; ++i) {
    spans.push_back({{}, at(i), at(i + 1)});
  }
  return spans;
}

// Steps in which nothing of the range happens, at its ends: marks may begin before the recording.
void DropOutside(std::vector<ChosenTrace>& chosen, std::vector<Span>& spans) {
  const auto outside = [&chosen](std::size_t step) {
    return std::all_of(chosen.begin(), chosen.end(), [step](const ChosenTrace& one) {
      return one.steps[step].last <= one.range.first || one.steps[step].first >= one.range.last;
    });
  };
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (!outside(i)) {
      kept.push_back(i);
    }
  }
  const auto pick = [&kept](auto& list) {
    for (std::size_t i = 0; i < kept.size(); ++i) {
      list[i] = list[kept[i]];
    }
    list.resize(kept.size());
  };
  pick(spans);
  for (ChosenTrace& one : chosen) {
    pick(one.steps);
  }
}

// Fills the steps of every chosen trace; gives their names.
Result<std::vector<std::string>> FindSteps(const Recording& recording, const StepOptions& options,
                                           std::vector<ChosenTrace>& chosen, std::string& mark) {
  const History& history = *recording.history;
  std::vector<Span> spans;
  mark = options.mark;
  if (!mark.empty()) {
    spans = SpansOf(history, mark);
  } else if (options.parts == 0) {
    std::tie(mark, spans) = FindSpans(history);
  }
  if (!options.mark.empty() && spans.empty()) {
    return Fail(ErrorCode::kUsage, fmt::format("--step-mark: no mark is called '{}'", mark),
                history.marks.empty()
                    ? "this file has no marks (record_function and profiler steps make them)"
                    : "memtool timeline --format json lists the marks of a file");
  }
  std::size_t parts = options.parts == 0 ? kDefaultParts : options.parts;
  if (spans.empty() && options.by_time) {
    auto equal = EqualSpans(recording, chosen, parts);
    if (!equal) {
      return Fail(std::move(equal.error()));
    }
    spans = *std::move(equal);
  }
  for (ChosenTrace& one : chosen) {
    const std::int64_t most = one.range.last - one.range.first;
    parts = std::min(parts, static_cast<std::size_t>(most));
  }
  for (ChosenTrace& one : chosen) {
    one.steps = spans.empty() ? EqualSteps(one.range, parts)
                              : StepsBySpans(EventsOf(recording, *one.trace), one.range, spans);
  }
  if (!mark.empty()) {
    DropOutside(chosen, spans);
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < chosen.front().steps.size(); ++i) {
    names.push_back(mark.empty() ? fmt::format("part {}", i + 1) : spans[i].name);
  }
  if (names.size() < 2) {
    return Fail(ErrorCode::kUsage, "growth needs two steps; this history has fewer",
                "--steps N divides it into N equal parts");
  }
  return names;
}

// Place and call of every row of frames: where most of its bytes are at the end of the range.
void FillPlaces(const View& view, const By& by, const std::vector<std::int64_t>& of_stack,
                const TimelineGroups& groups, NodeSpace& space, std::vector<GrowthRow>& rows) {
  StackSums sums;
  for (std::size_t i = 0; i < of_stack.size(); ++i) {
    sums.rows.push_back({.stack = StackId(i), .value = of_stack[i]});
  }
  FlatCum flat_cum(space);
  flat_cum.Add(view, sums, by.granularity);
  const std::vector<NodeId> vias = flat_cum.Vias();
  for (std::size_t i = 0; i < groups.names.size(); ++i) {
    const NodeId node = groups.names[i].node;
    if (!node.valid()) {
      continue;
    }
    const Place place = flat_cum.PlaceOf(node);
    GrowthRow& row = rows[i];
    const bool has_place = by.granularity != Granularity::kModule;
    if (has_place && by.granularity != Granularity::kFile) {
      row.file = row.file.empty() ? place.file : row.file;
      row.line = row.line == 0 ? place.line : row.line;
    }
    if (vias[node.value()].valid()) {
      row.via = space.Name(vias[node.value()]);
    }
  }
}

void FillRow(const Walk::Sums& sums, std::size_t row, StepMeasure measure, GrowthRow& to) {
  to.series = sums.series[row];
  std::int64_t so_far = sums.kept_before[row];
  for (std::size_t step = 0; step < to.series.size(); ++step) {
    const std::int64_t kept = sums.kept[row][step];
    so_far = SaturatingAdd(so_far, kept);
    to.kept = SaturatingAdd(to.kept, kept);
    to.kept_steps += kept != 0 ? 1 : 0;
    if (measure == StepMeasure::kKept) {
      to.series[step] = so_far;
    }
  }
}

}  // namespace

Result<HistoryGrowth> GrowthOfHistory(const View& view, const By& by, const StepOptions& options,
                                      NodeSpace& space) {
  const Recording& recording = view.recording();
  auto groups = GroupForTimeline(view, by, space);
  auto chosen = ChooseTraces(recording, options);
  if (!groups || !chosen) {
    return Fail(std::move(!groups ? groups.error() : chosen.error()));
  }
  HistoryGrowth growth;
  auto names = FindSteps(recording, options, *chosen, growth.mark);
  if (!names) {
    return Fail(std::move(names.error()));
  }
  growth.devices = chosen->size();
  growth.measure =
      options.measure.value_or(growth.mark.empty() ? StepMeasure::kLow : StepMeasure::kEnd);

  const std::size_t known = groups->names.size();
  Walk::Unnamed unnamed{.before = static_cast<std::uint32_t>(known),
                        .no_stack = static_cast<std::uint32_t>(known + 1),
                        .rows = known + 2,
                        .keep_before = view.filter_options().focus.empty() &&
                                       view.filter_options().show_from.empty()};
  for (std::uint32_t i = 0; i < known; ++i) {
    const TimelineGroups::Name& name = groups->names[i];
    unnamed.no_stack = name.name == kNoStack && !name.node.valid() ? i : unnamed.no_stack;
  }
  const std::vector<std::int64_t> zeros(names->size(), 0);
  Walk::Sums sums{std::vector(unnamed.rows, zeros), std::vector(unnamed.rows, zeros),
                  std::vector<std::int64_t>(unnamed.rows, 0), zeros};
  Walk walk(recording, *groups, unnamed);
  for (const ChosenTrace& one : *chosen) {
    walk.Run(one, growth.measure, sums);
  }

  std::vector<GrowthRow>& rows = growth.series.rows;
  rows.resize(unnamed.rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i < known) {
      const TimelineGroups::Name& name = groups->names[i];
      rows[i].name = name.name;
      rows[i].file = name.file;
      rows[i].line = name.line;
    }
    FillRow(sums, i, growth.measure, rows[i]);
  }
  rows[unnamed.before].name = kBeforeRecording;
  rows[unnamed.no_stack].name = kNoStack;
  if (by.kind == By::Kind::kFrame) {
    FillPlaces(view, by, walk.of_stack(), *groups, space, rows);
  }
  std::erase_if(rows, [](const GrowthRow& row) {
    const auto is_zero = [](std::int64_t value) { return value == 0; };
    return row.kept == 0 && std::all_of(row.series.begin(), row.series.end(), is_zero);
  });
  const ChosenTrace& first = chosen->front();
  const auto events = EventsOf(recording, *first.trace);
  for (std::size_t i = 0; i < names->size(); ++i) {
    GrowthPoint point{.name = (*names)[i], .event = first.steps[i].last, .total = sums.totals[i]};
    if (point.event >= 0) {
      point.time = events[static_cast<std::size_t>(point.event)].time;
    }
    if (growth.measure == StepMeasure::kKept) {
      point.total = 0;
      for (const GrowthRow& row : rows) {
        point.total = SaturatingAdd(point.total, row.series[i]);
      }
    }
    growth.series.points.push_back(std::move(point));
  }
  JudgeAndSort(growth.series);
  return growth;
}

}  // namespace memtool
