#include "memtool/profile/answers/whatif.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "answers/whatif/setting_runs.h"
#include "memtool/profile/answers/advise.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/on_threads.h"
#include "memtool/profile/model/vendor.h"
#include "memtool/profile/replay/replay.h"

namespace memtool {

namespace {

using whatif::AllocatorSettings;

// What is mostly tried.
constexpr auto kUsual = std::to_array<std::string_view>({
    "",
    "expandable_segments:True",
    "max_split_size_mb:128",
    "max_split_size_mb:256",
    "max_split_size_mb:512",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:8",
});
// Acts only where a limit is known.
constexpr std::string_view kWithLimit =
    "garbage_collection_threshold:0.8,per_process_memory_fraction:1.0";

// A trace with all that its rows are worked out from.
struct TracedDevice {
  WhatifDevice facts;
  const Trace* trace = nullptr;
  whatif::Requests requests;  // changed
  whatif::ScenarioQuery scenario;
  std::vector<AllocatorSettings> settings;  // the file's own first
  bool whole = false;                       // all of the trace's requests, as recorded
};

// Every event of a mark's name, or the one of a moment.
Result<std::vector<std::int64_t>> EventsOfMoments(const HistoryIndex& index, const Trace& trace,
                                                  const std::vector<MomentSpec>& specs) {
  std::vector<std::int64_t> events;
  for (const MomentSpec& spec : specs) {
    if (spec.kind != MomentSpec::Kind::kMark || spec.indexed) {
      auto event = ResolveMoment(index, trace, spec);
      MEMTOOL_TRY(event);
      events.push_back(*event);
      continue;
    }
    MomentSpec one = spec;
    one.indexed = true;
    for (one.index = 1;; ++one.index) {
      auto event = ResolveMoment(index, trace, one);
      if (!event && one.index == 1) {
        return Fail(std::move(event.error()));
      }
      if (!event) {
        break;
      }
      events.push_back(*event);
    }
  }
  std::sort(events.begin(), events.end());
  return events;
}

// The best first.
auto GetRank(const WhatifRow& row) {
  const int verdict = !row.oom || !*row.oom ? 0 : row.oom_unsure ? 1 : 2;
  return std::tuple(row.device, verdict, row.fits.value_or(0), row.retries.value_or(0),
                    row.cut_short, row.reserved_peak, row.reserved_peak_low, !row.own, row.setting);
}

// A setting on a device: the runs behind its row, and what they say.
struct ScenarioRun {
  const TracedDevice* device = nullptr;
  bool own = false;
  bool recorded = false;  // the file says what it needs
  SettingRuns setting;
  whatif::Scenario fit;
};

// Against the row of the file's own settings on the same device.
void PutSaves(std::vector<WhatifRow>& rows) {
  std::map<std::int32_t, std::int64_t> of_own;
  for (const WhatifRow& row : rows) {
    if (row.own && !row.cut_short) {
      of_own.emplace(row.device, row.reserved_peak);
    }
  }
  for (WhatifRow& row : rows) {
    const auto own = of_own.find(row.device);
    if (own != of_own.end() && !row.own && !row.cut_short) {
      row.saves = SaturatingSubtract(own->second, row.reserved_peak);
    }
  }
}

class Maker {
 public:
  Maker(const HistoryIndex& index, const WhatifQuery& query) : index_(index), query_(query) {}

  Result<WhatifAnswer> Make() {
    auto traces = GetTraces(index_.recording(), query_.device);
    MEMTOOL_TRY(traces);
    for (const std::size_t row : *traces) {
      MEMTOOL_TRY(Prepare(index_.history().traces[row]));
    }
    WhatifAnswer answer;
    answer.platform = index_.recording().metadata.origin.platform;
    answer.limit_given = query_.limit.has_value();
    answer.changed = query_.changes_program() || !query_.changes.empty();
    std::vector<ScenarioRun> pending = AllRuns();
    RunAll(pending);
    std::erase_if(pending,
                  [](const ScenarioRun& one) { return !one.device->facts.fidelity.usable(); });
    answer.rows.reserve(pending.size());
    for (const ScenarioRun& one : pending) {
      answer.rows.push_back(GetRow(one));
    }
    MEMTOOL_TRY(AddChanges(answer));
    PutSaves(answer.rows);
    std::stable_sort(
        answer.rows.begin(), answer.rows.end(),
        [](const WhatifRow& a, const WhatifRow& b) { return GetRank(a) < GetRank(b); });
    for (TracedDevice& device : devices_) {
      answer.devices.push_back(std::move(device.facts));
    }
    return answer;
  }

