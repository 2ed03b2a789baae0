#include "memtool/profile/base/natural_order.h"

#include <algorithm>
#include <utility>

#include "memtool/profile/base/numbers.h"

namespace memtool {

namespace {

// Consumes the digits at the front of `text`; returns them without leading zeros.
std::string_view TakeNumber(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && IsDigit(text[end])) {
    ++end;
  }
  std::string_view number = text.substr(0, end);
  text.remove_prefix(end);
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

}  // namespace

bool NaturalLess(std::string_view a, std::string_view b) {
  const std::pair whole(a, b);
  while (!a.empty() && !b.empty()) {
    if (IsDigit(a.front()) && IsDigit(b.front())) {
      const std::string_view x = TakeNumber(a);
      const std::string_view y = TakeNumber(b);
      if (x != y) {
        return std::pair(x.size(), x) < std::pair(y.size(), y);
      }
      continue;
    }
    if (a.front() != b.front()) {
      return static_cast<unsigned char>(a.front()) < static_cast<unsigned char>(b.front());
    }
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  if (a.empty() != b.empty()) {
    return a.empty();
  }
  return whole.first < whole.second;  // "memory01" and "memory1"
}

}  // namespace memtool
