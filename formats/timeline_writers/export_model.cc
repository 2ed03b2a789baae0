#include "timeline_writers/export_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/sizes.h"
#include "memtool/profile/history/events.h"
#include "memtool/profile/history/timeline.h"
#include "memtool/profile/model/clamped_sums.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/replay/moment.h"
#include "memtool/profile/replay/replay.h"
#include "timeline_writers/lanes.h"
#include "timeline_writers/states.h"

namespace memtool::formats {

namespace {

constexpr std::int64_t kMicrosecond = 1000;

bool Changes(Action action) {
  switch (action) {
    case Action::kAlloc:
    case Action::kFreeCompleted:
    case Action::kSegmentAlloc:
    case Action::kSegmentFree:
    case Action::kSegmentMap:
    case Action::kSegmentUnmap:
    case Action::kAdjust:
      return true;
    default:
      return false;
  }
}

// When each event of a trace has happened, after `zero`: never backwards. Without a clock an
// event's number is its microsecond.
std::vector<std::int64_t> MakeClock(const History& history, std::span<const Event> events,
                                    std::int64_t zero) {
  std::vector<std::int64_t> clock;
  clock.reserve(events.size());
  const std::int64_t first = GetFirstTime(history);
  std::int64_t now =
      first == kNoTime ? 0 : std::max<std::int64_t>(SaturatingSubtract(first, zero), 0);
  for (const Event& event : events) {
    if (history.clock == Clock::kAbsent) {
      now = static_cast<std::int64_t>(clock.size()) * kMicrosecond;
    } else if (event.time != kNoTime) {
      now = std::max(now, SaturatingSubtract(event.time, zero));
    }
    clock.push_back(now);
  }
  return clock;
}

std::int64_t GetStart(const History& history, std::int64_t zero) {
  const std::int64_t first = history.clock == Clock::kAbsent ? kNoTime : GetFirstTime(history);
  return first == kNoTime ? 0 : std::max<std::int64_t>(SaturatingSubtract(first, zero), 0);
}

// One replayed trace while it is drawn.
class TraceDrawer {
 public:
  TraceDrawer(const Recording& recording, const ExportTrace& model, std::int64_t zero)
      : recording_(recording),
        trace_(*model.trace),
        model_(model),
        events_(GetEvents(recording, trace_)),
        replay_(recording, trace_),
        clock_(MakeClock(*recording.history, events_, zero)),
        start_(GetStart(*recording.history, zero)) {}

  // The counters that the trace needs; remembers which layers they are.
  std::vector<ExportCounter> Choose(const AllocationGroups& groups, bool layered);
  void DrawStates(ExportSink& sink, const AllocationGroups& groups, bool layered,
                  std::uint64_t run) const;
  void DrawAllocations(ExportSink& sink, std::int64_t smallest) const;
  void DrawLargest(ExportSink& sink, std::size_t most) const;

 private:
  // (bytes, place): the places of events first, then those of unopened blocks.
  using Candidate = std::pair<std::int64_t, std::uint64_t>;

  [[nodiscard]] std::int64_t last() const { return static_cast<std::int64_t>(events_.size()) - 1; }
  [[nodiscard]] std::int64_t end() const { return clock_.empty() ? start_ : clock_.back(); }
  [[nodiscard]] static std::vector<std::uint32_t> All(const AllocationGroups& groups) {
    std::vector<std::uint32_t> all(groups.names.size());
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      all[i] = i;
    }
    return all;
  }
  [[nodiscard]] LabelSetId MakeLabels(std::uint32_t event) const {
    const auto& labels = recording_.history->labels;
    const LabelSetId set = labels.empty() ? LabelSetId(0U) : labels[trace_.first_event + event];
    return set.valid() ? set : LabelSetId(0U);
  }
  [[nodiscard]] ExportBlock BlockAt(std::uint64_t place) const;

