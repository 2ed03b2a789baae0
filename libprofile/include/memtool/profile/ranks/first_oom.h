// Who ran out of memory first, and who only followed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace memtool {

// One failure of one rank.
struct RankOom {
  std::int64_t rank = 0;
  std::optional<std::int64_t> time{};  // nanoseconds since 1970, by the clock of its host
  std::optional<std::int64_t> requested_bytes{};  // bytes
  std::optional<std::int64_t> free{};             // bytes, by the driver
  std::uint64_t where = 0;                        // equal for equal code; 0 = not known
};

// Identical failures (same size, same code) of several ranks, reported as one.
struct OomGroup {
  std::vector<std::int64_t> ranks{};   // by time, then by rank; each once
  std::size_t failures = 0;            // more than ranks, where some failed again
  std::optional<std::int64_t> time{};  // of the earliest
  std::optional<std::int64_t> last{};  // of the latest
  std::optional<std::int64_t> requested_bytes{};
  std::optional<std::int64_t> min_free{};
  std::optional<std::int64_t> max_free{};
  std::uint64_t where = 0;
  // Nanoseconds behind the very first failure; none without a time.
  std::optional<std::int64_t> after_first{};
  // Within kSameTime of the first: the clocks of hosts differ by about as much.
  bool with_first = false;
};

inline constexpr std::int64_t kSameTime = 100'000'000;  // nanoseconds

struct OomSequence {
  // Those at the time of the first failure stand apart from later ones that ask for the same. By
  // time, then by rank; what has no time comes last.
  std::vector<OomGroup> groups{};
  std::optional<std::int64_t> first_rank{};   // none where no failure has a time
  std::optional<std::int64_t> first_time{};   // nanoseconds
  std::optional<std::int64_t> before_next{};  // until the first failure of another rank
  std::vector<std::int64_t> at_first{};       // ranks within kSameTime of the first, itself among
                                              // them: of several, none can be called the first
  std::size_t without_time = 0;               // failures
};

OomSequence OrderOoms(std::span<const RankOom> failures);

}  // namespace memtool
