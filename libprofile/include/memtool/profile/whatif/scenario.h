// Simulates the same requests under other allocator settings, on another GPU, or modified, and
// reports the memory needed.
//
// The base, which was there before the first event, is either kept as it lay, although other
// settings would have laid it otherwise, or requested once more by itself, as if nothing had been
// freed before. The truth mostly lies between. Addresses of new segments decide ties between equal
// blocks; running with both directions shows how much of a result depends on placement alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memtool/profile/whatif/allocator_settings.h"
#include "memtool/profile/whatif/caching_allocator.h"
#include "memtool/profile/whatif/driver_model.h"
#include "memtool/profile/whatif/requests.h"

namespace memtool::whatif {

enum class BaseLayout : std::uint8_t { kAsRecorded, kAnew };

struct RunOptions {
  std::int64_t limit = kNoLimit;        // bytes that the process may get
  std::optional<std::int64_t> total{};  // of the card; none: the limit, where there is one
  BaseLayout base = BaseLayout::kAnew;
  Addresses addresses = Addresses::kFalling;
  bool continues_after_failure = false;  // after an allocation failed; otherwise the run ends there
  std::optional<std::int64_t> until{};   // the last event of the trace that is sent
};

// Bytes; events of the trace, -1 = before the first.
struct RunResult {
  std::int64_t reserved_peak = 0;
  std::int64_t reserved_peak_event = -1;
  std::int64_t live_at_peak = 0;  // requested bytes, when reserved memory was at its highest
  std::int64_t live_peak = 0;
  std::int64_t waste_peak = 0;  // the largest reserved − live
  std::int64_t waste_event = -1;
  std::vector<std::int64_t> retry_events;
  bool failed = false;  // out of memory
  std::int64_t failed_event = -1;
  std::int64_t failed_size = 0;
  std::uint64_t segments = 0;  // made or mapped, after the base
  std::uint64_t releases = 0;
  std::uint64_t refusals = 0;        // by the driver or a bound, at first
  std::int64_t largest_segment = 0;  // so that no block was larger; the base's too

  [[nodiscard]] std::uint64_t retries() const { return retry_events.size(); }
};

RunResult RunOnce(const Requests& requests, const AllocatorSettings& settings,
                  const RunOptions& options);

// The allocator's segments and blocks at the end of a run (see RunOptions::until). Blocks have the
// stacks of their allocations; a segment of an expandable reservation is a run of mapped pages.
AllocatorState StateAfter(const HistoryIndex& index, const Trace& trace, const Requests& requests,
                          const AllocatorSettings& settings, const RunOptions& options);

// The smallest limit that a run passes, a multiple of 2 MiB; bisected, and looked at again beside
// it. None: it fails without any limit.
std::optional<std::int64_t> SmallestLimit(const Requests& requests,
                                          const AllocatorSettings& settings, RunOptions options);

struct ScenarioQuery {
  std::optional<std::int64_t> limit{};
  std::optional<std::int64_t> total{};
  bool fit = false;       // look for the smallest limit too
  bool kept = true;       // false: the base's layout is that of other sizes
  bool both_ways = true;  // rising addresses too
  bool unlimited = true;  // false: only under the limit
};

// One setting. `high` and `low`: of the runs without a limit those that need most and least.
struct Scenario {
  RunResult high;
  RunResult low;
  // With the limit, the worse and the better of the two base layouts.
  std::optional<RunResult> limited;
  std::optional<RunResult> limited_low;
  std::optional<std::int64_t> fits;          // the base laid anew
  std::optional<std::uint64_t> fit_retries;  // at that limit

  // The peak is certain: nothing was live before, or all runs agree within 1 %.
  [[nodiscard]] bool agrees() const {
    constexpr std::int64_t kHundred = 100;
    return high.reserved_peak - low.reserved_peak <= high.reserved_peak / kHundred;
  }
  // Nothing fails / everything fails, where there is a limit.
  [[nodiscard]] bool passes() const { return limited && !limited->failed; }
  [[nodiscard]] bool fails() const { return limited_low && limited_low->failed; }
};

// The runs behind a scenario, for callers that do them at once: RunOnce for each of MakeRuns, and
// the results in their order to Joined.
std::vector<RunOptions> MakeRuns(const Requests& requests, const ScenarioQuery& query);
// A run and what it came to; all outlive it.
struct DoneRun {
  const AllocatorSettings& settings;
  const RunOptions& options;
  const RunResult& result;
};
// Whether a run of the same requests would be `done`, request by request, since what tells them
// apart (a limit, garbage collection, blocks too large to be divided) was never reached there.
bool SameRun(const Requests& requests, const AllocatorSettings& settings, const RunOptions& options,
             const DoneRun& done);
// Whether `b` may turn out to be SameRun as `a`, which sets fewer bounds.
bool LessBounded(const AllocatorSettings& a, const AllocatorSettings& b);
Scenario Joined(std::span<const RunOptions> runs, std::vector<RunResult> results);
void Fit(const Requests& requests, const AllocatorSettings& settings, const ScenarioQuery& query,
         Scenario& scenario);

Scenario MakeScenario(const Requests& requests, const AllocatorSettings& settings,
                      const ScenarioQuery& query);

}  // namespace memtool::whatif