 private:
  Result<void> Prepare(const Trace& trace) {
    const Recording& recording = index_.recording();
    TracedDevice& device = devices_.emplace_back();
    device.trace = &trace;
    WhatifDevice& facts = device.facts;
    facts.device = trace.device;
    facts.name = trace.name;
    facts.own = whatif::RecordedSettings(recording);
    facts.fidelity.obstacle = whatif::FindObstacle(recording, trace);
    if (facts.fidelity.obstacle != whatif::Obstacle::kNone) {
      return {};
    }
    device.requests = whatif::CollectRequests(index_, trace, facts.own);
    // The program as recorded is compared beside the runs of other settings.
    device.whole = !query_.changes_program() && !query_.until;
    if (!device.whole) {
      Compare(device);
    }
    facts.limit = whatif::ComputeLimit(index_, trace, facts.own, device.requests);
    facts.base_reserved = device.requests.base_reserved;
    facts.double_allocations = device.requests.double_allocations;
    facts.own_empty_caches = static_cast<std::uint64_t>(
        std::count_if(device.requests.rows.begin(), device.requests.rows.end(),
                      [](const whatif::Request& request) {
                        return request.kind == whatif::Request::Kind::kEmptyCache;
                      }));
    const bool reported = facts.limit.from != whatif::Limit::From::kHighest;
    facts.used_limit = query_.limit ? query_.limit
                       : reported   ? std::optional(facts.limit.low)
                                    : std::nullopt;
    if (!device.whole && !facts.fidelity.usable()) {
      return {};
    }
    MEMTOOL_TRY(Change(device));
    device.scenario = {.limit = facts.used_limit,
                       .total = query_.total,
                       .fit = query_.fit,
                       .kept = query_.scale == 1};
    ChooseSettings(device);
    return {};
  }

  void Compare(TracedDevice& device) const {
    WhatifDevice& facts = device.facts;
    facts.fidelity = whatif::ComputeFidelity(index_, *device.trace, facts.own, device.requests);
  }

  Result<void> Change(TracedDevice& device) const {
    const Trace& trace = *device.trace;
    whatif::Requests& requests = device.requests;
    if (query_.until) {
      auto until = ResolveMoment(index_, trace, *query_.until);
      MEMTOOL_TRY(until);
      std::erase_if(requests.rows, [until = *until](const whatif::Request& request) {
        return request.event > until;
      });
    }
    if (query_.no_empty_cache) {
      requests = whatif::WithoutEmptyCache(std::move(requests));
    }
    if (!query_.empty_cache_at.empty()) {
      auto events = EventsOfMoments(index_, trace, query_.empty_cache_at);
      MEMTOOL_TRY(events);
      requests = whatif::WithEmptyCache(std::move(requests), *events);
    }
    if (query_.without) {
      requests = whatif::Without(index_, trace, std::move(requests), query_.without);
    }
    if (query_.scale != 1) {
      requests = whatif::Scaled(std::move(requests), query_.scale);
    }
    return {};
  }

  void ChooseSettings(TracedDevice& device) const {
    device.settings.push_back(device.facts.own);
    const auto add = [&device](AllocatorSettings settings) {
      settings.padding = device.facts.own.padding;
      const std::string text = whatif::ConfText(settings);
      const bool known = std::any_of(
          device.settings.begin(), device.settings.end(),
          [&text](const AllocatorSettings& one) { return whatif::ConfText(one) == text; });
      if (!known && !settings.other_allocator) {
        device.settings.push_back(std::move(settings));
      }
    };
    for (const AllocatorSettings& settings : query_.settings) {
      add(settings);
    }
    if (!query_.settings.empty() || !query_.changes.empty()) {
      return;
    }
    for (const std::string_view text : kUsual) {
      add(*whatif::ParseAllocatorConf(text));
    }
    if (device.facts.used_limit) {
      add(*whatif::ParseAllocatorConf(kWithLimit));
    }
  }

  [[nodiscard]] std::vector<ScenarioRun> AllRuns() const {
    std::vector<ScenarioRun> pending;
    for (const TracedDevice& device : devices_) {
      for (std::size_t i = 0; i < device.settings.size(); ++i) {
        ScenarioRun one{.device = &device, .own = i == 0};
        one.recorded =
            one.own && device.whole && device.facts.limit.from == whatif::Limit::From::kHighest;
        whatif::ScenarioQuery query = device.scenario;
        query.unlimited = !one.recorded;
        one.setting = {.requests = &device.requests,
                       .settings = &device.settings[i],
                       .runs = whatif::MakeRuns(device.requests, query)};
        pending.push_back(std::move(one));
      }
    }
    return pending;
  }

