// Small sums that the answers about out-of-memory cases share.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "memtool/profile/account/account.h"
#include "memtool/profile/base/arithmetic.h"

namespace memtool {

// 0 where the input does not say.
inline std::int64_t GetBytes(const std::optional<Quantity>& quantity) {
  return quantity ? quantity->bytes : 0;
}

// 0 of nothing.
inline double Share(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? Ratio(part, whole) : 0.0;
}

// None of nothing, and where the part is larger than the whole: they contradict each other.
inline std::optional<double> Fraction(std::int64_t part, std::int64_t whole) {
  return whole > 0 && part <= whole ? std::optional(Ratio(part, whole)) : std::nullopt;
}

// The stable name of a code; empty where it has none.
template <class Code, std::size_t kCount>
std::string_view NameIn(const std::array<std::pair<Code, std::string_view>, kCount>& names,
                        Code code) {
  const auto* const at = std::find_if(names.begin(), names.end(),
                                      [code](const auto& each) { return each.first == code; });
  return at == names.end() ? std::string_view{} : at->second;
}

}  // namespace memtool
