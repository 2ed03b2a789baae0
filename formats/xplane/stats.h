// Figures and texts of events and planes (XStat), whichever way they were encoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>

#include "support/byte_cursor.h"

namespace memtool::formats::xplane {

struct Stat {
  std::uint32_t name = 0;  // key of Plane::stat_names
  enum class Kind : std::uint8_t { kNone, kInteger, kReal, kText, kBytes, kReference } kind{};
  std::int64_t integer = 0;  // also the bits of unsigned values; a reference's key of stat_names
  double real = 0;
  std::span<const std::byte> bytes;  // of texts
};

// What a stat of an event says, by its name; those of spans come last.
enum class StatKey : std::uint8_t {
  kNone,
  kAllocator,
  kReserved,
  kAllocated,
  kAvailable,
  kPeak,
  kRequested,
  kBytes,
  kAddress,
  kOp,
  kRegion,
  kDataType,
  kShape,
  kDevice,
  kStep,
  kProducer,
  kProducerType,
  kConsumer,
  kConsumerType,
};
StatKey ToStatKey(std::string_view name);
inline bool IsOfSpans(StatKey key) {
  return key >= StatKey::kStep;
}

struct KeyedStat {
  StatKey key{};
  Stat stat;
};

// Ids are small numbers in practice; 0 is none.
inline std::optional<std::uint32_t> GetKey(std::uint64_t id) {
  return id <= std::numeric_limits<std::uint32_t>::max()
             ? std::optional(static_cast<std::uint32_t>(id))
             : std::nullopt;
}

// Throws ReadError.
Stat ReadStat(ByteCursor cursor);

// The figure of a stat; texts that hold a figure count, because the profiler guesses types.
std::optional<std::int64_t> MakeFigure(const Stat& stat);

}  // namespace memtool::formats::xplane
