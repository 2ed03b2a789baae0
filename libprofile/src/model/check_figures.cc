#include "model/check_figures.h"

#include <algorithm>
#include <optional>

#include "model/damage.h"

namespace memtool {

namespace {

void LeaveOutNegative(std::optional<std::int64_t>& figure, Damage& damage) {
  if (figure && *figure < 0) {
    figure.reset();
    damage.Add();
  }
}

// The one column of a role; nullptr where there is none, or a choice.
RowVector<std::int64_t>* OnlyColumn(Profile& profile, Role role) {
  RowVector<std::int64_t>* column = nullptr;
  for (std::size_t type = 0; type < profile.types.size(); ++type) {
    if (profile.types[type].role == role) {
      if (column != nullptr) {
        return nullptr;
      }
      column = &profile.values[type];
    }
  }
  return column;
}

}  // namespace

void CheckLedgers(History& history, std::vector<Diagnostic>& diagnostics) {
  Damage capacities;
  Damage peaks;
  Damage holes;
  for (MemoryDomain& domain : history.domains) {
    LeaveOutNegative(domain.capacity, capacities);
  }
  for (Trace& trace : history.traces) {
    LeaveOutNegative(trace.lifetime_peak, peaks);
    if (trace.agreeing_changes < trace.checked_changes) {
      holes.Add();
    }
  }
  capacities.MoveTo(diagnostics, "negative_capacity",
                    "ledgers whose capacity is below 0: it is left out");
  peaks.MoveTo(diagnostics, "negative_peak",
               "ledgers whose writer counted a peak below 0: it is left out");
  holes.MoveTo(
      diagnostics, "history_has_holes",
      "ledgers whose changes disagree with the allocator's own count of live bytes: events "
      "are missing, and what is live may be off by as much");
}

void CheckCounters(std::vector<Counter>& counters, std::vector<Diagnostic>& diagnostics) {
  Damage damage;
  std::vector<Counter> sound;
  for (const Counter& counter : counters) {
    // What is free of a device is at most all of it.
    const bool too_free =
        counter.kind == CounterKind::kDeviceFreeLowest &&
        std::any_of(counters.begin(), counters.end(), [&counter](const Counter& other) {
          return other.kind == CounterKind::kDeviceTotal && other.device == counter.device &&
                 other.value >= 0 && other.value < counter.value;
        });
    if (counter.value < 0 || too_free) {
      damage.Add();
    } else {
      sound.push_back(counter);
    }
  }
  if (sound.size() < counters.size()) {
    counters = std::move(sound);
  }
  damage.MoveTo(diagnostics, "impossible_counter",
                "figures of a device below 0, or more free than it has: they are left out");
}

void CheckRequested(Profile& profile, std::vector<Diagnostic>& diagnostics) {
  RowVector<std::int64_t>* const requested = OnlyColumn(profile, Role::kRequestedBytes);
  const RowVector<std::int64_t>* const bytes = OnlyColumn(profile, Role::kBytes);
  if (requested == nullptr || bytes == nullptr) {
    return;
  }
  Damage damage;
  for (std::size_t row = 0; row < bytes->size(); ++row) {
    if ((*requested)[row] > (*bytes)[row]) {
      (*requested)[row] = (*bytes)[row];
      damage.Add();
    }
  }
  damage.MoveTo(diagnostics, "requested_above_size",
                "samples that ask for more than they got (what was asked for is unknown there: "
                "what they got stands in for it)");
}

}  // namespace memtool
