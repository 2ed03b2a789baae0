// Numbers in text, as std::from_chars reads them: no plus, no blanks, no locale.
#pragma once

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace memtool {

// Cuts the number off the front of `text`; false, and nothing is cut, where there is no number or
// one that the type does not hold.
template <class Number>
bool CutNumber(std::string_view& text, Number& number, [[maybe_unused]] int base = 10) {
  const char* const end = text.data() + text.size();
  std::from_chars_result read{};
  if constexpr (std::is_integral_v<Number>) {
    read = std::from_chars(text.data(), end, number, base);
  } else {
    read = std::from_chars(text.data(), end, number);
  }
  if (read.ec != std::errc{}) {
    return false;
  }
  text.remove_prefix(static_cast<std::size_t>(read.ptr - text.data()));
  return true;
}

// The same; none where it is false.
template <class Number>
std::optional<Number> TakeNumber(std::string_view& text, int base = 10) {
  Number number{};
  return CutNumber(text, number, base) ? std::optional<Number>(number) : std::nullopt;
}

// The number that the whole text is. The optional is made last: a copy of one loads value and flag
// at once right after they were stored apart, which no processor can forward.
template <class Number>
std::optional<Number> ParseNumber(std::string_view text, int base = 10) {
  Number number{};
  const bool whole = CutNumber(text, number, base) && text.empty();
  return whole ? std::optional<Number>(number) : std::nullopt;
}

inline bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace memtool
