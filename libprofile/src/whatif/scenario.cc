#include "memtool/profile/whatif/scenario.h"

#include <algorithm>
#include <span>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/replay/replay.h"
#include "whatif/model_state.h"
#include "whatif/player.h"
#include "whatif/run_driver.h"

namespace memtool::whatif {

namespace {

// Follows one run, request by request.
class Runner {
 public:
  Runner(const Requests& requests, const AllocatorSettings& settings, const RunOptions& options)
      : requests_(requests),
        options_(options),
        player_(requests, settings, MakeDriver(requests, options)),
        sizes_(requests.tags, 0) {}

  void Run() {
    if (Lay()) {
      SendAll();
    }
    result_.segments = counters().segments - laid_segments_;
    result_.releases = counters().releases - laid_releases_;
    result_.refusals = counters().refusals;
    result_.largest_segment = counters().largest_segment;
  }

  RunResult TakeResult() { return std::move(result_); }
  [[nodiscard]] Player& player() { return player_; }

 private:
  [[nodiscard]] const AllocatorCounters& counters() { return player_.allocator().counters(); }

  void SendAll() {
    for (const Request& request : requests_.rows) {
      if (options_.until && request.event > *options_.until) {
        break;
      }
      if (!Send(request) && !options_.continues_after_failure) {
        break;
      }
    }
  }

  bool Lay() {
    for (const BaseBlock& block : requests_.blocks) {
      if (block.laid.tag != CachingAllocator::kFreeTag) {
        sizes_[block.laid.tag] = block.requested;
        live_ = SaturatingAdd(live_, block.requested);
      }
    }
    bool laid = true;
    if (options_.base == BaseLayout::kAsRecorded) {
      player_.LayRecorded();
      laid = counters().reserved <= options_.limit;
    } else {
      laid = player_.LayAnew();
    }
    laid_segments_ = counters().segments;
    laid_releases_ = counters().releases;
    retries_ = counters().retries;
    result_.failed = !laid;
    result_.failed_size = laid ? 0 : live_;
    result_.reserved_peak = counters().reserved_peak;
    result_.live_at_peak = result_.live_peak = live_;
    result_.waste_peak = SaturatingSubtract(counters().reserved, live_);
    return laid;
  }

  // False: out of memory.
  bool Send(const Request& request) {
    const auto block = player_.Send(request);
    switch (request.kind) {
      case Request::Kind::kFreeCompleted:
        live_ = SaturatingSubtract(live_, std::exchange(sizes_[request.tag], 0));
        break;
      case Request::Kind::kAllocate:
      case Request::Kind::kFailed:
        return Allocated(request, block);
      default:
        break;
    }
    Look(request.event, live_);
    return true;
  }

  bool Allocated(const Request& request, CachingAllocator::BlockId block) {
    if (counters().retries > retries_) {
      retries_ = counters().retries;
      result_.retry_events.push_back(request.event);
    }
    if (block == CachingAllocator::kNoBlock) {
      if (!result_.failed) {
        result_.failed = true;
        result_.failed_event = request.event;
        result_.failed_size = request.size;
      }
      return false;
    }
    const std::int64_t live = SaturatingAdd(live_, request.size);
    if (request.kind == Request::Kind::kAllocate) {
      live_ = live;
      sizes_[request.tag] = request.size;
    }
    result_.live_peak = std::max(result_.live_peak, live);
    Look(request.event, live);
    return true;
  }

  void Look(std::uint32_t event, std::int64_t live) {
    if (counters().reserved > result_.reserved_peak) {
      result_.reserved_peak = counters().reserved;
      result_.reserved_peak_event = event;
      result_.live_at_peak = live;
    }
    const std::int64_t waste = SaturatingSubtract(counters().reserved, live);
    if (waste > result_.waste_peak) {
      result_.waste_peak = waste;
      result_.waste_event = event;
    }
  }

  const Requests& requests_;
  const RunOptions& options_;
  Player player_;
  std::vector<std::int64_t> sizes_;  // requested, by tag
  std::int64_t live_ = 0;
  std::uint64_t retries_ = 0;
  std::uint64_t laid_segments_ = 0;
  std::uint64_t laid_releases_ = 0;
  RunResult result_;
};

// Who allocated what is live, by tag.
Owners FindOwners(const HistoryIndex& index, const Trace& trace, const Requests& requests,
                  const RunOptions& options) {
  Owners owners(requests.tags);
  for (const BaseBlock& block : requests.blocks) {
    if (block.laid.tag != CachingAllocator::kFreeTag) {
      owners[block.laid.tag] = {block.stack, block.requested};
    }
  }
  const auto events = GetEvents(index.recording(), trace);
  for (const Request& request : requests.rows) {
    if (options.until && request.event > *options.until) {
      break;
    }
    if (request.kind == Request::Kind::kAllocate) {
      owners[request.tag] = {events[request.event].stack, request.size};
    }
  }
  return owners;
}

}  // namespace

RunResult RunOnce(const Requests& requests, const AllocatorSettings& settings,
                  const RunOptions& options) {
  Runner runner(requests, settings, options);
  runner.Run();
  return runner.TakeResult();
}

AllocatorState StateAfter(const HistoryIndex& index, const Trace& trace, const Requests& requests,
                          const AllocatorSettings& settings, const RunOptions& options) {
  Runner runner(requests, settings, options);
  runner.Run();
  const auto owners = FindOwners(index, trace, requests, options);
  return ToState(runner.player().allocator(), owners, trace.device);
}

std::optional<std::int64_t> SmallestLimit(const Requests& requests,
                                          const AllocatorSettings& settings, RunOptions options) {
  constexpr std::int64_t kStep = 2 * kMiB;
  options.limit = kNoLimit;
  const RunResult free = RunOnce(requests, settings, options);
  if (free.failed) {
    return std::nullopt;
  }
  const auto passes = [&](std::int64_t steps) {
    options.limit = steps * kStep;
    return !RunOnce(requests, settings, options).failed;
  };
  // A limit at the peak always passes; half of what is live never does.
  std::int64_t high = (free.reserved_peak + kStep - 1) / kStep;
  std::int64_t low = std::min(free.live_peak / 2 / kStep, high - 1);
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (passes(middle) ? high : low) = middle;
  }
  // What passes and what fails need not change only once: the answer is one whose neighbour passes.
  for (int tries = 0; tries < 8 && !passes(high + 1); ++tries) {
    ++high;
  }
  return high * kStep;
}

