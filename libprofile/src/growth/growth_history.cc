#include "memtool/profile/growth/growth_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "growth/history_steps.h"
#include "growth/iterations.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/growth/row_parts.h"
#include "memtool/profile/history/timeline.h"
#include "memtool/profile/model/label_text.h"
#include "memtool/profile/rows/flat_cum.h"
#include "memtool/profile/select/stack_sums.h"
#include "memtool/profile/select/view.h"

namespace memtool {

namespace {

// Bytes per row while one trace is walked through.
class Walk {
 public:
  // `before`, `no_stack`, `no_address`: the rows for what has no group; all row numbers are below
  // `rows`.
  struct Unnamed {
    std::uint32_t before = 0;
    std::uint32_t no_stack = 0;
    std::uint32_t no_address = 0;
    std::size_t rows = 0;
    bool keep_before = true;  // false: a filter drops what has no known stack
  };
  Walk(const HistoryIndex& index, const AllocationGroups& groups, const Unnamed& unnamed)
      : index_(index),
        recording_(index.recording()),
        groups_(groups),
        before_(unnamed.keep_before ? unnamed.before : kDropped),
        no_stack_(unnamed.no_stack),
        no_address_(unnamed.keep_before ? unnamed.no_address : kDropped),
        held_(unnamed.rows),
        live_(recording_.stack_count()),
        allocated_(recording_.stack_count()) {}

  struct Sums {
    std::vector<std::vector<std::int64_t>> series;    // [row][step]
    std::vector<std::vector<std::int64_t>> retained;  // [row][step]: allocated in it, never freed
    std::vector<std::int64_t> retained_before;        // [row]
    std::vector<std::int64_t> totals;                 // [step]
  };

  void Run(const ChosenTrace& chosen, StepMeasure measure, Sums& sums);

  // Bytes per stack that allocated any, to find which of a row's places weighs most. What is live
  // at the end of the ranges decides, or, in a row that has nothing left, what was allocated.
  [[nodiscard]] StackSums Weights() const;

 private:
  static constexpr std::uint32_t kDropped = UINT32_MAX;

  [[nodiscard]] std::uint32_t RowOfStack(StackId stack) const {
    // kRest = kDropped: a filter dropped it.
    return stack.valid() ? groups_.of_stack[stack.value()] : no_stack_;
  }
  [[nodiscard]] std::uint32_t GetRow(std::uint32_t event) const;
  void StartAtBase(Sums& sums);
  void Apply(std::uint32_t event, std::size_t step, Sums& sums);
  void AddToStack(StackId stack, std::int64_t bytes, bool allocates) {
    if (stack.valid()) {
      live_[stack.value()] = RunningAdd(live_[stack.value()], bytes);
      std::int64_t& allocated = allocated_[stack.value()];
      allocated = SaturatingAdd(allocated, allocates ? bytes : 0);
    }
  }
  void Add(std::uint32_t row, std::int64_t bytes) {
    if (row != kDropped) {
      held_[row] = RunningAdd(held_[row], bytes);
      total_ = RunningAdd(total_, bytes);
    }
  }

  const HistoryIndex& index_;
  const Recording& recording_;
  const AllocationGroups& groups_;
  std::uint32_t before_;
  std::uint32_t no_stack_;
  std::uint32_t no_address_;
  std::vector<std::int64_t> held_;
  std::vector<std::int64_t> live_;       // per stack
  std::vector<std::int64_t> allocated_;  // likewise
  std::int64_t total_ = 0;

