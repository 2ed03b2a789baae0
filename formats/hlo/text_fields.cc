#include "hlo/text_fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "memtool/profile/base/numbers.h"

namespace memtool::formats::hlo {

std::optional<std::int64_t> TakeNumber(std::string_view& text) {
  return text.starts_with('-') ? std::nullopt : memtool::TakeNumber<std::int64_t>(text);
}

bool SkipPast(std::string_view& text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  text.remove_prefix(at == std::string_view::npos ? 0 : at + mark.size());
  return at != std::string_view::npos;
}

std::optional<Rounded> TakeSize(std::string_view& text) {
  constexpr std::array<std::string_view, 7> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::size_t point = text.substr(0, digits).find('.');
  std::string_view whole = text;
  const auto exact = TakeNumber(whole);
  if (!exact) {
    return std::nullopt;
  }
  const auto parsed = ParseNumber<double>(text.substr(0, digits));
  if (!parsed) {
    return std::nullopt;
  }
  text.remove_prefix(digits);
  double scale = 1;
  for (const std::string_view unit : kUnits) {
    if (text.starts_with(unit)) {
      text.remove_prefix(unit.size());
      break;
    }
    scale *= unit == kUnits.back() ? 0 : 1024;
  }
  if (scale == 0 || scale == 1) {  // a number alone is bytes
    return point == std::string_view::npos ? std::optional(Rounded{*exact, 0}) : std::nullopt;
  }
  constexpr double kMax = 4.6e18;  // 2^62
  const std::size_t decimals = point == std::string_view::npos ? 0 : digits - point - 1;
  const double value = *parsed * scale;
  if (!(value < kMax)) {
    return std::nullopt;
  }
  // Of MiB and above, XLA divides whole numbers by 1024 until KiB, MiB, ... are left.
  const double dropped = scale > 1024 ? scale / 1024 : 0;
  return Rounded{static_cast<std::int64_t>(std::llround(value)),
                 static_cast<std::int64_t>(std::ceil(
                     dropped + scale / std::pow(10.0, static_cast<double>(decimals)) / 2))};
}

ShapeFacts MakeFacts(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']');
  if (text.starts_with('(') || open == std::string_view::npos || close == std::string_view::npos ||
      close < open) {
    return {
        .text = std::string(text), .dtype = text.starts_with('(') ? "tuple" : "", .unpadded = {}};
  }
  std::string_view inside = text.substr(open + 1, close - open - 1);
  std::vector<std::int64_t> dimensions;
  while (!inside.empty()) {
    const auto dimension = TakeNumber(inside);
    if (!dimension || (!inside.empty() && inside.front() != ',')) {
      return {.text = std::string(text.substr(0, close + 1)), .dtype = {}, .unpadded = {}};
    }
    dimensions.push_back(*dimension);
    inside.remove_prefix(inside.empty() ? 0 : 1);
  }
  ShapeFacts facts = ArrayShape(ElementType(text.substr(0, open)), dimensions);
  if (facts.text.empty()) {
    facts.text = text.substr(0, close + 1);
  }
  return facts;
}

std::string Quoted(std::string_view text, std::string_view name) {
  std::string value;
  if (!SkipPast(text, name) || !text.starts_with('"')) {
    return value;
  }
  for (std::size_t i = 1; i < text.size() && text[i] != '"'; ++i) {
    i += text[i] == '\\' && i + 1 < text.size() ? 1U : 0U;
    value.push_back(text[i]);
  }
  return value;
}

}  // namespace memtool::formats::hlo