std::vector<RunOptions> MakeRuns(const Requests& requests, const ScenarioQuery& query) {
  std::vector<BaseLayout> layouts{BaseLayout::kAnew};
  if (requests.has_base() && query.kept) {
    layouts.push_back(BaseLayout::kAsRecorded);
  }
  std::vector<RunOptions> runs;
  for (const BaseLayout base : layouts) {
    for (const Addresses addresses : {Addresses::kFalling, Addresses::kRising}) {
      if (query.unlimited && (addresses == Addresses::kFalling || query.both_ways)) {
        runs.push_back({.total = query.total, .base = base, .addresses = addresses});
      }
    }
    if (query.limit) {
      runs.push_back({.limit = *query.limit, .total = query.total, .base = base});
    }
  }
  return runs;
}

namespace {

// In all but bounds and what has no effect here.
bool SameRules(const AllocatorSettings& a, AllocatorSettings b) {
  b.text = a.text;
  b.not_modelled = a.not_modelled;
  b.max_split_size = a.max_split_size;
  b.garbage_collection_threshold = a.garbage_collection_threshold;
  b.memory_fraction = a.memory_fraction;
  return a == b;
}

// Reserved memory never came to where a request is refused or garbage is collected.
bool NeverBound(const Requests& requests, const AllocatorSettings& settings,
                const RunOptions& options, std::int64_t peak) {
  if (peak > options.limit) {
    return false;
  }
  if (settings.memory_fraction == 0) {
    return true;
  }
  const bool collects = settings.garbage_collection_threshold > 0;
  const double share =
      settings.memory_fraction * (collects ? settings.garbage_collection_threshold : 1);
  return peak <= memtool::Scaled(MakeDriver(requests, options).total, share);
}

}  // namespace

bool SameRun(const Requests& requests, const AllocatorSettings& settings, const RunOptions& options,
             const DoneRun& done) {
  const RunResult& result = done.result;
  if (options.base != done.options.base || options.addresses != done.options.addresses ||
      options.continues_after_failure != done.options.continues_after_failure ||
      options.until != done.options.until || !SameRules(settings, done.settings) || result.failed ||
      result.refusals > 0) {
    return false;
  }
  const std::int64_t undivided = std::min(settings.max_split_size, done.settings.max_split_size);
  return (settings.max_split_size == done.settings.max_split_size ||
          (!settings.expandable_segments && result.largest_segment < undivided)) &&
         NeverBound(requests, settings, options, result.reserved_peak) &&
         NeverBound(requests, done.settings, done.options, result.reserved_peak);
}

bool LessBounded(const AllocatorSettings& a, const AllocatorSettings& b) {
  const auto bounds = [](const AllocatorSettings& settings) {
    return std::pair(settings.memory_fraction > 0, -settings.max_split_size);
  };
  return SameRules(a, b) && bounds(a) < bounds(b);
}

Scenario Joined(std::span<const RunOptions> runs, std::vector<RunResult> results) {
  Scenario scenario;
  bool first = true;
  const auto worse = [](const RunResult& a, const RunResult& b) {
    return std::pair(a.failed, a.retries()) > std::pair(b.failed, b.retries());
  };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    RunResult& result = results[i];
    if (runs[i].limit != kNoLimit) {
      if (!scenario.limited || worse(result, *scenario.limited)) {
        scenario.limited = result;
      }
      if (!scenario.limited_low || worse(*scenario.limited_low, result)) {
        scenario.limited_low = std::move(result);
      }
      continue;
    }
    if (first || result.reserved_peak > scenario.high.reserved_peak) {
      scenario.high = result;
    }
    if (first || result.reserved_peak < scenario.low.reserved_peak) {
      scenario.low = std::move(result);
    }
    first = false;
  }
  return scenario;
}

void Fit(const Requests& requests, const AllocatorSettings& settings, const ScenarioQuery& query,
         Scenario& scenario) {
  RunOptions options{.total = query.total};
  scenario.fits = SmallestLimit(requests, settings, options);
  if (scenario.fits) {
    options.limit = *scenario.fits;
    scenario.fit_retries = RunOnce(requests, settings, options).retries();
  }
}

Scenario MakeScenario(const Requests& requests, const AllocatorSettings& settings,
                      const ScenarioQuery& query) {
  const std::vector<RunOptions> runs = MakeRuns(requests, query);
  std::vector<RunResult> results;
  results.reserve(runs.size());
  for (const RunOptions& run : runs) {
    std::size_t same = 0;
    while (same < results.size() &&
           !SameRun(requests, settings, run, {settings, runs[same], results[same]})) {
      ++same;
    }
    results.push_back(same < results.size() ? results[same] : RunOnce(requests, settings, run));
  }
  Scenario scenario = Joined(runs, std::move(results));
  if (query.fit) {
    Fit(requests, settings, query, scenario);
  }
  return scenario;
}

}  // namespace memtool::whatif