  const Recording& recording_;
  const Trace& trace_;
  const ExportTrace& model_;
  std::span<const Event> events_;
  Replay replay_;
  std::vector<std::int64_t> clock_;
  std::int64_t start_;
  bool reserved_ = false;
  std::int64_t reserved_base_ = 0;
  std::vector<std::size_t> shown_;
};

std::vector<ExportCounter> TraceDrawer::Choose(const AllocationGroups& groups, bool layered) {
  const TraceSummary summary = replay_.Summarize();
  reserved_base_ = summary.reserved_base_bytes;
  reserved_ = summary.segment_events > 0 || summary.reserved_peak_bytes != 0;
  std::vector<ExportCounter> counters{{.name = "in use"}};
  if (reserved_) {
    counters.push_back({.name = "reserved"});
    counters.push_back({.name = "reserved, not in use"});
  }
  if (!layered) {
    return counters;
  }
  const TimelineMaker maker(recording_, trace_, replay_, groups, reserved_base_);
  std::vector<char> used(groups.names.size() + 2, 0);
  maker.Walk(last(), All(groups), true,
             [&used](const TimelinePoint&, bool, std::span<const std::int64_t> layers) {
               for (std::size_t i = 0; i < layers.size(); ++i) {
                 used[i] = static_cast<char>(used[i] != 0 || layers[i] != 0);
               }
             });
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i] != 0) {
      const std::string name = i < groups.names.size()    ? groups.names[i].name.str()
                               : i == groups.names.size() ? std::string(kBeforeRecording)
                                                          : "(the rest)";
      counters.push_back({.name = "category " + name, .category = true});
      shown_.push_back(i);
    }
  }
  return counters;
}

void TraceDrawer::DrawStates(ExportSink& sink, const AllocationGroups& groups, bool layered,
                             std::uint64_t run) const {
  StateDrawer states(sink, model_, shown_, reserved_, run);
  const TimelineMaker maker(recording_, trace_, replay_, groups, reserved_base_);
  maker.Walk(last(), layered ? All(groups) : std::vector<std::uint32_t>(), layered,
             [&](const TimelinePoint& point, bool changed, std::span<const std::int64_t> layers) {
               if (point.event < 0) {
                 states.First(point, layers, start_);
               } else if (changed) {
                 states.Next(point, layers, clock_[static_cast<std::size_t>(point.event)]);
               }
             });
  states.Flush();
}

ExportBlock TraceDrawer::BlockAt(std::uint64_t place) const {
  if (place >= events_.size()) {
    const Block& block =
        recording_.state
            ->blocks[replay_.unopened()[static_cast<std::size_t>(place - events_.size())]];
    return {.begin = start_,
            .end = end(),
            .bytes = block.requested,
            .address = block.address,
            .stack = block.stack};
  }
  const auto row = static_cast<std::uint32_t>(place);
  const Event& event = events_[row];
  ExportBlock block{.begin = clock_[row],
                    .end = end(),
                    .bytes = event.size,
                    .address = event.key,
                    .event = row,
                    .stack = event.stack,
                    .labels = MakeLabels(row)};
  if (event.action == Action::kFreeCompleted) {  // of what was there before
    block.begin = start_;
    block.end = clock_[row];
    block.freed = std::exchange(block.event, std::nullopt);
    block.stack = StackId();
  } else if (const std::uint32_t partner = replay_.partners()[row]; partner != Replay::kNoEvent) {
    block.end = clock_[partner];
    block.freed = partner;
  }
  return block;
}

void TraceDrawer::DrawAllocations(ExportSink& sink, std::int64_t smallest) const {
  for (std::uint32_t i = 0; i < events_.size(); ++i) {
    if (events_[i].action == Action::kAlloc && events_[i].size >= smallest) {
      sink.Allocation(model_, BlockAt(i));
    }
  }
}

