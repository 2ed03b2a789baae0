#include "documents/ground_truth/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "memtool/profile/base/numbers.h"
#include "memtool/profile/base/sizes.h"
#include "support/read_error.h"

namespace memtool::formats::device_report {

namespace {

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool SaysUnknown(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kWords = {"N/A", "NaN",  "Not Supported",
                                                             "-",   "null", "None"};
  return (text.size() > 2 && text.front() == '[' && text.back() == ']') ||
         std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return EqualFolded(word, text); });
}

// NVML and DCGM write "not available" as numbers at the end of the range; no device holds
// exbibytes.
bool IsBlankNumber(std::string_view text) {
  const auto digits = text.substr(0, text.find_first_not_of("0123456789"));
  std::uint64_t value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return !digits.empty() &&
         (read.ec == std::errc::result_out_of_range || value >= 0x7FFFFFFFFFFFFFF0ULL);
}

}  // namespace

void Refuse(Place place, std::string message, std::string hint) {
  throw ReadError(Error{.code = ErrorCode::kMalformed,
                        .input = {},
                        .field = fmt::format("line {}, column {}", place.line, place.column),
                        .message = std::move(message),
                        .hint = std::move(hint)});
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const auto end = text.find(separator, begin);
    parts.push_back(Trimmed(text.substr(begin, end - begin)));
    if (end == std::string_view::npos) {
      return parts;
    }
    begin = end + 1;
  }
}

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const auto end = std::min(text.find_first_of(kBlanks, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::vector<Line> SplitLines(std::string_view text) {
  std::vector<Line> lines;
  std::size_t number = 1;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const auto end = std::min(text.find('\n', begin), text.size());
    const auto line = text.substr(begin, end - begin);
    if (!Trimmed(line).empty()) {
      lines.push_back({line, number});
    }
    begin = end + 1;
  }
  return lines;
}

bool EqualFolded(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

Place GetPlace(const Line& line, std::string_view part) {
  const auto inside =
      part.data() >= line.text.data() && part.data() <= line.text.data() + line.text.size();
  return {line.number, inside ? static_cast<std::size_t>(part.data() - line.text.data()) + 1 : 1};
}

std::optional<std::int64_t> WholeNumber(std::string_view text) {
  const auto value = ParseNumber<std::int64_t>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

Amount ReadAmount(std::string_view text, std::string_view unit, Place place) {
  text = Trimmed(text);
  if (SaysUnknown(text)) {
    return {std::nullopt, std::string(text)};
  }
  if (IsBlankNumber(text)) {
    return {std::nullopt, fmt::format("{} (a blank value)", text)};
  }
  const bool bare = !text.empty() && text.find_first_not_of("0123456789.eE+") == text.npos;
  auto size = ParseSize(bare ? fmt::format("{}{}", text, unit) : std::string(text));
  if (!size) {
    Refuse(place, fmt::format("'{}' is not an amount of memory", text.substr(0, 60)),
           size.error().message);
  }
  return {*size, {}};
}

void SetUsed(DeviceReading& reading, Amount amount, std::int64_t precision) {
  reading.used = amount.bytes;
  reading.unavailable = std::move(amount.unavailable);
  reading.precision = precision;
}

}  // namespace memtool::formats::device_report
