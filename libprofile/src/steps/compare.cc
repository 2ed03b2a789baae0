#include "memtool/profile/steps/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "memtool/profile/align/fold.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/replay/replay.h"

namespace memtool {

namespace {

using Keys = std::span<const std::uint32_t>;

constexpr std::array kLadder{KeyLevel::kFrames, KeyLevel::kInnermost, KeyLevel::kOperation};
// Of one pair of steps that are aligned exactly, and of what is left when they are not.
constexpr double kMaxStepEdits = 4000;
constexpr double kMaxPieceEdits = 1000;
constexpr double kMinEdits = 64;
// Edits, squared, of all pairs together: about a second.
constexpr double kMaxWork = 1e8;

std::vector<std::uint32_t> GetKeys(const HistorySide& side, StackKeys& keys) {
  const Recording& recording = side.index->recording();
  const std::vector<std::uint32_t> of_stack = keys.Of(recording);
  std::vector<std::uint32_t> of_events;
  for (const Event& event : GetEvents(recording, *side.trace)) {
    if (event.action == Action::kAlloc) {
      of_events.push_back(event.stack.valid() ? of_stack[event.stack.value()]
                                              : StackKeys::kNoFrames);
    }
  }
  return of_events;
}

// Allocations without a name would all be alike: they say nothing, and have no partner here.
KeyShare ComputeShare(Keys base, Keys now, KeyLevel level) {
  std::vector<std::uint64_t> counts;
  for (const std::uint32_t key : base) {
    counts.resize(std::max<std::size_t>(counts.size(), key + std::size_t{1}), 0);
    counts[key] += key != StackKeys::kNoFrames ? 1 : 0;
  }
  KeyShare share{.level = level, .smaller = std::min(base.size(), now.size())};
  for (const std::uint32_t key : now) {
    if (key < counts.size() && counts[key] > 0) {
      --counts[key];
      ++share.pairs;
    }
  }
  return share;
}

// A history without steps as a step of its own.
void AddWhole(const HistorySide& side, const TraceAllocations& allocations, ProgramSteps& steps) {
  const auto events = static_cast<std::int64_t>(side.trace->event_count);
  steps = {.source = StepSource::kNone, .mark = {}, .steps = {}};
  steps.steps.push_back({.name = {}, .begin = 0, .end = events - 1, .count = allocations.size()});
}

std::vector<Repeats> FindRepeats(Keys keys) {
  std::vector<Repeats> repeats;
  for (const Loop& loop : FindLoops(keys)) {
    repeats.push_back({loop.begin, loop.period, loop.length});
  }
  return repeats;
}

// Steps that a history begins or ends in are compared only where there are no others.
std::vector<std::size_t> Comparable(const ProgramSteps& steps) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    if (steps.steps[i].complete) {
      rows.push_back(i);
    }
  }
  for (std::size_t i = 0; rows.empty() && i < steps.steps.size(); ++i) {
    rows.push_back(i);
  }
  return rows;
}

bool AllNumbered(const ProgramSteps& steps) {
  return steps.source == StepSource::kMark &&
         std::all_of(steps.steps.begin(), steps.steps.end(),
                     [](const ProgramStep& step) { return step.number.has_value(); });
}

bool LiveAt(const Replay& replay, std::uint32_t event, std::int64_t moment) {
  const std::uint32_t freed = replay.partners()[event];
  return event <= moment && (freed == Replay::kNoEvent || freed > moment);
}

void Add(std::int64_t& sum, std::int64_t value) {
  sum = SaturatingAdd(sum, value);
}

}  // namespace

std::int64_t PeakChange::delta() const {
  return SaturatingSubtract(now, base);
}