void TraceDrawer::DrawLargest(ExportSink& sink, std::size_t most) const {
  // The smallest of those kept is on top; of equal ones the later goes first.
  const auto better = [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.first, b.second) > std::tuple(b.first, a.second);
  };
  std::priority_queue<Candidate, std::vector<Candidate>, decltype(better)> kept(better);
  const auto offer = [&kept, most](std::int64_t bytes, std::uint64_t place) {
    if (bytes > 0) {
      kept.emplace(bytes, place);
      if (kept.size() > most) {
        kept.pop();
      }
    }
  };
  for (std::uint32_t i = 0; i < events_.size(); ++i) {
    if (events_[i].action == Action::kAlloc) {
      offer(events_[i].size, i);
    }
  }
  for (const std::uint32_t event : replay_.unmatched()) {
    offer(events_[event].size, event);
  }
  for (std::size_t i = 0; i < replay_.unopened().size(); ++i) {
    offer(recording_.state->blocks[replay_.unopened()[i]].requested, events_.size() + i);
  }
  std::vector<ExportBlock> blocks;
  std::vector<Span> spans;
  blocks.reserve(kept.size());
  spans.reserve(kept.size());
  for (; !kept.empty(); kept.pop()) {
    blocks.push_back(BlockAt(kept.top().second));
    spans.push_back({blocks.back().begin, blocks.back().end, blocks.size() - 1});
  }
  const auto lanes = PackLanes(std::move(spans));
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    for (const Span& span : lanes[lane]) {
      sink.Block(model_, lane, blocks[span.item]);
    }
  }
}

}  // namespace

Result<ExportModel> ExportModel::Of(const Recording& recording, const WriteOptions& options,
                                    const ExportLimits& limits) {
  if (!recording.history || recording.history->traces.empty()) {
    return Fail(ErrorCode::kUnsupported,
                "holds one moment and no events, so there is nothing to draw over time");
  }
  if (!HistorySumsFit(recording)) {
    return Fail(ErrorCode::kLimit, "sums of sizes exceed the 64-bit range");
  }
  ExportModel model(recording, options, limits);
  if (options.device.empty()) {
    model.traces_.resize(recording.history->traces.size());
    for (std::size_t i = 0; i < model.traces_.size(); ++i) {
      model.traces_[i] = i;
    }
  } else {
    auto chosen = GetTraces(recording, options.device);
    MEMTOOL_TRY(chosen);
    model.traces_ = *std::move(chosen);
  }
  model.SetZero();
  model.Fold();
  return model;
}

void ExportModel::SetZero() {
  const History& history = *recording_.history;
  if (history.clock == Clock::kAbsent) {
    facts_.notes.emplace_back("the events carry no times: event number N stands at N microseconds");
    return;
  }
  std::int64_t first = GetFirstTime(history);
  for (const Mark& mark : history.marks) {
    if (mark.begin != kNoTime) {
      first = first == kNoTime ? mark.begin : std::min(first, mark.begin);
    }
  }
  if (first != kNoTime && (limits_.from_zero || first < 0)) {
    facts_.zero = first;
  }
}

std::int64_t ExportModel::start() const {
  return GetStart(*recording_.history, facts_.zero);
}

// Looks at sizes alone, so that what is left out is known before anything is written.
void ExportModel::Fold() {
  std::uint64_t changes = 0;
  std::vector<std::int64_t> sizes;
  for (const std::size_t row : traces_) {
    for (const Event& event : GetEvents(recording_, recording_.history->traces[row])) {
      changes += Changes(event.action) ? 1 : 0;
      if (event.action == Action::kAlloc) {
        sizes.push_back(event.size);
      }
    }
  }
  const auto count = [](std::uint64_t number) {
    return FormatCount(static_cast<std::int64_t>(number));
  };
  if (changes > limits_.states) {
    constexpr std::uint64_t kKept = 3;  // of each run, at most
    run_ = (changes * kKept + limits_.states - 1) / limits_.states;
    facts_.notes.push_back(fmt::format(
        "counters show of every {} of {} changes the highest and the last", run_, count(changes)));
  }
  if (limits_.allocations == 0) {
    smallest_ = INT64_MAX;
  } else if (sizes.size() > limits_.allocations) {
    const auto at = sizes.end() - static_cast<std::ptrdiff_t>(limits_.allocations);
    std::nth_element(sizes.begin(), at, sizes.end());
    smallest_ = SaturatingAdd(*at, 1);
    const auto small = static_cast<std::uint64_t>(std::count_if(
        sizes.begin(), sizes.end(), [this](std::int64_t size) { return size < smallest_; }));
    facts_.notes.push_back(
        fmt::format("{} of {} allocations have no event of their own, those of at most {}; the "
                    "counters include them",
                    count(small), count(sizes.size()), FormatSize(*at)));
  }
}

