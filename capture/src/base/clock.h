// The system's clocks.
#pragma once

#include <cstdint>
#include <ctime>

namespace memtool::capture {

// Nanoseconds of a clock_gettime clock.
inline std::int64_t Now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1000000000 + time.tv_nsec;
}

}  // namespace memtool::capture
