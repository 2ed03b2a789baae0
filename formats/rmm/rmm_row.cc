#include "rmm/rmm_row.h"

#include <algorithm>
#include <array>
#include <utility>

#include "memtool/profile/base/numbers.h"

namespace memtool::formats::rmm {

namespace {

constexpr std::array<std::pair<std::string_view, RmmAction>, 3> kActions{
    {{"allocate", RmmAction::kAllocate},
     {"allocate failure", RmmAction::kFailure},
     {"free", RmmAction::kFree}}};

// Cuts the next field off; false when nothing is left of the line.
bool TakeField(std::string_view& line, std::string_view& field) {
  if (line.data() == nullptr) {
    return false;
  }
  const std::size_t comma = line.find(',');
  field = line.substr(0, comma);
  line = comma == std::string_view::npos ? std::string_view() : line.substr(comma + 1);
  return true;
}

// Two digits and what follows them.
std::optional<std::int64_t> TakePart(std::string_view& text, std::int64_t most) {
  if (text.size() < 2 || !IsDigit(text[0]) || !IsDigit(text[1])) {
    return std::nullopt;
  }
  const std::int64_t value = (text[0] - '0') * 10 + (text[1] - '0');
  text.remove_prefix(2);
  return value <= most ? std::optional(value) : std::nullopt;
}

// "14:21:19.998533" or "14:21:19:998533" in nanoseconds.
std::optional<std::int64_t> ParseTimeOfDay(std::string_view text) {
  constexpr std::size_t kDigits = 9;
  std::int64_t seconds = 0;
  for (const std::int64_t most : {23, 59, 60}) {
    if (most != 23) {
      if (!text.starts_with(':')) {
        return std::nullopt;
      }
      text.remove_prefix(1);
    }
    const auto part = TakePart(text, most);
    if (!part) {
      return std::nullopt;
    }
    seconds = seconds * 60 + *part;
  }
  std::int64_t nanos = 0;
  if (!text.empty()) {
    const std::string_view digits = text.substr(1);
    if ((text[0] != '.' && text[0] != ':') || digits.empty() || digits.size() > kDigits ||
        !std::all_of(digits.begin(), digits.end(), IsDigit)) {
      return std::nullopt;
    }
    nanos = ParseNumber<std::int64_t>(digits).value_or(0);
    for (std::size_t i = digits.size(); i < kDigits; ++i) {
      nanos *= 10;
    }
  }
  return seconds * 1'000'000'000 + nanos;
}

// As printf's %p and as numbers are written: "0x7f10", "(nil)", "2".
std::optional<std::uint64_t> ParsePointer(std::string_view text) {
  if (text == "(nil)") {
    return 0;
  }
  return text.starts_with("0x") ? ParseNumber<std::uint64_t>(text.substr(2), 16)
                                : ParseNumber<std::uint64_t>(text);
}

// The fields up to the action.
bool TakeBegin(std::string_view& line, RmmRow& row) {
  std::string_view thread;
  std::string_view time;
  std::string_view action;
  if (!TakeField(line, thread) || !TakeField(line, time) || !TakeField(line, action)) {
    return false;
  }
  const auto number = ParseNumber<std::uint64_t>(thread);
  const auto of_day = ParseTimeOfDay(time);
  const auto* known = std::find_if(kActions.begin(), kActions.end(),
                                   [action](const auto& word) { return word.first == action; });
  if (!number || !of_day || known == kActions.end()) {
    return false;
  }
  row.thread = *number;
  row.time = *of_day;
  row.action = known->second;
  return true;
}

}  // namespace

std::optional<RmmRow> ParseRow(std::string_view line) {
  RmmRow row;
  std::string_view pointer;
  std::string_view size;
  std::string_view stream;
  if (!TakeBegin(line, row) || !TakeField(line, pointer) || !TakeField(line, size) ||
      !TakeField(line, stream) || line.data() != nullptr) {
    return std::nullopt;
  }
  const auto address = ParsePointer(pointer);
  const auto bytes = ParseNumber<std::int64_t>(size);
  const auto handle = ParsePointer(stream);
  if (!address || !bytes || *bytes < 0 || !handle) {
    return std::nullopt;
  }
  row.pointer = *address;
  row.size = *bytes;
  row.stream = *handle;
  return row;
}

bool BeginsAsRow(std::string_view line) {
  RmmRow row;
  return TakeBegin(line, row);
}

}  // namespace memtool::formats::rmm
