#include "mxnet/forms.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/numbers.h"

namespace memtool::formats::mxnet {

namespace {

constexpr std::string_view kAllocate = "Allocate ";
constexpr std::string_view kGpuMemory = " GPU memory (";
constexpr std::string_view kUnknownTag = "with unknown ";
constexpr std::string_view kBacktrace = "[bt] (";
constexpr double kNoSizeMib = 8796093022208.0;  // 2^63 bytes

bool HasLetter(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '<';
  });
}

// Every complete line is a row, and there is one.
bool AreBareRows(std::string_view head) {
  bool any = false;
  while (!head.empty()) {
    const std::size_t end = head.find('\n');
    if (end == std::string_view::npos && any) {
      return true;  // cut off here, or the file's last line has no end
    }
    std::string_view line = head.substr(0, end);
    head.remove_prefix(end == std::string_view::npos ? head.size() : end + 1);
    if (!line.empty() && line.back() == '\r') {
      line.remove_suffix(1);
    }
    if (line.empty()) {
      continue;
    }
    const auto row = ParseBareRow(line);
    if (!row || !HasLetter(row->tag)) {
      return false;
    }
    any = true;
  }
  return any;
}

}  // namespace

std::optional<double> ParseFinite(std::string_view text) {
  const auto number = ParseNumber<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<Form> GetForm(std::string_view head) {
  const std::string_view first = head.substr(0, head.find('\n'));
  if (first.find("Attribute Name") != std::string_view::npos &&
      first.find("Reuse?") != std::string_view::npos) {
    return first.find("Data Struct") != std::string_view::npos ? Form::kScoped : Form::kOfficial;
  }
  if (head.find("[mem] Allocate ") != std::string_view::npos &&
      head.find(kGpuMemory) != std::string_view::npos) {
    return Form::kTbdLog;
  }
  if (head.find("Allocating ") != std::string_view::npos &&
      (head.find("with unknown memory tag") != std::string_view::npos ||
       head.find("with unknown Memory Tag") != std::string_view::npos)) {
    return Form::kUnknownTags;
  }
  if (AreBareRows(head)) {
    return Form::kBare;
  }
  return std::nullopt;
}

std::optional<BareRow> ParseBareRow(std::string_view line) {
  const std::size_t comma = line.rfind(',');
  if (comma == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view digits = line.substr(comma + 1);
  const auto number = ParseFinite(digits);
  const auto whole = ParseNumber<std::int64_t>(digits);
  const bool only_digits = digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!number || *number < 0 || (only_digits && !whole) || (!whole && *number >= kNoSizeMib)) {
    return std::nullopt;
  }
  return BareRow{.tag = line.substr(0, comma), .number = *number, .whole = whole};
}

std::optional<AllocateLine> ParseAllocateLine(std::string_view line) {
  const std::size_t at = line.find(kAllocate);
  const std::size_t memory = line.find(kGpuMemory);
  if (at == std::string_view::npos || memory == std::string_view::npos || memory < at) {
    return std::nullopt;
  }
  const std::string_view amount =
      line.substr(at + kAllocate.size(), memory - at - kAllocate.size());
  const std::size_t space = amount.find(' ');
  if (space == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view unit = amount.substr(space + 1);
  std::string_view tag = line.substr(memory + kGpuMemory.size());
  const std::size_t close = tag.rfind(')');
  if (close == std::string_view::npos) {
    return std::nullopt;
  }
  tag = tag.substr(0, close);
  if (unit == "bytes") {
    const auto bytes = ParseNumber<std::int64_t>(amount.substr(0, space));
    return bytes && *bytes >= 0 ? std::optional(AllocateLine{.tag = tag, .bytes = *bytes})
                                : std::nullopt;
  }
  const auto mebibytes = ParseFinite(amount.substr(0, space));
  if (unit != "MB" || !mebibytes || *mebibytes < 0 || *mebibytes >= kNoSizeMib) {
    return std::nullopt;
  }
  return AllocateLine{.tag = tag, .bytes = Scaled(1, std::round(*mebibytes * 1048576.0))};
}

std::optional<UnknownTagLine> ParseUnknownTagLine(std::string_view line) {
  constexpr std::string_view kAllocating = "Allocating ";
  const std::size_t at = line.find(kAllocating);
  const std::size_t with = line.find(kUnknownTag);
  if (at == std::string_view::npos || with == std::string_view::npos || with < at) {
    return std::nullopt;
  }
  std::string_view amount = line.substr(at + kAllocating.size(), with - at - kAllocating.size());
  amount = amount.substr(0, amount.find(' '));
  const auto mebibytes = ParseFinite(amount);
  std::string_view tag = line.substr(with + kUnknownTag.size());
  const bool echo = tag.starts_with("Memory Tag");
  constexpr std::size_t kWordsBefore = std::string_view("memory tag ").size();
  if (!mebibytes || *mebibytes < 0 || *mebibytes >= kNoSizeMib ||
      (!echo && !tag.starts_with("memory tag"))) {
    return std::nullopt;
  }
  tag = tag.size() > kWordsBefore ? tag.substr(kWordsBefore) : std::string_view{};
  if (echo && tag.ends_with('.')) {
    tag.remove_suffix(1);
  }
  return UnknownTagLine{.tag = tag, .mebibytes = *mebibytes, .stack_before = echo};
}

std::optional<BacktraceLine> ParseBacktraceLine(std::string_view line) {
  const std::size_t at = line.find(kBacktrace);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t number_end = line.find(") ", at + kBacktrace.size());
  if (number_end == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view rest = line.substr(number_end + 2);
  rest = rest.substr(0, rest.rfind(" ["));  // the address
  const std::size_t open = rest.find('(');
  if (open == std::string_view::npos || rest.back() != ')') {
    return BacktraceLine{.function = rest, .library = {}};
  }
  std::string_view function = rest.substr(open + 1, rest.size() - open - 2);
  const std::size_t plus = function.rfind("+0x");
  function = function.substr(0, plus);
  return BacktraceLine{.function = function, .library = rest.substr(0, open)};
}

}  // namespace memtool::formats::mxnet
