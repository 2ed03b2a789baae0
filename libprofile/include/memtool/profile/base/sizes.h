// Sizes as people write and read them. Read: K, M, G, T, P with or without B or iB are powers of
// 1024, because nvidia-smi, pprof and the frameworks mean that. Written: B, KiB, MiB, GiB, TiB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "memtool/profile/base/result.h"

namespace memtool {

enum class SizeBase : std::uint16_t { kBinary = 1024, kSi = 1000 };

// "11GB", "1.5 GiB", "4096". Errors: kUsage for anything else, and for sizes that are negative or
// above 2^63-1.
// With kSi, units without "i" are powers of 1000.
Result<std::int64_t> ParseSize(std::string_view text, SizeBase base = SizeBase::kBinary);

enum class SizeUnit : std::uint8_t { kAuto, kB, kKiB, kMiB, kGiB, kTiB };

// Errors: kUsage for an unknown unit name.
Result<SizeUnit> ParseSizeUnit(std::string_view text);
// The unit that shows `bytes` with one to four digits before the point, TiB being the largest.
SizeUnit UnitFor(std::int64_t bytes);
// "76.30 MiB", "512 B". `sign`: also write "+".
std::string FormatSize(std::int64_t bytes, SizeUnit unit = SizeUnit::kAuto, bool sign = false);
// The word for a figure that nobody knows.
inline constexpr std::string_view kUnknownWord = "unknown";
// FormatSize, or kUnknownWord for a total that was clamped (IsClamped).
std::string FormatTotal(std::int64_t bytes);
// 1234567 → "1,234,567".
std::string FormatCount(std::int64_t count, bool sign = false);

}  // namespace memtool
