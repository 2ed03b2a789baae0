#include "ascend/memscope_rows.h"

#include <algorithm>

#include "memtool/profile/base/numbers.h"

namespace memtool::formats::ascend {

namespace {

// Without braces, quotes and blanks around it.
std::string_view Bare(std::string_view text) {
  constexpr std::string_view kAround = " \t{}\"";
  const std::size_t first = text.find_first_not_of(kAround);
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(kAround) + 1 - first);
}

}  // namespace

std::string_view FindAttribute(std::string_view attributes, std::string_view key) {
  while (!attributes.empty()) {
    const std::size_t end = std::min(attributes.find(','), attributes.size());
    const std::string_view one = attributes.substr(0, end);
    attributes.remove_prefix(std::min(end + 1, attributes.size()));
    const std::size_t colon = one.find(':');
    if (colon != std::string_view::npos && Bare(one.substr(0, colon)) == key) {
      return Bare(one.substr(colon + 1));
    }
  }
  return {};
}

std::optional<std::uint64_t> ParsePointer(std::string_view text) {
  constexpr int kHex = 16;
  return text.starts_with("0x") ? ParseNumber<std::uint64_t>(text.substr(2), kHex)
                                : ParseNumber<std::uint64_t>(text);
}

std::optional<std::int64_t> ParseMemscopeTime(std::string_view text) {
  constexpr std::int64_t kLastMicrosecond = 100'000'000'000'000'000;  // as ns, in 1973
  constexpr std::int64_t kNanos = 1000;
  const auto time = ParseNumber<std::int64_t>(text);
  if (!time || *time < 0) {
    return std::nullopt;
  }
  constexpr std::int64_t kLastThatFits = INT64_MAX / kNanos;
  return *time < std::min(kLastMicrosecond, kLastThatFits) ? *time * kNanos : *time;
}

}  // namespace memtool::formats::ascend
