// What other settings of the allocator would have done to the request that failed.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "memtool/profile/answers/advise.h"
#include "memtool/profile/answers/oom_advice.h"
#include "memtool/profile/answers/whatif.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/replay/moment.h"

namespace memtool {

namespace {

constexpr auto kTried =
    std::to_array<std::string_view>({"expandable_segments:True", "max_split_size_mb:128"});

OomTrial MakeTrial(const WhatifRow& row, std::int64_t limit) {
  const bool passes = !row.oom.value_or(true) || row.oom_unsure;
  return {.setting = row.setting,
          .passes = passes,
          .unsure = row.oom_unsure,
          .spare = passes && !row.oom_unsure
                       ? std::max<std::int64_t>(SaturatingSubtract(limit, row.reserved_peak), 0)
                       : 0,
          .retries = passes ? row.retries.value_or(0) : 0};
}

OomAdvice NotReplayed(std::string_view why) {
  return {.kind = OomAdviceKind::kNotReplayed, .variable = std::string(why)};
}

}  // namespace

std::optional<OomAdvice> TryOthers(const HistoryIndex& index, const Trace& trace,
                                   std::int64_t event, const OomCase& found) {
  // Copies of the allocator for other devices have rules of their own.
  if (!found.failed || !found.snapshot || !GetPlatform(found).cuda) {
    return std::nullopt;
  }
  WhatifQuery query{.until = ParseMoment("event:" + std::to_string(event)).value(),
                    .device = std::to_string(trace.device)};
  for (const std::string_view text : kTried) {
    query.settings.push_back(*whatif::ParseAllocatorConf(text));
  }
  const auto answer = Whatif(index, query);
  if (!answer || answer->devices.size() != 1) {
    return std::nullopt;
  }
  const WhatifDevice& device = answer->devices.front();
  if (device.fidelity.obstacle != whatif::Obstacle::kNone) {
    // Other frameworks and allocators have other settings; there is nothing to regret.
    return device.fidelity.obstacle == whatif::Obstacle::kOutside
               ? std::optional(NotReplayed(whatif::ObstacleName(device.fidelity.obstacle)))
               : std::nullopt;
  }
  const auto own = std::find_if(answer->rows.begin(), answer->rows.end(),
                                [](const WhatifRow& row) { return row.own; });
  if (!device.fidelity.exact() || !device.used_limit) {
    return NotReplayed("differs");
  }
  if (own == answer->rows.end() || !own->oom.value_or(false) || own->oom_unsure) {
    return NotReplayed("passes");
  }
  OomAdvice advice{.kind = OomAdviceKind::kTrials};
  for (const WhatifRow& row : answer->rows) {
    if (!row.own) {
      advice.trials.push_back(MakeTrial(row, *device.used_limit));
    }
  }
  return advice.trials.empty() ? std::nullopt : std::optional(std::move(advice));
}

std::optional<OomAdvice> TryChanges(const HistoryIndex& index, const Trace& trace,
                                    const OomCase& found) {
  if (!found.failed || !found.snapshot || !GetPlatform(found).cuda) {
    return std::nullopt;
  }
  const auto answer = Advise(index, {.device = std::to_string(trace.device)});
  if (!answer || answer->devices.size() != 1) {
    return std::nullopt;
  }
  const AdviseObstacle obstacle = answer->devices.front().obstacle;
  if (obstacle == AdviseObstacle::kFailedEarly || obstacle == AdviseObstacle::kNoBackward) {
    return std::nullopt;  // settings alone, which are tried up to the failure
  }
  OomAdvice advice{.kind = OomAdviceKind::kChanges};
  for (const AdviseSet& set : answer->devices.front().sets) {
    std::string changes;
    for (const std::string& change : set.changes) {
      changes += (changes.empty() ? "" : " + ") + change;
    }
    advice.trials.push_back(
        {.setting = std::move(changes),
         .passes = true,
         .spare = SaturatingSubtract(*answer->devices.front().limit, set.reserved_high)});
  }
  return advice.trials.empty() ? std::nullopt : std::optional(std::move(advice));
}

}  // namespace memtool
