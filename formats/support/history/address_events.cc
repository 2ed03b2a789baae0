#include "support/history/address_events.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "support/read_error.h"

namespace memtool::formats {

namespace {

constexpr std::size_t kMaxPlaces = 250;  // an event names its domain with one byte

}  // namespace

std::optional<std::uint8_t> AddressEvents::AddPlace(MemoryPlace place) {
  if (places_.size() == kMaxPlaces) {
    return std::nullopt;
  }
  places_.push_back(std::move(place));
  return static_cast<std::uint8_t>(places_.size() - 1);
}

void AddressEvents::Allocate(std::uint64_t space, const Event& event, LabelSetId labels) {
  RowMap& live = live_[space];
  if (const std::uint32_t open = live.Take(event.key); open != RowMap::kNone) {
    ++reopened_;
    Event end = events_[open];
    end.time = event.time;
    end.action = Action::kFreeCompleted;
    Append(end, labels_[open]);
  }
  live.Put(event.key, static_cast<std::uint32_t>(Append(event, labels)));
}

bool AddressEvents::Free(std::uint64_t space, Event event, std::optional<std::int64_t> size,
                         std::optional<std::uint8_t> place, LabelSetId labels) {
  const std::uint32_t open = live_[space].Take(event.key);
  if (open == RowMap::kNone) {
    if (!size || !place) {
      return false;
    }
    event.size = *size;
    event.domain = *place;
  } else {
    event.size = size.value_or(events_[open].size);
    event.domain = events_[open].domain;
    changed_sizes_ += event.size == events_[open].size ? 0 : 1;
  }
  event.action = Action::kFreeCompleted;
  Append(event, labels);
  return true;
}

std::size_t AddressEvents::Add(const Event& event, LabelSetId labels) {
  return Append(event, labels);
}

std::size_t AddressEvents::Append(const Event& event, LabelSetId labels) {
  if (events_.size() == RowMap::kNone) {
    ThrowRead(ErrorCode::kLimit, 0, {}, "more than 4,294,967,295 events");
  }
  events_.push_back(event);
  labels_.push_back(labels);
  return events_.size() - 1;
}

std::vector<std::size_t> AddressEvents::PlacesInOrder(
    const std::vector<std::uint64_t>& counts) const {
  std::vector<std::size_t> order(places_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::erase_if(order, [&](std::size_t place) { return counts[place] == 0; });
  const auto key = [this](std::size_t place) {
    const MemoryPlace& of = places_[place];
    return std::tuple(of.device < 0, of.process, of.device, of.rank);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

History AddressEvents::Finish(Clock clock) && {
  History history;
  history.clock = clock;
  history.streams = streams_.Take();
  live_ = {};
  std::vector<std::uint64_t> counts(places_.size(), 0);
  for (const Event& event : events_) {
    ++counts[event.domain];
  }
  std::vector<std::uint64_t> next(places_.size(), 0);  // row of each place's next event
  std::vector<std::uint8_t> domain_of(places_.size(), 0);
  std::uint64_t first = 0;
  for (const std::size_t place : PlacesInOrder(counts)) {
    MemoryPlace& of = places_[place];
    const DomainId domain(history.domains.size());
    domain_of[place] = static_cast<std::uint8_t>(domain.value());
    history.domains.push_back({.name = std::move(of.domain),
                               .device = of.device,
                               .kind = of.kind,
                               .level = of.level,
                               .capacity = of.capacity});
    history.traces.push_back({.device = of.device,
                              .name = std::move(of.trace),
                              .first_event = first,
                              .event_count = counts[place],
                              .blocks = domain,
                              .segments = domain});
    next[place] = std::exchange(first, first + counts[place]);
  }
  // Events of one place are in order already, and are most of what there is.
  if (history.traces.size() == 1) {
    for (Event& event : events_) {
      event.domain = 0;
    }
    history.events = std::move(events_);
    history.labels = std::move(labels_);
    return history;
  }
  history.events.resize(events_.size());
  history.labels.resize(events_.size());
  for (std::size_t row = 0; row < events_.size(); ++row) {
    Event event = events_[row];
    const std::uint64_t to = next[event.domain]++;
    event.domain = domain_of[event.domain];
    history.events[to] = event;
    history.labels[to] = labels_[row];
  }
  return history;
}

}  // namespace memtool::formats