HistoryComparison::HistoryComparison(HistorySide base, HistorySide now, const StepSearch& search)
    : base_{.history = base, .allocations = {}, .steps = {}},
      now_{.history = now, .allocations = {}, .steps = {}},
      work_left_(kMaxWork) {
  ChooseLevel();
  if (!corresponds()) {
    return;
  }
  FindSides(ladder_.back().level, search);
  for (const auto& [one, other] : PairSteps()) {
    PairedStep pair{.base = one, .now = other};
    partners_.push_back(AlignSteps(base_.steps.steps[one], now_.steps.steps[other]));
    Measure(pair, *partners_.back());
    MeasurePeak(pair, *partners_.back());
    pairs_.push_back(pair);
  }
}

void HistoryComparison::ChooseLevel() {
  for (const KeyLevel level : kLadder) {
    StackKeys keys(level);
    const std::vector<std::uint32_t> base = GetKeys(base_.history, keys);
    const std::vector<std::uint32_t> now = GetKeys(now_.history, keys);
    ladder_.push_back(ComputeShare(base, now, level));
    if (ladder_.back().enough()) {
      return;
    }
  }
}

void HistoryComparison::FindSides(KeyLevel level, const StepSearch& search) {
  StackKeys keys(level);
  for (Side* side : {&base_, &now_}) {
    const HistorySide& of = side->history;
    side->allocations =
        CollectAllocations(*of.index, *of.trace, FactsOfStacks(of.index->recording(), keys));
    side->steps = FindSteps(*of.index, *of.trace, side->allocations, search);
  }
  // Steps are compared with steps.
  if (base_.steps.steps.empty() || now_.steps.steps.empty()) {
    for (Side* side : {&base_, &now_}) {
      AddWhole(side->history, side->allocations, side->steps);
      MeasureSteps(*side->history.index, *side->history.trace, side->allocations,
                   side->steps.steps);
    }
  }
}

namespace {

// Of steps that all have a number: `base` and `now` are rows of their steps.
std::vector<std::pair<std::size_t, std::size_t>> PairByNumber(const ProgramSteps& base_steps,
                                                              const std::vector<std::size_t>& base,
                                                              const ProgramSteps& now_steps,
                                                              const std::vector<std::size_t>& now) {
  std::map<std::int64_t, std::size_t> numbers;
  for (const std::size_t row : now) {
    numbers.emplace(*now_steps.steps[row].number, row);
  }
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const std::size_t row : base) {
    const auto found = numbers.find(*base_steps.steps[row].number);
    if (found != numbers.end()) {
      pairs.emplace_back(row, found->second);
      numbers.erase(found);
    }
  }
  return pairs;
}

}  // namespace

// By the numbers of their marks where these overlap; else equal shapes in order, and what lies
// between equal ones in order, too: warm-up with warm-up.
std::vector<std::pair<std::size_t, std::size_t>> HistoryComparison::PairSteps() const {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  const std::vector<std::size_t> base = Comparable(base_.steps);
  const std::vector<std::size_t> now = Comparable(now_.steps);
  if (AllNumbered(base_.steps) && AllNumbered(now_.steps)) {
    pairs = PairByNumber(base_.steps, base, now_.steps, now);
    if (!pairs.empty()) {
      return pairs;
    }
  }
  KeyMap<std::uint64_t, std::uint32_t> shapes;
  const auto shapes_of = [&shapes](const ProgramSteps& steps,
                                   const std::vector<std::size_t>& rows) {
    std::vector<std::uint32_t> names;
    for (const std::size_t row : rows) {
      const auto next = static_cast<std::uint32_t>(shapes.size());
      names.push_back(shapes.try_emplace(steps.steps[row].shape, next).first->second);
    }
    return names;
  };
  const std::vector<std::uint32_t> base_shapes = shapes_of(base_.steps, base);
  const std::vector<std::uint32_t> now_shapes = shapes_of(now_.steps, now);
  Alignment equal = Align(base_shapes, now_shapes, static_cast<std::size_t>(kMaxPieceEdits));
  // A few equal ones far apart say less than the order.
  if (2 * equal.pairs < std::min(base.size(), now.size())) {
    equal.partners.assign(base.size(), kNoPartner);
  }
  std::size_t a = 0;
  std::size_t b = 0;
  for (std::size_t i = 0; i <= base.size(); ++i) {
    const bool ends = i == base.size();
    if (!ends && equal.partners[i] == kNoPartner) {
      continue;
    }
    const std::size_t partner = ends ? now.size() : equal.partners[i];
    for (; a < i && b < partner; ++a, ++b) {
      pairs.emplace_back(base[a], now[b]);
    }
    if (!ends) {
      pairs.emplace_back(base[i], now[partner]);
      a = i + 1;
      b = partner + 1;
    }
  }
  return pairs;
}

