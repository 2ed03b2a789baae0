#include "whatif/run_driver.h"

#include <algorithm>

namespace memtool::whatif {

namespace {

constexpr std::uint64_t kMiddle = std::uint64_t{1} << 62U;

// New segments lie below, or above, all that is there already.
std::uint64_t FirstAddress(const Requests& requests, const RunOptions& options) {
  if (options.base == BaseLayout::kAnew || requests.segments.empty()) {
    return kMiddle;
  }
  std::uint64_t lowest = UINT64_MAX;
  std::uint64_t highest = 0;
  for (const BaseSegment& segment : requests.segments) {
    const std::uint64_t from =
        segment.place.expandable ? segment.place.reservation : segment.place.address;
    lowest = std::min(lowest, from);
    highest = std::max(highest, segment.place.address + static_cast<std::uint64_t>(segment.size));
  }
  constexpr std::uint64_t kReservation = std::uint64_t{9} << 38U;
  return options.addresses == Addresses::kFalling ? lowest : highest + kReservation;
}

}  // namespace

DriverModel MakeDriver(const Requests& requests, const RunOptions& options) {
  DriverModel driver;
  driver.limit = options.limit;
  driver.addresses = options.addresses;
  driver.next = FirstAddress(requests, options);
  if (options.total || options.limit != kNoLimit) {
    constexpr std::int64_t kMaxTotal = std::int64_t{1} << 56U;
    driver.total = std::min(options.total.value_or(options.limit), kMaxTotal);
  }
  return driver;
}

}  // namespace memtool::whatif
