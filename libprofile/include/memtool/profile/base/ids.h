// Typed 32-bit row numbers of a Recording's tables. A default id is "none".
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace memtool {

template <class Tag>
class Id {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t value) : value_(value) {}
  constexpr explicit Id(std::size_t value) : value_(static_cast<std::uint32_t>(value)) {}

  [[nodiscard]] constexpr std::uint32_t value() const { return value_; }
  [[nodiscard]] constexpr bool valid() const { return value_ != kNone; }
  friend constexpr auto operator<=>(Id,
                                    Id) = default;  // NOLINT(modernize-use-nullptr): false alarm

 private:
  std::uint32_t value_ = kNone;
};

using StringId = Id<struct StringTag>;      // row 0 is the empty string
using MappingId = Id<struct MappingTag>;    // a loaded binary
using FunctionId = Id<struct FunctionTag>;  // a code object: name, file, start line
using LineId = Id<struct LineTag>;          // one frame: function and line
using LocationId = Id<struct LocationTag>;  // an address: 1..n lines when code was inlined
using StackId = Id<struct StackTag>;        // locations, innermost first
using LabelSetId = Id<struct LabelSetTag>;  // row 0 is the empty set

}  // namespace memtool
