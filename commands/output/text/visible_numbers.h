// Lines of numbers, of which there may be millions.
#pragma once

#include <fmt/compile.h>
#include <fmt/format.h>

#include <iterator>
#include <type_traits>

#include "output/text/visible_text.h"

namespace memtool::commands {

// `format`: FMT_COMPILE("…"); the digits of numbers need no escapes.
template <class Format, class... Numbers>
void AppendNumbers(VisibleText& text, const Format& format, Numbers... numbers) {
  static_assert((std::is_arithmetic_v<Numbers> && ...));
  // Not into the text itself, whose new bytes would be zeroed before they are written.
  fmt::memory_buffer digits;
  fmt::format_to(std::back_inserter(digits), format, numbers...);
  text.text_.append(digits.data(), digits.size());
}

}  // namespace memtool::commands
