// Values of a Recording as 64-bit words, which is what columns hold.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "memtool/profile/model/recording.h"

namespace memtool::formats::memtool_file {

// How many rows there are that an id may name.
struct Known {
  std::uint64_t strings = 1;
  std::uint64_t mappings = 0;
  std::uint64_t functions = 0;
  std::uint64_t locations = 0;
  std::uint64_t stacks = 0;
  // By row of the file: equal sets of labels become one.
  std::vector<LabelSetId> label_sets{LabelSetId(0U)};
};

inline std::uint64_t RowsFor(const Known& known, StringId /*id*/) {
  return known.strings;
}
inline std::uint64_t RowsFor(const Known& known, MappingId /*id*/) {
  return known.mappings;
}
inline std::uint64_t RowsFor(const Known& known, FunctionId /*id*/) {
  return known.functions;
}
inline std::uint64_t RowsFor(const Known& known, LocationId /*id*/) {
  return known.locations;
}
inline std::uint64_t RowsFor(const Known& known, StackId /*id*/) {
  return known.stacks;
}
inline std::uint64_t RowsFor(const Known& known, LabelSetId /*id*/) {
  return known.label_sets.size();
}
// An event names its domain with one byte. What is there is known when all have been read.
inline std::uint64_t RowsFor(const Known& /*known*/, DomainId /*id*/) {
  return std::numeric_limits<std::uint8_t>::max();
}

constexpr std::uint64_t GetLast(Framework /*type*/) {
  return static_cast<std::uint64_t>(Framework::kRapids);
}
constexpr std::uint64_t GetLast(RecordingKind /*type*/) {
  return static_cast<std::uint64_t>(RecordingKind::kLog);
}
constexpr std::uint64_t GetLast(Role /*type*/) {
  return static_cast<std::uint64_t>(Role::kRequestedBytes);
}
constexpr std::uint64_t GetLast(Clock /*type*/) {
  return static_cast<std::uint64_t>(Clock::kRelative);
}
constexpr std::uint64_t GetLast(Severity /*type*/) {
  return static_cast<std::uint64_t>(Severity::kDamage);
}
constexpr std::uint64_t GetLast(CounterKind /*type*/) {
  return static_cast<std::uint64_t>(CounterKind::kDeviceFreeLowest);
}
constexpr std::uint64_t GetLast(DomainKind /*type*/) {
  return static_cast<std::uint64_t>(DomainKind::kCpu);
}
constexpr std::uint64_t GetLast(DomainLevel /*type*/) {
  return static_cast<std::uint64_t>(DomainLevel::kUser);
}
constexpr std::uint64_t GetLast(BlockState /*type*/) {
  return static_cast<std::uint64_t>(BlockState::kInactive);
}

constexpr std::uint64_t GetLast(StatementKind /*type*/) {
  return static_cast<std::uint64_t>(StatementKind::kSum);
}

template <class T>
struct IsId : std::false_type {};
template <class Tag>
struct IsId<Id<Tag>> : std::true_type {};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

// Ids are one more than the row that they name, and 0 for none; negative numbers are those of 64
// bits.
template <class T>
constexpr std::uint64_t ToWord(T value) {
  if constexpr (IsId<T>::value) {
    return value.valid() ? std::uint64_t{value.value()} + 1 : 0;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  } else {
    return static_cast<std::uint64_t>(value);
  }
}

// False when `word` is no value of the type, or names a row that is not there.
template <class T>
bool FromWord(std::uint64_t word, const Known& known, T& value) {
  if constexpr (IsId<T>::value) {
    if (word > RowsFor(known, T())) {
      return false;
    }
    value = word == 0 ? T() : T(static_cast<std::uint32_t>(word - 1));
    if constexpr (std::is_same_v<T, LabelSetId>) {
      value = word == 0 ? T() : known.label_sets[word - 1];
    }
    return true;
  } else if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(word);
    return word <= GetLast(T());
  } else if constexpr (std::is_same_v<T, bool>) {
    value = word != 0;
    return word <= 1;
  } else {
    value = static_cast<T>(word);
    return ToWord(value) == word;
  }
}

}  // namespace memtool::formats::memtool_file
