// Text without blanks at its ends.
#pragma once

#include <cstddef>
#include <string_view>

namespace memtool::formats {

inline constexpr std::string_view kBlanks = " \t\r\v\f";

// What is left lies in `text`, also where it is empty: its place can be distinguished from it.
inline std::string_view Trimmed(std::string_view text, std::string_view blanks = kBlanks) {
  const std::size_t first = text.find_first_not_of(blanks);
  return first == std::string_view::npos
             ? text.substr(text.size())
             : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace memtool::formats
