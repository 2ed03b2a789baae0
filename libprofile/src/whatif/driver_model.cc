#include "memtool/profile/whatif/driver_model.h"

#include <algorithm>

namespace memtool::whatif {

bool DriverModel::Grants(const DriverRequest& request) {
  if (!knows || report.limit_decides) {
    return request.bytes <= limit && request.reserved <= limit - request.bytes;
  }
  if (!report.refused) {
    return true;
  }
  if (!was_refused) {
    was_refused = grants >= report.granted;
    grants = was_refused ? 0 : grants + 1;
    return !was_refused;
  }
  // Giving back a part of what the file shows did not help yet.
  const bool early = !request.all_given_back && request.given_back < report.given_back;
  if (early || (report.failed && grants >= report.granted_then)) {
    return false;
  }
  ++grants;
  return true;
}

std::uint64_t DriverModel::AddressFor(std::int64_t bytes, std::int64_t mapped) {
  if (knows) {
    const auto from = report.segments.begin() + static_cast<std::ptrdiff_t>(used);
    const auto same = std::find_if(from, report.segments.end(), [mapped](const AddressedSize& one) {
      return one.size == mapped;
    });
    if (same != report.segments.end()) {
      used = static_cast<std::size_t>(same - report.segments.begin()) + 1;
      return same->address;
    }
  }
  const auto size = static_cast<std::uint64_t>(bytes);
  if (addresses == Addresses::kFalling) {
    next -= std::min(next, size);
    return next;
  }
  const std::uint64_t address = next;
  next += std::min(UINT64_MAX - next, size);
  return address;
}

}  // namespace memtool::whatif
