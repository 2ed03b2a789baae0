#include "memtool/profile/whatif/driver_model.h"

#include <algorithm>

namespace memtool::whatif {

bool DriverModel::Grants(const Ask& ask) {
  if (!knows || told.limit_decides) {
    return ask.bytes <= limit && ask.reserved <= limit - ask.bytes;
  }
  if (!told.refused) {
    return true;
  }
  if (!was_refused) {
    was_refused = grants >= told.granted;
    grants = was_refused ? 0 : grants + 1;
    return !was_refused;
  }
  // Giving back a part of what the file shows did not help yet.
  const bool early = !ask.all_given_back && ask.given_back < told.given_back;
  if (early || (told.failed && grants >= told.granted_then)) {
    return false;
  }
  ++grants;
  return true;
}

std::uint64_t DriverModel::AddressFor(std::int64_t bytes, std::int64_t mapped) {
  if (knows) {
    const auto from = told.segments.begin() + static_cast<std::ptrdiff_t>(used);
    const auto same = std::find_if(from, told.segments.end(), [mapped](const AddressedSize& one) {
      return one.size == mapped;
    });
    if (same != told.segments.end()) {
      used = static_cast<std::size_t>(same - told.segments.begin()) + 1;
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