Result<void> ExportModel::Draw(ExportSink& sink) const {
  AllocationGroups groups;
  const Filter none;
  const Filter& filter = options_.filter ? *options_.filter : none;
  if (options_.keywords != nullptr) {
    const View view(recording_, filter);
    auto made = GroupAllocations(view, {.kind = By::Kind::kBucket, .keywords = options_.keywords});
    MEMTOOL_TRY(made);
    groups = *std::move(made);
  }
  std::map<std::string, int> names;
  for (std::size_t i = 0; i < traces_.size(); ++i) {
    const Trace& trace = recording_.history->traces[traces_[i]];
    ExportTrace model{.number = i, .trace = &trace, .name = TraceText(trace)};
    if (const int before = names[model.name]++; before > 0) {
      model.name += fmt::format(" #{}", before + 1);
    }
    DrawTrace(sink, model, groups);
  }
  DrawMarks(sink);
  return {};
}

void ExportModel::DrawTrace(ExportSink& sink, ExportTrace& model,
                            const AllocationGroups& groups) const {
  const bool layered = options_.keywords != nullptr;
  TraceDrawer drawer(recording_, model, facts_.zero);
  model.counters = drawer.Choose(groups, layered);
  sink.BeginTrace(model);
  drawer.DrawStates(sink, groups, layered, run_);
  if (limits_.allocations > 0) {
    drawer.DrawAllocations(sink, smallest_);
  }
  drawer.DrawLargest(sink, limits_.blocks);
}

std::vector<ExportMark> ExportModel::Marks() const {
  const History& history = *recording_.history;
  std::vector<ExportMark> marks;
  if (history.clock == Clock::kAbsent) {
    return marks;
  }
  const auto after = [this](std::int64_t time) {
    return std::max<std::int64_t>(SaturatingSubtract(time, facts_.zero), 0);
  };
  for (const Mark& mark : history.marks) {
    if (mark.begin != kNoTime) {
      const bool span = mark.end != kNoTime && mark.end > mark.begin;
      marks.push_back({.begin = after(mark.begin),
                       .end = after(span ? mark.end : mark.begin),
                       .span = span,
                       .name = mark.name,
                       .device = mark.device});
    }
  }
  return marks;
}

void ExportModel::AddFailures(const Trace& trace, std::vector<ExportMark>& marks) const {
  const auto events = GetEvents(recording_, trace);
  std::vector<std::int64_t> clock;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (events[i].action == Action::kOom) {
      if (clock.empty()) {
        clock = MakeClock(*recording_.history, events, facts_.zero);
      }
      marks.push_back({.begin = clock[i],
                       .end = clock[i],
                       .name = "out of memory",
                       .device = trace.device,
                       .out_of = events[i].size});
    }
  }
}

void ExportModel::DrawMarks(ExportSink& sink) const {
  std::vector<ExportMark> marks = Marks();
  for (const std::size_t row : traces_) {
    AddFailures(recording_.history->traces[row], marks);
  }
  std::vector<Span> spans;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (marks[i].span) {
      spans.push_back({marks[i].begin, marks[i].end, i});
    } else {
      sink.Mark(0, marks[i]);
    }
  }
  const auto lanes = PackLanes(std::move(spans));
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    for (const Span& span : lanes[lane]) {
      sink.Mark(lane, marks[span.item]);
    }
  }
}

}  // namespace memtool::formats
