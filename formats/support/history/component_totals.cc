#include "support/history/component_totals.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "support/history/name_stacks.h"

namespace memtool::formats::ascend {

namespace {

constexpr std::array<std::string_view, 2> kSummed = {"PTA", "GE"};

}  // namespace

bool ComponentSeries::Add(const Sample& sample) {
  auto known = components_.find(sample.component);
  if (known == components_.end()) {
    known = components_.emplace(sample.component, Component()).first;
  }
  Component& now = known->second;
  if (sample.time < now.time) {
    return false;
  }
  sorted_ = sorted_ && sample.time >= last_time_;
  now.time = last_time_ = sample.time;
  if (sample.reserved) {
    Reserve(now, *sample.reserved);
  }
  if (sample.live != now.live) {
    if (now.live > 0) {
      Push({.key = now.key,
            .size = now.live,
            .stack = sample.stack,
            .action = Action::kFreeCompleted});
    }
    now.live = sample.live;
    now.key = ++keys_;
    if (now.live > 0) {
      Push({.key = now.key, .size = now.live, .stack = sample.stack, .action = Action::kAlloc});
    }
  }
  return true;
}

void ComponentSeries::Check(std::int64_t printed) {
  std::int64_t sum = 0;
  for (const std::string_view name : kSummed) {
    const auto known = components_.find(name);
    sum = SaturatingAdd(sum, known == components_.end() ? 0 : known->second.live);
  }
  ++checked_;
  agreeing_ += sum == printed ? 1 : 0;
}

void ComponentSeries::MoveTo(History& history, Trace& trace, DomainId domain) {
  if (!sorted_) {
    std::sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return std::tie(a.time, a.key, a.action, a.size) < std::tie(b.time, b.key, b.action, b.size);
    });
  }
  trace.first_event = history.events.size();
  trace.event_count = events_.size();
  trace.blocks = trace.segments = domain;
  // What the first sample found was there before.
  trace.listed_before = static_cast<std::uint64_t>(
      std::find_if(events_.begin(), events_.end(),
                   [this](const Event& event) { return event.time != events_.begin()->time; }) -
      events_.begin());
  trace.checked_changes = checked_;
  trace.agreeing_changes = agreeing_;
  for (Event& event : events_) {
    event.domain = static_cast<std::uint8_t>(domain.value());
  }
  history.events.insert(history.events.end(), events_.begin(), events_.end());
  events_ = {};
}

void ComponentSeries::Push(Event event) {
  event.time = last_time_;
  events_.push_back(event);
}

void ComponentSeries::Reserve(Component& component, std::int64_t reserved) {
  const std::int64_t change = SaturatingSubtract(reserved, component.reserved);
  if (change != 0) {
    Push({.size = Magnitude(change),
          .action = change > 0 ? Action::kSegmentAlloc : Action::kSegmentFree});
  }
  component.reserved = reserved;
}

bool ComponentTotals::Add(std::int32_t device, const Sample& sample) {
  if (sample.component.empty() || sample.live < 0 || sample.reserved.value_or(0) < 0) {
    return false;
  }
  Levels* levels = LevelsOf(device);
  if (levels == nullptr) {
    ++left_out_;
    return true;
  }
  if (sample.component == kPrintedSum) {
    ++sums_;
    if (!sample.rounded) {
      levels->front().Check(sample.live);
    }
    return true;
  }
  return (*levels)[static_cast<std::size_t>(LevelOf(sample.component))].Add(sample);
}

ComponentTotals::Level ComponentTotals::LevelOf(std::string_view component) {
  return component == kProcess || component == "app"          ? Level::kProcess
         : component == kWholeDevice || component == "device" ? Level::kDevice
                                                              : Level::kPart;
}

ComponentTotals::Levels* ComponentTotals::LevelsOf(std::int32_t device) {
  const auto at = devices_.find(device);
  if (at != devices_.end()) {
    return &at->second;
  }
  return devices_.size() == kMaxLedgers / kLevels ? nullptr : &devices_[device];
}

std::string ComponentTotals::NameOf(std::int32_t device, Level level, bool beside) {
  const std::string name = device < 0 ? "NPU" : fmt::format("NPU:{}", device);
  return level == Level::kDevice    ? name + " device"
         : level == Level::kProcess ? name + " APP"
         : beside                   ? name + " components"
                                    : name;
}

void ComponentTotals::AddTraces(std::int32_t device, Levels& levels,
                                std::span<const DomainId> beside, History& history) {
  DomainId whole;
  for (std::size_t i = kLevels; i-- > 0;) {
    const auto level = static_cast<Level>(i);
    if (levels[i].empty()) {
      continue;
    }
    Trace trace{.device = device, .name = NameOf(device, level, !beside.empty())};
    const DomainId domain(history.domains.size());
    levels[i].MoveTo(history, trace, domain);
    const bool allocator = level == Level::kPart && beside.empty();
    history.domains.push_back({.name = level == Level::kDevice    ? "used"
                                       : level == Level::kProcess ? "process"
                                                                  : "components",
                               .device = device,
                               .level = allocator ? DomainLevel::kAllocator : DomainLevel::kDriver,
                               .parent = whole});
    history.traces.push_back(std::move(trace));
    whole = level == Level::kPart ? whole : domain;
  }
  for (const DomainId domain : beside) {
    history.domains[domain.value()].parent = whole;
  }
}

void ComponentTotals::MoveTo(History& history,
                             const std::map<std::int32_t, std::vector<DomainId>>& beside) {
  for (auto& [device, levels] : devices_) {
    const auto own = beside.find(device);
    AddTraces(device, levels,
              own == beside.end() ? std::span<const DomainId>() : std::span(own->second), history);
  }
}

void ComponentTotals::AddDiagnostics(RecordingBuilder& builder) const {
  builder.AddDiagnostic(Severity::kNote, "printed_sum",
                        "rows that sum PTA and GE up: compared, and never added", sums_);
  builder.AddDiagnostic(Severity::kDamage, "skipped_row", "rows of devices beyond the first 80",
                        left_out_);
}

}  // namespace memtool::formats::ascend
