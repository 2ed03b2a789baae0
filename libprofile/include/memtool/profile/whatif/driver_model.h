// What stands below the allocator: how much memory a process may get, and at which addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace memtool::whatif {

inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// New segments get falling addresses from the driver; the other way round shows how much of a
// figure is luck of the placement.
enum class Addresses : std::uint8_t { kFalling, kRising };

struct AddressedSize {
  std::uint64_t address = 0;
  std::int64_t size = 0;
};

// The driver's recorded behaviour during one request, which no model can predict: the addresses of
// new segments, and whether it refused one after granting `granted`.
struct DriverReport {
  std::vector<AddressedSize> segments;
  std::size_t granted = 0;
  bool refused = false;
  std::int64_t given_back = 0;  // bytes, before the driver was asked for the last time
  bool failed = false;  // refused again after `granted_then` more segments: the request failed
  std::size_t granted_then = 0;
  bool limit_decides = false;  // use only the addresses
};

struct DriverModel {
  std::int64_t limit = kNoLimit;  // bytes that this process may get
  // Of the card: expandable segments reserve addresses for 9/8 of it, fractions are of it.
  std::int64_t total = std::int64_t{1} << 40U;
  Addresses addresses = Addresses::kFalling;
  // Where invented addresses begin, to be set below or above everything that is there already.
  std::uint64_t next = std::uint64_t{1} << 62U;

  // For one request; empty = the limit alone decides.
  DriverReport report;
  bool knows = false;  // `report` belongs to the current request

  void SetReport(DriverReport about) {
    report = std::move(about);
    knows = true;
    used = grants = 0;
    was_refused = false;
  }
  void Forget() { knows = false; }

  struct DriverRequest {
    std::int64_t bytes = 0;
    std::int64_t reserved = 0;    // what the process has
    std::int64_t given_back = 0;  // what it gave back during this request,
    bool all_given_back = false;  // and that this is all it could
  };
  bool Grants(const DriverRequest& request);
  // Where `bytes` of new address range begin, of which `mapped` are used at once.
  std::uint64_t AddressFor(std::int64_t bytes, std::int64_t mapped);

  // Progress within `report`.
  std::size_t used = 0;  // of report.segments
  std::size_t grants = 0;
  bool was_refused = false;
};

}  // namespace memtool::whatif