std::shared_ptr<const HistoryComparison::Partners> HistoryComparison::AlignSteps(
    const ProgramStep& base, const ProgramStep& now) {
  std::shared_ptr<const Partners>& known = known_[{base.shape, now.shape}];
  if (known != nullptr && known->of_base.size() == base.count &&
      known->of_now.size() == now.count) {
    return known;
  }
  const Alignment alignment =
      AlignKeys(Keys(base_.allocations.keys).subspan(base.first, base.count),
                Keys(now_.allocations.keys).subspan(now.first, now.count));
  auto partners = std::make_shared<Partners>();
  partners->of_base = alignment.partners;
  partners->of_now.assign(now.count, kNoPartner);
  partners->complete = alignment.complete;
  for (std::uint32_t i = 0; i < base.count; ++i) {
    if (alignment.partners[i] != kNoPartner) {
      partners->of_now[alignment.partners[i]] = i;
    }
  }
  known = std::move(partners);
  return known;
}

// Exactly, as long as the work for that is not used up; else folded.
Alignment HistoryComparison::AlignKeys(Keys base, Keys now) {
  const double edits = std::min(kMaxStepEdits, std::sqrt(work_left_));
  const double least = static_cast<double>(base.size() + now.size()) -
                       2.0 * static_cast<double>(MaxPairs(base, now));
  if (least <= edits) {
    Alignment exact = Align(base, now, static_cast<std::size_t>(edits));
    const double made =
        exact.complete ? static_cast<double>(base.size() + now.size() - 2 * exact.pairs) : edits;
    work_left_ = std::max(kMinEdits * kMinEdits, work_left_ - made * made);
    if (exact.complete) {
      return exact;
    }
  }
  const double left = std::min(kMaxPieceEdits, std::sqrt(work_left_));
  work_left_ = std::max(kMinEdits * kMinEdits, work_left_ - left * left);
  return AlignFolded(base, FindRepeats(base), now, FindRepeats(now),
                     static_cast<std::size_t>(left));
}

void HistoryComparison::Measure(PairedStep& pair, const Partners& partners) const {
  const ProgramStep& base = base_.steps.steps[pair.base];
  const ProgramStep& now = now_.steps.steps[pair.now];
  AllocationChange& all = pair.all;
  pair.complete = partners.complete;
  for (std::size_t i = 0; i < base.count; ++i) {
    const std::int64_t size = SizeOf(base_, base, i);
    const std::uint32_t partner = partners.of_base[i];
    if (partner == kNoPartner) {
      ++all.removed;
      Add(all.removed_bytes, size);
      continue;
    }
    const std::int64_t other = SizeOf(now_, now, partner);
    ++all.matched;
    all.changed += other != size ? 1 : 0;
    Add(all.changed_bytes, SaturatingSubtract(other, size));
  }
  for (std::size_t i = 0; i < now.count; ++i) {
    if (partners.of_now[i] == kNoPartner) {
      ++all.added;
      Add(all.added_bytes, SizeOf(now_, now, i));
    }
  }
}

