#include "common/container_sums.h"

#include <xxhash.h>

#include <algorithm>

#include "memtool_file/layout.h"
#include "support/byte_cursor.h"

namespace memtool::fuzz {

namespace {

using formats::ByteCursor;
using namespace formats::memtool_file;  // NOLINT(google-build-using-namespace): its constants

void Store(std::span<std::byte> to, std::uint64_t value) {
  for (std::byte& byte : to) {
    byte = static_cast<std::byte>(value);
    value >>= 8U;
  }
}

}  // namespace

std::vector<std::byte> WithGoodSums(std::span<const std::byte> bytes) {
  std::vector<std::byte> repaired(bytes.begin(), bytes.end());
  const std::span<std::byte> all(repaired);
  if (all.size() < kHeaderBytes) {
    return repaired;
  }
  constexpr std::size_t kSum = 4;
  const auto header = all.first(kHeaderBytes - kSum);
  Store(all.subspan(header.size(), kSum), XXH3_64bits(header.data(), header.size()));
  std::size_t at = kHeaderBytes;
  while (all.size() - at >= kSectionHeaderBytes + kChecksumBytes) {
    ByteCursor cursor(all.subspan(at, kSectionHeaderBytes), at);
    cursor.Skip(kSectionHeaderBytes - sizeof(std::uint64_t));
    const std::uint64_t size = cursor.Fixed64();
    if (size > all.size() - at - kSectionHeaderBytes - kChecksumBytes) {
      break;
    }
    const auto section = all.subspan(at, kSectionHeaderBytes + static_cast<std::size_t>(size));
    at += section.size();
    Store(all.subspan(at, kChecksumBytes), XXH3_64bits(section.data(), section.size()));
    at += kChecksumBytes;
  }
  return repaired;
}

}  // namespace memtool::fuzz
