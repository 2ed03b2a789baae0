#include "select/tag_matcher.h"

#include <fmt/format.h>

#include <limits>

#include "memtool/profile/base/result.h"
#include "memtool/profile/base/sizes.h"

namespace memtool {

namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

// A number with an optional size unit; nothing when the text is something else.
std::optional<std::int64_t> Number(std::string_view text, bool* has_unit) {
  if (text.empty() || (text[0] != '-' && (text[0] < '0' || text[0] > '9'))) {
    return std::nullopt;
  }
  const bool negative = text[0] == '-';
  const auto size = ParseSize(negative ? text.substr(1) : text);
  if (!size) {
    return std::nullopt;
  }
  *has_unit = *has_unit || text.back() < '0' || text.back() > '9';
  return negative ? -*size : *size;
}

}  // namespace

Result<std::unique_ptr<RE2>> CompileRegex(std::string_view option, const std::string& text) {
  if (text.empty()) {
    return nullptr;
  }
  auto regex = std::make_unique<RE2>(text, RE2::Quiet);
  if (!regex->ok()) {
    return Fail(ErrorCode::kUsage, fmt::format("{}: '{}' is not a regular expression: {}", option,
                                               text, regex->error()));
  }
  return regex;
}

std::optional<TagMatcher::Range> TagMatcher::ParseRange(std::string_view text) {
  Range range{.low = kLowest, .high = kHighest};
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    const auto value = Number(text, &range.is_bytes);
    if (!value) {
      return std::nullopt;
    }
    range.low = range.high = *value;
    return range;
  }
  const std::string_view low = text.substr(0, colon);
  const std::string_view high = text.substr(colon + 1);
  const auto low_value = low.empty() ? kLowest : Number(low, &range.is_bytes);
  const auto high_value = high.empty() ? kHighest : Number(high, &range.is_bytes);
  if ((low.empty() && high.empty()) || !low_value || !high_value) {
    return std::nullopt;
  }
  range.low = *low_value;
  range.high = *high_value;
  return range;
}

Result<TagMatcher> TagMatcher::Compile(std::string_view option, const std::string& text,
                                       const FilterRules& rules) {
  TagMatcher matcher;
  std::string_view value = text;
  const std::size_t equals = value.find('=');
  if (equals != std::string_view::npos) {
    matcher.key_ = value.substr(0, equals);
    value.remove_prefix(equals + 1);
  }
  if (rules.read_range) {
    matcher.test_ = rules.read_range(value);
    if (matcher.test_) {
      return matcher;
    }
  } else {
    matcher.range_ = ParseRange(value);
  }
  // A number also matches text labels that contain it, so that device=0 finds cuda:0.
  while (true) {
    const std::size_t comma = value.find(',');
    auto regex = CompileRegex(option, std::string(value.substr(0, comma)));
    MEMTOOL_TRY(regex);
    if (*regex == nullptr && rules.read_range) {
      *regex = std::make_unique<RE2>("");
    }
    if (*regex != nullptr) {
      matcher.regexes_.push_back(*std::move(regex));
    }
    if (comma == std::string_view::npos) {
      break;
    }
    value.remove_prefix(comma + 1);
  }
  return matcher;
}

bool TagMatcher::InRange(const Recording& recording, const Label& label) const {
  if (!label.numeric) {
    return false;
  }
  if (test_) {
    return test_(recording.Text(label.key), label.number);
  }
  if (!range_) {
    return false;
  }
  std::int64_t number = label.number;
  const std::string_view unit = recording.Text(label.unit);
  if (range_->is_bytes && !unit.empty()) {
    const auto scale = ParseSize("1" + std::string(unit));
    if (!scale || __builtin_mul_overflow(number, *scale, &number)) {
      return false;
    }
  }
  return number >= range_->low && number <= range_->high;
}

bool TagMatcher::Matches(const Recording& recording, LabelSetId labels) const {
  const auto set = recording.Labels(labels);
  const auto text_matches = [&](const Label& label, const RE2& regex) {
    const std::string_view value = recording.Text(label.text);
    if (!key_.empty()) {
      return RE2::PartialMatch(re2::StringPiece(value.data(), value.size()), regex);
    }
    const std::string both = std::string(recording.Text(label.key)) + ":" + std::string(value);
    return RE2::PartialMatch(both, regex);
  };
  const auto wanted = [&](const Label& label) {
    return key_.empty() || recording.Text(label.key) == key_;
  };
  for (const Label& label : set) {
    if (wanted(label) && InRange(recording, label)) {
      return true;
    }
  }
  // With a key any expression may match; without one all must.
  const auto found = [&](const std::unique_ptr<RE2>& regex) {
    for (const Label& label : set) {
      if (!label.numeric && wanted(label) && text_matches(label, *regex)) {
        return true;
      }
    }
    return false;
  };
  std::size_t matched = 0;
  for (const auto& regex : regexes_) {
    matched += found(regex) ? 1 : 0;
  }
  return key_.empty() ? matched == regexes_.size() && matched > 0 : matched > 0;
}

}  // namespace memtool