void HistoryComparison::MeasurePeak(PairedStep& pair, const Partners& partners) const {
  const ProgramStep& base = base_.steps.steps[pair.base];
  const ProgramStep& now = now_.steps.steps[pair.now];
  PeakChange& peak = pair.peak;
  peak.base_event = base.peak_event;
  peak.now_event = now.peak_event;
  peak.base = base.peak;
  peak.now = now.peak;
  // What was there before is what remains: the base of the recording has no events to add up.
  std::int64_t base_before = base.peak;
  std::int64_t now_before = now.peak;
  for (std::size_t i = 0; i < base.count; ++i) {
    if (!IsLive(base_, base, i)) {
      continue;
    }
    const std::int64_t size = SizeOf(base_, base, i);
    base_before = SaturatingSubtract(base_before, size);
    const std::uint32_t partner = partners.of_base[i];
    if (partner == kNoPartner) {
      ++peak.live.removed;
      Add(peak.live.removed_bytes, size);
    } else if (IsLive(now_, now, partner)) {
      const std::int64_t other = SizeOf(now_, now, partner);
      ++peak.live.matched;
      peak.live.changed += other != size ? 1 : 0;
      Add(peak.live.changed_bytes, SaturatingSubtract(other, size));
    } else {
      peak.held = SaturatingSubtract(peak.held, size);
    }
  }
  for (std::size_t i = 0; i < now.count; ++i) {
    if (!IsLive(now_, now, i)) {
      continue;
    }
    const std::int64_t size = SizeOf(now_, now, i);
    now_before = SaturatingSubtract(now_before, size);
    const std::uint32_t partner = partners.of_now[i];
    if (partner == kNoPartner) {
      ++peak.live.added;
      Add(peak.live.added_bytes, size);
    } else if (!IsLive(base_, base, partner)) {
      Add(peak.held, size);
    }
  }
  peak.before = SaturatingSubtract(now_before, base_before);
}

std::int64_t HistoryComparison::SizeOf(const Side& side, const ProgramStep& step, std::size_t row) {
  const auto events = GetEvents(side.history.index->recording(), *side.history.trace);
  return events[side.allocations.events[step.first + row]].size;
}

bool HistoryComparison::IsLive(const Side& side, const ProgramStep& step, std::size_t row) {
  return LiveAt(side.history.index->replay(*side.history.trace),
                side.allocations.events[step.first + row], step.peak_event);
}

ChangeKind HistoryComparison::GetKind(const Side& side, const ProgramStep& step,
                                      const std::vector<std::uint32_t>& partners, const Side& other,
                                      const ProgramStep& other_step,
                                      std::optional<std::uint32_t> event) {
  if (!event) {
    return ChangeKind::kBefore;
  }
  const auto& events = side.allocations.events;
  const auto row = static_cast<std::size_t>(std::lower_bound(events.begin(), events.end(), *event) -
                                            events.begin());
  if (row < step.first || row >= step.first + step.count || events[row] != *event) {
    return ChangeKind::kBefore;
  }
  const std::uint32_t partner = partners[row - step.first];
  if (partner == kNoPartner) {
    return ChangeKind::kUnmatched;
  }
  return IsLive(other, other_step, partner) ? ChangeKind::kChanged : ChangeKind::kHeld;
}

ChangeKind HistoryComparison::KindInBase(const PairedStep& pair,
                                         std::optional<std::uint32_t> event) const {
  const auto row = static_cast<std::size_t>(&pair - pairs_.data());
  return GetKind(base_, base_.steps.steps[pair.base], partners_[row]->of_base, now_,
                 now_.steps.steps[pair.now], event);
}

ChangeKind HistoryComparison::KindInNow(const PairedStep& pair,
                                        std::optional<std::uint32_t> event) const {
  const auto row = static_cast<std::size_t>(&pair - pairs_.data());
  return GetKind(now_, now_.steps.steps[pair.now], partners_[row]->of_now, base_,
                 base_.steps.steps[pair.base], event);
}

}  // namespace memtool
