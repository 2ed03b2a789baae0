#include "support/history/tensor_ledger.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"

namespace memtool::formats::ascend {

std::optional<Tensor> ToTensor(const TensorRow& row) {
  Tensor tensor{.size = Magnitude(row.size),
                .allocated_at = row.allocated_at,
                .released_at = row.released_at,
                .reusable_at = row.reusable_at,
                .after_allocation = row.after_allocation,
                .after_release = row.after_release};
  // msprof gives durations instead of releases.
  if (tensor.allocated_at && !tensor.released_at && row.duration) {
    tensor.released_at = SaturatingAdd(*tensor.allocated_at, *row.duration);
  }
  // A release without its allocation: what would be of the allocation is of the release.
  if (row.size < 0 && tensor.allocated_at && !tensor.released_at) {
    tensor.released_at = std::exchange(tensor.allocated_at, std::nullopt);
    tensor.after_release = tensor.after_allocation;
  }
  const auto in_order = [&tensor](const std::optional<std::int64_t>& end) {
    return !end || !tensor.allocated_at || *end >= *tensor.allocated_at;
  };
  const bool some = tensor.allocated_at || tensor.released_at || tensor.reusable_at;
  return some && in_order(tensor.released_at) && in_order(tensor.reusable_at)
             ? std::optional(tensor)
             : std::nullopt;
}

void TotalsCheck::Add(std::int64_t change, std::int64_t counted) {
  change_ = SaturatingAdd(change_, change);
  if (counted != kUnsaid) {
    counted_.push_back(counted);
  }
}

std::int64_t TotalsCheck::EndMoment() {
  std::int64_t gap = 0;
  changed_ = SaturatingAdd(changed_, change_);
  if (total_) {
    total_ = SaturatingAdd(*total_, change_);
  }
  if (!counted_.empty() && !total_) {
    total_ = counted_.back();
    base_ = SaturatingSubtract(*total_, changed_);
  } else if (!counted_.empty()) {
    ++checked_;
    if (std::find(counted_.begin(), counted_.end(), *total_) != counted_.end()) {
      ++agreeing_;
    } else {
      gap = SaturatingSubtract(counted_.back(), *total_);
      total_ = counted_.back();
    }
  }
  change_ = 0;
  counted_.clear();
  return gap;
}

// What ends comes before what begins at the same time, whose memory it may be, unless it is one.
bool TensorLedger::Later::operator()(const Change& a, const Change& b) const {
  return std::tie(a.time, a.at_once, a.row, a.released) >
         std::tie(b.time, b.at_once, b.row, b.released);
}

// What the program has given back is no longer allocated, but live while a stream uses it.
std::int64_t TensorLedger::CountedChange(const Change& change) {
  return change.action == Action::kAlloc ? change.size
         : change.released               ? 0
                                         : SaturatingSubtract(0, change.size);
}

void TensorLedger::Add(std::uint32_t row, const Tensor& tensor) {
  Change begin{.size = tensor.size,
               .after = tensor.after_allocation,
               .key = tensor.address == 0 ? row : tensor.address,
               .row = row,
               .stack = tensor.stack,
               .stream = tensor.stream,
               .action = Action::kAlloc};
  if (tensor.allocated_at) {
    begin.time = *tensor.allocated_at;
    Pass(begin.time, false);
    Emit(begin);
  } else {
    freed_before_ = SaturatingAdd(freed_before_, tensor.size);
  }
  AddEnds(begin, tensor);
}

// A tensor that a stream still uses when the program releases it ends twice.
void TensorLedger::AddEnds(const Change& begin, const Tensor& tensor) {
  Change end = begin;
  end.after = tensor.after_release;
  const auto wait = [&](std::int64_t time, Action action) {
    end.time = time;
    end.action = action;
    end.at_once = time == tensor.allocated_at;
    waiting_.push(end);
  };
  const auto& released = tensor.released_at;
  const auto& reusable = tensor.reusable_at;
  if (released && reusable && *reusable > *released) {
    wait(*released, Action::kFreeRequested);
    end.after = {};
    end.released = true;
    wait(*reusable, Action::kFreeCompleted);
  } else if (released || reusable) {
    wait(released ? *released : *reusable, Action::kFreeCompleted);
  }
}

// All that ends before `time`, and at it if it began earlier, or `all_of_it`.
void TensorLedger::Pass(std::int64_t time, bool all_of_it) {
  while (!waiting_.empty()) {
    const Change& next = waiting_.top();
    if (next.time > time || (next.time == time && next.at_once && !all_of_it)) {
      return;
    }
    Emit(next);
    waiting_.pop();
  }
}

void TensorLedger::Emit(const Change& change) {
  sorted_ = sorted_ && change.time >= time_;
  if (change.time != time_ && sorted_) {
    EndMoment();
  }
  time_ = change.time;
  if (sorted_) {
    check_.Add(CountedChange(change), change.after.allocated);
    if (change.action == Action::kAlloc) {
      live_ = SaturatingAdd(live_, change.size);
    } else if (change.action == Action::kFreeCompleted) {
      live_ = SaturatingSubtract(live_, change.size);
    }
    Reserve(change.after.reserved);
  }
  Push({.key = change.key,
        .size = change.size,
        .time = change.time,
        .stack = change.stack,
        .stream = change.stream,
        .domain = static_cast<std::uint8_t>(change.at_once ? 1 : 0),
        .action = change.action});
}

void TensorLedger::EndMoment() {
  if (const std::int64_t gap = check_.EndMoment(); gap != 0) {
    ++gaps_;
    live_ = SaturatingAdd(live_, gap);
    Push({.size = gap, .time = time_, .action = Action::kAdjust});
  }
}

// Before the change after which the allocator said so.
void TensorLedger::Reserve(std::int64_t reserved) {
  if (reserved == kUnsaid) {
    return;
  }
  if (first_reserved_ == kUnsaid) {
    first_reserved_ = reserved_ = reserved;
  }
  if (reserved != reserved_) {
    Push({.size = Magnitude(SaturatingSubtract(reserved, reserved_)),
          .time = time_,
          .action = reserved > reserved_ ? Action::kSegmentAlloc : Action::kSegmentFree});
    reserved_ = reserved;
  }
  most_above_reserved_ = std::max(most_above_reserved_, SaturatingSubtract(live_, reserved));
}

void TensorLedger::SortEvents() {
  const auto rank = [](const Event& event) {
    return event.action == Action::kAlloc ? 1 : event.domain == 0 ? 0 : 2;
  };
  std::sort(events_.begin(), events_.end(), [&rank](const Event& a, const Event& b) {
    return std::tuple(a.time, rank(a), a.key, a.action) <
           std::tuple(b.time, rank(b), b.key, b.action);
  });
}

void TensorLedger::Drop(Action first, Action last) {
  auto* const kept = std::remove_if(
      events_.begin(), events_.end(),
      [first, last](const Event& event) { return event.action == first || event.action == last; });
  events_.resize(static_cast<std::size_t>(kept - events_.begin()));
}

void TensorLedger::MoveTo(History& history, Trace& trace, std::uint8_t domain) {
  Pass(INT64_MAX, true);
  if (sorted_) {
    EndMoment();
    trace.checked_changes = check_.checked();
    trace.agreeing_changes = check_.agreeing();
    trace.preexisting_bytes =
        std::max<std::int64_t>(SaturatingSubtract(check_.base(), freed_before_), 0);
  }
  // Where most of the totals disagree they count something else.
  if (!sorted_ || trace.agreeing_changes < trace.checked_changes - trace.agreeing_changes) {
    gaps_ = 0;
    first_reserved_ = kUnsaid;
    Drop(Action::kAdjust, Action::kAdjust);
  }
  reserved_below_live_ =
      first_reserved_ != kUnsaid &&
      SaturatingAdd(std::max(check_.base(), freed_before_), most_above_reserved_) > 0;
  if (first_reserved_ == kUnsaid || reserved_below_live_) {
    Drop(Action::kSegmentAlloc, Action::kSegmentFree);
  } else {
    trace.preexisting_reserved = first_reserved_;
  }
  if (!sorted_) {
    SortEvents();
  }
  for (Event& event : events_) {
    event.domain = domain;
  }
  trace.first_event = history.events.size();
  trace.event_count = events_.size();
  if (history.events.empty()) {
    history.events = std::move(events_);
  } else {
    history.events.insert(history.events.end(), events_.begin(), events_.end());
  }
  events_ = {};
}

}  // namespace memtool::formats::ascend
