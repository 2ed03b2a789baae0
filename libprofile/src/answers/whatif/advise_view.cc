#include <array>
#include <utility>

#include "memtool/profile/answers/advise.h"

namespace memtool {

std::string_view ToName(AdviseObstacle obstacle) {
  constexpr std::array<std::string_view, 7> kNames{"none",        "not_replayed", "inexact",
                                                   "no_backward", "no_layers",    "checkpointed",
                                                   "failed_early"};
  return kNames.at(static_cast<std::size_t>(obstacle));
}

std::string_view ToName(Evidence evidence) {
  constexpr std::array<std::string_view, 3> kNames{"exact", "measured", "arithmetic"};
  return kNames.at(static_cast<std::size_t>(evidence));
}

std::vector<NamedValue> MakeFigures(const AdviseAnswer& answer) {
  Value::List devices;
  Value::List sets;
  for (const AdviseDevice& device : answer.devices) {
    devices.push_back(Value::Object{
        {"device", device.device},
        {"reserved", device.needs.reserved},
        {"live", device.needs.live},
        {"next_step_reserved", device.needs.next_reserved.value_or(device.needs.reserved)},
        {"next_step_live", device.needs.next_live.value_or(device.needs.live)},
        {"limit", device.limit},
        {"fits", device.limit ? Value(device.fits_now) : Value()},
        {"obstacle",
         device.obstacle == AdviseObstacle::kNone ? Value() : Value(ToName(device.obstacle))}});
    for (const AdviseSet& set : device.sets) {
      Value::List changes;
      for (const std::string& change : set.changes) {
        changes.emplace_back(change);
      }
      sets.push_back(Value::Object{{"device", set.device},
                                   {"changes", std::move(changes)},
                                   {"live_peak", set.live_peak},
                                   {"reserved_low", set.reserved_low},
                                   {"reserved_high", set.reserved_high},
                                   {"error", set.error},
                                   {"cost", set.cost},
                                   {"fits", true}});
    }
  }
  // Of one device its needs by themselves, as most have one.
  Value needs = answer.devices.size() == 1 ? devices.front() : Value();
  return {{"needs", std::move(needs)},
          {"devices", std::move(devices)},
          {"card", answer.card},
          {"headroom", answer.headroom},
          {"sets", std::move(sets)}};
}

AnswerView MakeView(const AdviseAnswer& answer) {
  return ViewRows(answer.head, MakeFigures(answer), answer.rows, kAdviseFields);
}

}  // namespace memtool