  // The comparisons and the long searches first.
  void RunAll(std::vector<ScenarioRun>& pending) {
    std::vector<std::function<void()>> jobs;
    for (TracedDevice& device : devices_) {
      if (device.whole && device.facts.fidelity.obstacle == whatif::Obstacle::kNone) {
        jobs.emplace_back([this, &device] { Compare(device); });
      }
    }
    std::vector<SettingRuns*> settings;
    for (ScenarioRun& one : pending) {
      settings.push_back(&one.setting);
      if (query_.fit) {
        jobs.emplace_back([&one] {
          whatif::Fit(one.device->requests, *one.setting.settings, one.device->scenario, one.fit);
        });
      }
    }
    DoRuns(settings, std::move(jobs));
  }

  [[nodiscard]] WhatifRow GetRow(const ScenarioRun& pending) const {
    const AllocatorSettings& settings = *pending.setting.settings;
    whatif::Scenario scenario = whatif::Joined(pending.setting.runs, pending.setting.results);
    scenario.fits = pending.fit.fits;
    scenario.fit_retries = pending.fit.fit_retries;
    WhatifRow row = ToRow(*pending.device, scenario);
    row.setting = whatif::ConfText(settings);
    row.own = pending.own;
    row.not_modelled = settings.not_modelled;
    row.grows = settings.expandable_segments && !settings.splits_everything();
    if (pending.recorded) {
      TakeRecorded(*pending.device->trace, row);
    }
    return row;
  }

  static WhatifRow ToRow(const TracedDevice& device, const whatif::Scenario& scenario) {
    WhatifRow row{.device = device.facts.device,
                  .setting = {},
                  .estimate = !device.facts.fidelity.exact(),
                  .reserved_peak = scenario.high.reserved_peak,
                  .reserved_peak_low = scenario.low.reserved_peak,
                  .reserved_peak_event = scenario.high.reserved_peak_event,
                  .live_at_peak = scenario.high.live_at_peak,
                  .live_peak = scenario.high.live_peak,
                  .waste_peak = scenario.high.waste_peak,
                  .fits = scenario.fits,
                  .cut_short = scenario.high.failed};
    if (scenario.fit_retries) {
      row.fit_retries = static_cast<std::int64_t>(*scenario.fit_retries);
    }
    if (scenario.limited) {
      row.retries = static_cast<std::int64_t>(scenario.limited->retries());
      row.oom = scenario.limited->failed;
      row.oom_unsure = scenario.limited->failed && !scenario.fails();
      if (scenario.limited->failed) {
        row.oom_event = scenario.limited->failed_event;
        row.oom_size = scenario.limited->failed_size;
      }
    }
    return row;
  }

  // A row for each change, and one for all of them together.
  Result<void> AddChanges(WhatifAnswer& answer) const {
    std::vector<advise::Edits> changes = query_.changes;
    if (changes.size() > 1) {
      advise::Edits all;
      for (const advise::Edits& edits : query_.changes) {
        all.insert(all.end(), edits.begin(), edits.end());
      }
      changes.push_back(std::move(all));
    }
    for (const TracedDevice& device : devices_) {
      if (changes.empty() || !device.facts.fidelity.usable()) {
        continue;
      }
      const advise::Editor editor(index_, *device.trace, device.requests);
      std::vector<Result<TriedChange>> tried(changes.size(), TriedChange{});
      OnThreads(changes.size(), [&](std::size_t i) {
        tried[i] = Try(editor, device.requests, device.facts.own, changes[i], device.scenario);
      });
      for (std::size_t i = 0; i < tried.size(); ++i) {
        Result<TriedChange>& one = tried[i];
        const bool together = changes.size() > 1 && i + 1 == changes.size();
        if (!one && together) {
          continue;  // such as two checkpoints: each has its row
        }
        MEMTOOL_TRY(one);
        WhatifRow row = ToRow(device, one->scenario);
        row.setting = advise::ToText(one->edits);
        row.edited = true;
        row.reserved_peak = one->reserved_high;
        row.reserved_peak_low = one->reserved_low;
        row.live_peak = one->live_peak;
        answer.rows.push_back(std::move(row));
      }
    }
    return {};
  }

