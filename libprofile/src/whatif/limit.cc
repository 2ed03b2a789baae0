#include "memtool/profile/whatif/limit.h"

#include <algorithm>
#include <array>
#include <vector>

#include "memtool/profile/account/oom.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/replay/replay.h"
#include "memtool/profile/whatif/fidelity.h"

namespace memtool::whatif {

namespace {

// The event of the request behind each run that a refusal caused.
std::vector<std::int64_t> RefusedRequests(const Requests& requests) {
  std::vector<std::int64_t> events;
  auto row = requests.rows.begin();
  for (const ReleaseRun& run : requests.runs) {
    if (run.cause != ReleaseRun::Cause::kRefused) {
      continue;
    }
    row = std::find_if(row, requests.rows.end(), [&run](const Request& request) {
      return request.event > run.last &&
             (request.kind == Request::Kind::kAllocate || request.kind == Request::Kind::kFailed);
    });
    if (row != requests.rows.end()) {
      events.push_back(row->event);
    }
  }
  // A failure is a refusal too, whether or not there was something to give back.
  for (const Request& request : requests.rows) {
    if (request.kind == Request::Kind::kFailed) {
      events.push_back(request.event);
    }
  }
  std::sort(events.begin(), events.end());
  events.erase(std::unique(events.begin(), events.end()), events.end());
  return events;
}

void SetFromFailure(std::int64_t reserved, std::int64_t free, std::int64_t requested,
                    Limit& limit) {
  const std::int64_t segment = SegmentFor(requested);
  if (DriverHadRoom(free, segment)) {
    limit.low = std::max(limit.low, reserved);
    limit.high = SaturatingAdd(limit.low, segment);
    limit.from = Limit::From::kOwn;
    return;
  }
  limit.low = SaturatingAdd(reserved, free);
  limit.high = limit.low;
  limit.from = Limit::From::kFailure;
}

}  // namespace

const char* LimitSourceName(Limit::From from) {
  constexpr std::array<const char*, 4> kNames{"highest", "refusals", "failure", "own"};
  return kNames.at(static_cast<std::size_t>(from));
}

Limit ComputeLimit(const HistoryIndex& index, const Trace& trace, const AllocatorSettings& settings,
                   const Requests& requests) {
  const TraceSummary& summary = index.summary(trace);
  Limit limit{.low = summary.reserved_peak_bytes};
  for (const ReleaseRun& run : requests.runs) {
    if (run.cause == ReleaseRun::Cause::kRefused) {
      ++limit.refusals;
      const std::int64_t above = SaturatingAdd(run.reserved_before, run.segment_size);
      limit.high = std::min(limit.high.value_or(above), above);
      limit.from = Limit::From::kRefusals;
    }
  }
  std::int64_t reserved = summary.reserved_base_bytes;
  bool failed = false;
  for (const Event& event : GetEvents(index.recording(), trace)) {
    reserved = SaturatingAdd(reserved, ReservedChange(event));
    if (event.action == Action::kOom) {
      // kUnknownBytes is beyond it.
      if (!failed && event.key <= static_cast<std::uint64_t>(INT64_MAX)) {
        SetFromFailure(reserved, static_cast<std::int64_t>(event.key), event.size, limit);
        failed = true;
      }
    }
  }
  if (limit.from != Limit::From::kHighest) {
    const Refusals refusals = RefusalsUnder(index, trace, settings, requests, limit.low);
    limit.retries = refusals.retries;
    limit.reproduced = refusals.events == RefusedRequests(requests);
  }
  return limit;
}

}  // namespace memtool::whatif
