#include "answers/ranks/ranks_oom.h"

#include <algorithm>
#include <vector>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/ranks/first_oom.h"

namespace memtool {

namespace {

std::vector<RankOom> FindFailures(std::span<const Digest> digests, std::span<const RankSet> sets,
                                  const RankSetKey& key) {
  std::vector<RankOom> failures;
  for (const RankSet& set : sets) {
    if (set.key.job != key.job || set.key.attempt != key.attempt || set.key.role != key.role) {
      continue;
    }
    for (const RankMember& member : set.ranks) {
      const Digest& digest = digests[member.file];
      for (const DigestOom& oom : digest.ooms) {
        const bool timed = digest.since_epoch && oom.time != kNoTime;
        failures.push_back({.rank = member.rank,
                            .time = timed ? std::optional(oom.time) : std::nullopt,
                            .requested_bytes = oom.requested_bytes,
                            .free = oom.free});
      }
    }
  }
  return failures;
}

// Reserved bytes around a time; none where the grid does not reach it.
std::optional<std::int64_t> ReservedAt(const Digest& digest, std::int64_t time) {
  const DigestGrid& grid = digest.grid;
  if (!digest.since_epoch || grid.reserved.empty()) {
    return std::nullopt;
  }
  const std::int64_t bin = SaturatingSubtract(time >> grid.shift, grid.first);
  if (bin < 0) {
    return std::nullopt;
  }
  // After its last event a rank holds what it held.
  const auto last = static_cast<std::int64_t>(grid.reserved.size()) - 1;
  return grid.reserved[static_cast<std::size_t>(std::min(bin, last))];
}

// How full the others were.
void AddOthers(std::span<const Digest> digests, const RankSet& set, FirstOom& found) {
  std::vector<std::int64_t> reserved;
  for (const RankMember& member : set.ranks) {
    const auto held = member.rank != found.rank && found.time != kNoTime
                          ? ReservedAt(digests[member.file], found.time)
                          : std::nullopt;
    if (held) {
      reserved.push_back(*held);
    }
  }
  std::sort(reserved.begin(), reserved.end());
  found.reported = reserved.size();
  if (!reserved.empty()) {
    found.others_median = reserved[(reserved.size() - 1) / 2];
    found.others_most = reserved.back();
  }
}

}  // namespace

std::optional<FirstOom> FindFirstOom(std::span<const Digest> digests, std::span<const RankSet> sets,
                                     std::size_t chosen) {
  const OomSequence sequence = OrderOoms(FindFailures(digests, sets, sets[chosen].key));
  if (sequence.groups.empty()) {
    return std::nullopt;
  }
  const OomGroup& first = sequence.groups.front();
  FirstOom found{.rank = sequence.first_rank.value_or(first.ranks.front()),
                 .time = sequence.first_time.value_or(kNoTime),
                 .requested_bytes = first.requested_bytes,
                 .free = first.min_free,
                 .before_next = sequence.before_next};
  for (const std::int64_t rank : sequence.at_first) {
    if (rank != found.rank) {
      found.with.push_back(rank);
    }
  }
  std::vector<std::int64_t> failed;
  for (const OomGroup& group : sequence.groups) {
    for (const std::int64_t rank : group.ranks) {
      if (std::find(failed.begin(), failed.end(), rank) == failed.end()) {
        failed.push_back(rank);
      }
    }
  }
  found.failed = failed.size();
  if (found.before_next && failed.size() > 1) {
    found.next_rank = failed[failed[0] == found.rank ? 1 : 0];
  }
  AddOthers(digests, sets[chosen], found);
  return found;
}

}  // namespace memtool