  // The file itself says what its own settings needed, where nothing was refused. As in the model,
  // a new segment counts with the request that it is made for.
  void TakeRecorded(const Trace& trace, WhatifRow& row) const {
    const auto events = GetEvents(index_.recording(), trace);
    const Replay& replay = index_.replay(trace);
    const TraceSummary& summary = index_.summary(trace);
    std::int64_t live = summary.base_bytes;
    std::int64_t reserved = summary.reserved_base_bytes;
    row.recorded = true;
    row.reserved_peak = row.reserved_peak_low = summary.reserved_peak_bytes;
    row.reserved_peak_event = -1;
    row.live_peak = summary.peak_bytes;
    row.live_at_peak = live;
    row.waste_peak = SaturatingSubtract(reserved, live);
    bool open = false;  // a segment waits for its block
    for (std::uint32_t i = 0; i < events.size(); ++i) {
      live = RunningAdd(live, replay.ChangeAt(i));
      reserved = RunningAdd(reserved, ReservedChange(events[i]));
      open = ReservedChange(events[i]) > 0 || (open && events[i].action != Action::kAlloc);
      if (open) {
        continue;
      }
      row.waste_peak = std::max(row.waste_peak, SaturatingSubtract(reserved, live));
      if (reserved == summary.reserved_peak_bytes && row.reserved_peak_event < 0 &&
          summary.reserved_peak_event >= 0) {
        row.reserved_peak_event = i;
        row.live_at_peak = live;
      }
    }
  }

  const HistoryIndex& index_;
  const WhatifQuery& query_;
  std::vector<TracedDevice> devices_;
};

Value LimitValue(const whatif::Limit& limit) {
  return Value::Object{{"low", limit.low},
                       {"high", limit.high},
                       {"from", whatif::LimitSourceName(limit.from)},
                       {"reproduced", limit.reproduced ? Value(*limit.reproduced) : Value()},
                       {"retries", limit.retries}};
}

Value DifferenceValue(const std::optional<whatif::Difference>& difference) {
  if (!difference) {
    return {};
  }
  const auto figure = [&](std::uint64_t value) -> Value {
    return difference->kind == whatif::Difference::Kind::kPlacement
               ? Value(fmt::format("{:#x}", value))
               : Value(value);
  };
  return Value::Object{{"event", difference->event},
                       {"reason", whatif::DifferenceName(difference->kind)},
                       {"expected", figure(difference->expected)},
                       {"got", figure(difference->got)}};
}

Value FidelityValue(const WhatifDevice& device) {
  const whatif::Fidelity& f = device.fidelity;
  const bool replayed = f.obstacle == whatif::Obstacle::kNone;
  return Value::Object{{"device", device.device},
                       {"setting", whatif::ConfText(device.own)},
                       {"obstacle", replayed ? Value() : Value(whatif::ObstacleName(f.obstacle))},
                       {"placements", f.placements},
                       {"placements_equal", f.placements_equal},
                       {"segments", f.segments},
                       {"segments_equal", f.segments_equal},
                       {"segments_false", f.segments_false},
                       {"releases", f.releases},
                       {"releases_equal", f.releases_equal},
                       {"reserved_difference", f.reserved_difference},
                       {"exact", f.exact()},
                       {"first_difference", DifferenceValue(f.first)},
                       {"limit", replayed ? LimitValue(device.limit) : Value()}};
}

}  // namespace

Result<WhatifAnswer> Whatif(const HistoryIndex& index, const WhatifQuery& query) {
  return Maker(index, query).Make();
}

std::vector<NamedValue> MakeFigures(const WhatifAnswer& answer) {
  Value::List fidelity;
  for (const WhatifDevice& device : answer.devices) {
    fidelity.push_back(FidelityValue(device));
  }
  Value limit;
  const bool one = answer.devices.size() == 1;
  if (answer.limit_given && !answer.devices.empty()) {
    const auto given = answer.devices.front().used_limit;
    limit = Value::Object{{"low", given}, {"high", given}, {"from", "option"}};
  } else if (one && answer.devices.front().fidelity.obstacle == whatif::Obstacle::kNone) {
    limit = LimitValue(answer.devices.front().limit);
  }
  const auto rules = VendorOf(answer.platform).other_rules;
  return {{"fidelity", std::move(fidelity)},
          {"limit", std::move(limit)},
          {"changed", answer.changed},
          {"other_rules", Value::List(rules.begin(), rules.end())}};
}

AnswerView MakeView(const WhatifAnswer& answer) {
  return ViewRows(answer.head, MakeFigures(answer), answer.rows, kWhatifFields);
}

}  // namespace memtool