  // Of the trace that is walked through.
  const Replay* replay_ = nullptr;
  const Trace* trace_ = nullptr;
  std::span<const Event> events_;
  Step range_;
};

// The row of the allocation that an event makes or ends.
std::uint32_t Walk::GetRow(std::uint32_t event) const {
  if (events_[event].action == Action::kAdjust) {
    return no_address_;
  }
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

// What was there before the first event; a free after the range proves that it stays live within
// it.
void Walk::StartAtBase(Sums& sums) {
  std::fill(held_.begin(), held_.end(), 0);
  total_ = 0;
  const auto add = [&](std::uint32_t row, std::int64_t bytes, bool stays) {
    Add(row, bytes);
    if (row != kDropped && stays) {
      sums.retained_before[row] = SaturatingAdd(sums.retained_before[row], bytes);
    }
  };
  for (const std::uint32_t event : replay_->unmatched()) {
    add(before_, events_[event].size, event > range_.last);
  }
  for (const std::uint32_t row : replay_->unopened()) {
    const Block& block = recording_.state->blocks[row];
    const bool frames =
        !groups_.of_stack.empty() && block.stack.valid() && !recording_.Stack(block.stack).empty();
    add(frames ? RowOfStack(block.stack) : before_, block.requested, true);
    if (frames) {
      AddToStack(block.stack, block.requested, true);
    }
  }
  add(before_, replay_->preexisting(), true);
  add(no_address_, replay_->base_without_address(), false);  // nobody knows which of it stays
}

void Walk::Apply(std::uint32_t event, std::size_t step, Sums& sums) {
  const Event& at = events_[event];
  const std::int64_t change = replay_->ChangeAt(event);
  if (change == 0) {
    return;
  }
  const std::uint32_t row = GetRow(event);
  if (row == kDropped) {
    return;
  }
  Add(row, change);
  if (at.action == Action::kAdjust) {
    return;
  }
  const bool frees = at.action == Action::kFreeCompleted;
  const std::uint32_t other = replay_->partners()[event];
  const bool stays = !frees && (other == Replay::kNoEvent || other > range_.last);
  if (stays && event <= range_.first) {
    sums.retained_before[row] = SaturatingAdd(sums.retained_before[row], at.size);
  } else if (stays) {
    sums.retained[row][step] = SaturatingAdd(sums.retained[row][step], at.size);
  }
  if (frees && other == Replay::kNoEvent) {
    return;  // its stack is that of the code that freed it
  }
  AddToStack(frees ? events_[other].stack : at.stack, change, !frees);
}

StackSums Walk::Weights() const {
  std::vector<char> holds(held_.size());
  const auto row_of = [this](std::size_t stack) { return RowOfStack(StackId(stack)); };
  for (std::size_t i = 0; i < live_.size(); ++i) {
    if (live_[i] != 0 && row_of(i) != kDropped) {
      holds[row_of(i)] = 1;
    }
  }
  StackSums sums;
  for (std::size_t i = 0; i < live_.size(); ++i) {
    if (allocated_[i] != 0 && row_of(i) != kDropped) {
      sums.rows.push_back(
          {.stack = StackId(i), .value = holds[row_of(i)] != 0 ? live_[i] : allocated_[i]});
    }
  }
  return sums;
}

void Walk::Run(const ChosenTrace& chosen, StepMeasure measure, Sums& sums) {
  replay_ = &index_.replay(*chosen.trace);
  trace_ = chosen.trace;
  events_ = GetEvents(recording_, *trace_);
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
        const std::uint32_t row = GetRow(event);
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

// Via of every row of frames, and its place where its name has none: where most of its bytes come
// from.
void FillPlaces(const View& view, const By& by, const StackSums& sums,
                const AllocationGroups& groups, NodeSpace& space, std::vector<GrowthRow>& rows) {
  FlatCum flat_cum(space);
  flat_cum.Add(view, sums, by.granularity);
  const std::vector<NodeId> vias = flat_cum.Vias();
  const std::vector<Place> places = flat_cum.Places();
  for (std::size_t i = 0; i < groups.names.size(); ++i) {
    const NodeId node = groups.names[i].node;
    if (!node.valid()) {
      continue;
    }
    const Place& place = places[node.value()];
    GrowthRow& row = rows[i];
    const bool has_place = by.granularity != Granularity::kModule;
    if (has_place && by.granularity != Granularity::kFile) {
      row.file = row.file.empty() ? place.file : row.file;
      row.line = row.line == 0 ? place.line : row.line;
    }
    if (vias[node.value()].valid()) {
      row.via = space.ShareName(vias[node.value()]);
    }
  }
}

// The rows that count bytes without a group.
Walk::Unnamed UnnamedRows(const View& view, const AllocationGroups& groups) {
  const auto known = static_cast<std::uint32_t>(groups.names.size());
  Walk::Unnamed unnamed{.before = known,
                        .no_stack = known + 1,
                        .no_address = known + 2,
                        .rows = known + std::size_t{3},
                        .keep_before = view.filter_options().focus.empty() &&
                                       view.filter_options().show_from.empty()};
  for (std::uint32_t i = 0; i < known; ++i) {
    const AllocationGroups::Name& name = groups.names[i];
    unnamed.no_stack = name.name == kNoStack && !name.node.valid() ? i : unnamed.no_stack;
    // Where a format says only the sum of what was there before, its reader makes it an allocation
    // by a frame with that name.
    const bool of_reader = name.name == kBeforeRecording && name.file.empty();
    unnamed.before = of_reader && !groups.of_stack.empty() ? i : unnamed.before;
  }
  return unnamed;
}

std::vector<GrowthRow> NameRows(const AllocationGroups& groups, const Walk::Unnamed& unnamed) {
  std::vector<GrowthRow> rows(unnamed.rows);
  for (std::size_t i = 0; i < groups.names.size(); ++i) {
    rows[i].name = groups.names[i].name;
    rows[i].file = groups.names[i].file;
    rows[i].line = groups.names[i].line;
  }
  rows[unnamed.before].name = kBeforeRecording;
  rows[unnamed.no_stack].name = kNoStack;
  rows[unnamed.no_address].name = kWithoutAddress;
  return rows;
}

// Rows of functions are made of lines.
bool HasLines(const By& by) {
  return by.kind == By::Kind::kFrame &&
         (by.granularity == Granularity::kFunction || by.granularity == Granularity::kFileFunction);
}

// Which row each group belongs to: lines to that of their function.
std::vector<std::uint32_t> RowsOfGroups(const Recording& recording, const By& by,
                                        const AllocationGroups& groups, std::size_t rows,
                                        NodeSpace& space) {
  std::vector<std::uint32_t> row_of(rows);
  std::iota(row_of.begin(), row_of.end(), 0U);
  if (!HasLines(by)) {
    return row_of;
  }
  const KeyMap<NodeId, NodeId> function_of = RowsOfLines(recording, by.granularity, space);
  KeyMap<NodeId, std::uint32_t> first;
  for (std::uint32_t i = 0; i < groups.names.size(); ++i) {
    const auto function = function_of.find(groups.names[i].node);
    if (function != function_of.end()) {
      row_of[i] = first.try_emplace(function->second, i).first->second;
    }
  }
  return row_of;
}

// What the rows hold on one device.
void AddRowParts(const Walk::Sums& sums, const std::vector<GrowthRow>& names,
                 const std::vector<std::uint32_t>& row_of, StepMeasure measure,
                 std::uint32_t device, std::vector<RowPart>& parts) {
  const auto is_zero = [](std::int64_t value) { return value == 0; };
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::vector<std::int64_t>& held = sums.series[i];
    const std::vector<std::int64_t>& kept = sums.retained[i];
    std::int64_t so_far = measure == StepMeasure::kRetained ? sums.retained_before[i] : 0;
    if (so_far == 0 && std::all_of(held.begin(), held.end(), is_zero) &&
        std::all_of(kept.begin(), kept.end(), is_zero)) {
      continue;
    }
    RowPart& part = parts.emplace_back(
        RowPart{.row = names[i], .kept = kept, .group = row_of[i], .device = device});
    part.row.series = held;
    for (std::size_t step = 0; step < kept.size() && measure == StepMeasure::kRetained; ++step) {
      part.row.series[step] = so_far = SaturatingAdd(so_far, kept[step]);
    }
  }
}

std::vector<GrowthPoint> MakePoints(const Recording& recording, const HistorySteps& steps,
                                    const std::vector<std::int64_t>& totals) {
  const ChosenTrace& first = steps.traces.front();
  const auto events = GetEvents(recording, *first.trace);
  std::vector<GrowthPoint> points;
  for (std::size_t i = 0; i < totals.size(); ++i) {
    GrowthPoint point{.name = steps.names[i], .event = first.steps[i].last, .total = totals[i]};
    if (point.event >= 0) {
      point.time = events[static_cast<std::size_t>(point.event)].time;
    }
    points.push_back(std::move(point));
  }
  return points;
}

HistoryGrowth BeginGrowth(const HistorySteps& steps, const StepOptions& options) {
  HistoryGrowth growth{.mark = steps.mark,
                       .source = steps.source,
                       .devices = steps.traces.size(),
                       .merged = steps.merged,
                       .unfinished = steps.unfinished};
  growth.measure = options.measure.value_or(growth.source == StepsBy::kParts ? StepMeasure::kLow
                                                                             : StepMeasure::kEnd);
  return growth;
}

std::vector<Walk::Sums> SumsOfDevices(const HistorySteps& steps, std::size_t rows,
                                      StepMeasure measure, Walk& walk) {
  const std::vector<std::int64_t> zeros(steps.names.size(), 0);
  std::vector<Walk::Sums> sums;
  for (const ChosenTrace& one : steps.traces) {
    sums.push_back({std::vector(rows, zeros), std::vector(rows, zeros),
                    std::vector<std::int64_t>(rows, 0), zeros});
    walk.Run(one, measure, sums.back());
  }
  return sums;
}

// Of a group without addresses nobody knows which of it was freed.
void ForgetKept(std::uint32_t group, std::vector<RowPart>& parts) {
  for (RowPart& part : parts) {
    if (part.group == group) {
      part.kept.clear();
    }
  }
}

// Parts of a program that, as far as anything shows, went through fewer iterations than a trend
// takes.
bool ShowsFewIterations(const HistoryIndex& index, const HistorySteps& steps) {
  // A log's values are samples, of one iteration or of many.
  return !steps.marked && index.recording().metadata.origin.kind != RecordingKind::kLog &&
         (steps.few > 1 ||
          std::none_of(steps.traces.begin(), steps.traces.end(),
                       [&index](const ChosenTrace& one) { return ShowsIterations(index, one); }));
}

}  // namespace

Result<HistoryGrowth> GrowthOfHistory(const HistoryIndex& index, const View& view, const By& by,
                                      const StepOptions& options, NodeSpace& space) {
  const Recording& recording = view.recording();
  By parts_by = by;
  parts_by.granularity = HasLines(by) ? Granularity::kLine : by.granularity;
  auto groups = GroupAllocations(view, parts_by, space);
  auto steps = StepsOfHistory(index, options);
  if (!groups || !steps) {
    return Fail(std::move(!groups ? groups.error() : steps.error()));
  }
  HistoryGrowth growth = BeginGrowth(*steps, options);
  const Walk::Unnamed unnamed = UnnamedRows(view, *groups);
  const std::size_t points = steps->names.size();
  if (unnamed.rows > kMaxValues / points / growth.devices) {
    return Fail(ErrorCode::kLimit,
                fmt::format("{} rows in {} steps are more than {} values", unnamed.rows, points,
                            kMaxValues / growth.devices),
                "fewer --steps, or one --device");
  }
  Walk walk(index, *groups, unnamed);
  std::vector<Walk::Sums> of_devices = SumsOfDevices(*steps, unnamed.rows, growth.measure, walk);
  const std::vector<std::int64_t> zeros(points, 0);

  std::vector<GrowthRow> names = NameRows(*groups, unnamed);
  if (by.kind == By::Kind::kFrame) {
    FillPlaces(view, parts_by, walk.Weights(), *groups, space, names);
  }
  const auto row_of = RowsOfGroups(recording, by, *groups, unnamed.rows, space);
  std::vector<RowPart> parts;
  std::vector<SharedText> devices;
  std::vector<std::int64_t> totals = zeros;
  for (std::size_t i = 0; i < of_devices.size(); ++i) {
    const std::size_t first = parts.size();
    AddRowParts(of_devices[i], names, row_of, growth.measure, static_cast<std::uint32_t>(i), parts);
    std::vector<std::int64_t>& total = of_devices[i].totals;
    if (growth.measure == StepMeasure::kRetained) {
      total = zeros;
      for (std::size_t part = first; part < parts.size(); ++part) {
        AddTo(total, parts[part].row.series);
      }
    }
    AddTo(totals, total);
    devices.emplace_back(TraceText(*steps->traces[i].trace));
    if (of_devices.size() > 1) {
      growth.series.devices.push_back(
          {.name = devices.back(), .totals = std::move(total), .whole = {}});
    }
  }
  ForgetKept(row_of[unnamed.no_address], parts);
  growth.series.points = MakePoints(recording, *steps, totals);
  growth.series.rows = JoinParts(parts, devices);
  growth.iterations = std::max<std::size_t>(steps->few, 1);
  growth.series.few_iterations =
      growth.source == StepsBy::kParts && ShowsFewIterations(index, *steps);
  growth.series.single_events = steps->single_events;
  JudgeAndSort(growth.series);
  return growth;
}

}  // namespace memtool
