#include "log/pattern_text.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "log/word_filter.h"
#include "memtool/profile/base/numbers.h"

namespace memtool::formats::log {

namespace {

constexpr std::string_view kNumber = R"([-+]?[0-9][0-9,]*(?:\.[0-9]+)?)";
constexpr std::string_view kAnyNumber = R"((?:[-+]?[0-9][0-9,]*(?:\.[0-9]+)?))";
constexpr std::string_view kUnit = R"([KMGT]i?B?|[Bb]ytes?|B)";
constexpr std::size_t kShortestAnchor = WordFilter::kWindow;

// Stand for "{ }" and "{{" while a pattern is compiled.
constexpr char kBlank = '\x01';
constexpr char kBrace = '\x02';

bool IsWord(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Whether the blank at `at` stands between two words: it is then a single one.
bool IsBetweenWords(std::string_view text, std::size_t at) {
  return at > 0 && at + 1 < text.size() && IsWord(text[at - 1]) && IsWord(text[at + 1]);
}

// Fixed text and the blanks in it; RE2 has no other meaning for it.
std::string Quoted(std::string_view text) {
  std::string quoted;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == kBlank || text[at] == kBrace) {
      quoted += text[at] == kBlank ? " " : "\\{";
      continue;
    }
    if (text[at] != ' ') {
      quoted += re2::RE2::QuoteMeta(text.substr(at, 1));
      continue;
    }
    quoted += IsBetweenWords(text, at) ? "[ \\t]+" : "[ \\t]*";
  }
  return quoted;
}

// Takes a pattern apart, piece by piece.
class Compiler {
 public:
  explicit Compiler(Pattern& pattern) : pattern_(pattern) {}

  Result<void> Compile(std::string_view text) {
    while (!text.empty()) {
      const std::size_t next = std::min({text.find('{'), text.find("(("), text.find("))")});
      Fixed(text.substr(0, next));
      text.remove_prefix(std::min(next, text.size()));
      if (text.starts_with("((") || text.starts_with("))")) {
        pattern_.expression += text.front() == '(' ? "(?:" : ")?";
        optional_ = text.front() == '(';
        text.remove_prefix(2);
      } else if (!text.empty()) {
        const std::size_t end = text.find('}');
        if (end == std::string_view::npos) {
          return Wrong("a placeholder that does not end");
        }
        MEMTOOL_TRY(Placeholder(text.substr(1, end - 1)));
        text.remove_prefix(end + 1);
      }
    }
    if (pattern_.anchor.size() < kShortestAnchor) {
      return Wrong("no fixed text of five characters in one piece");
    }
    return {};
  }

 private:
  static tl::unexpected<Error> Wrong(std::string message) {
    return Fail(ErrorCode::kMalformed, std::move(message), "memtool info --print-patterns");
  }

  void Fixed(std::string_view text) {
    pattern_.expression += Quoted(text);
    if (optional_) {
      return;
    }
    // The anchor is in the text as it stands here: no blanks in it but single ones between words.
    for (std::size_t begin = 0; begin < text.size();) {
      std::size_t end = text.find(' ', begin);
      while (end < text.size() && IsBetweenWords(text, end)) {
        end = text.find(' ', end + 1);
      }
      end = std::min(end, text.size());
      if (end - begin > pattern_.anchor.size()) {
        pattern_.anchor = text.substr(begin, end - begin);
      }
      begin = end + 1;
    }
  }

  void Group(std::string_view expression, Capture capture) {
    pattern_.expression += fmt::format("({})", expression);
    pattern_.captures.push_back(capture);
  }

  Result<void> Placeholder(std::string_view name) {
    struct Text {
      std::string_view name;
      Capture::Kind kind;
      std::string_view expression;
    };
    static constexpr std::array<Text, 9> kTexts = {
        {{"device", Capture::Kind::kDevice, R"([A-Za-z0-9_.:/-]+(?:\[[A-Za-z0-9_.:-]+\])?)"},
         {"rank", Capture::Kind::kRank, "[0-9]{1,9}"},
         {"epoch_ms", Capture::Kind::kTime, "[0-9]{13}"},
         {"stage", Capture::Kind::kStage, ".{1,200}?"},
         {"part", Capture::Kind::kStage, ".{1,200}?"},
         {"memory", Capture::Kind::kMemory, "[A-Za-z0-9_]{1,16}"},
         {"chip", Capture::Kind::kChip, "[0-9x]{1,16}_HBM[0-9]{1,4}"},
         {"op", Capture::Kind::kOp, "[A-Za-z0-9_./:-]{0,200}[A-Za-z0-9_]"},
         {"shape", Capture::Kind::kShape, "[^']{1,400}"}}};
    for (const auto& [any, expression] : {std::pair(std::string_view("*"), std::string_view(".*?")),
                                          {"w", "[A-Za-z]+"},
                                          {"n", kAnyNumber}}) {
      if (name == any) {
        pattern_.expression += expression;
        return {};
      }
    }
    for (const Text& text : kTexts) {
      if (name == text.name) {
        Group(text.expression, {.kind = text.kind});
        return {};
      }
    }
    return Amount(name);
  }

  // "weights", "weights GiB", "#kv_tokens"
  Result<void> Amount(std::string_view name) {
    const bool count = name.starts_with('#');
    name.remove_prefix(count ? 1 : 0);
    const std::size_t blank = std::min(name.find(' '), name.size());
    const auto amount = FindAmount(name.substr(0, blank));
    if (!amount || (AmountKinds()[*amount].role == AmountRole::kCount) != count) {
      return Wrong(fmt::format("no amount is called {{{}}}", name));
    }
    Capture capture{.kind = count ? Capture::Kind::kCount : Capture::Kind::kAmount,
                    .amount = *amount,
                    .unit = count ? 1 : 0};
    if (blank < name.size()) {
      const std::string_view unit = name.substr(blank + 1);
      capture.unit = UnitOf(unit);
      if (capture.unit == 0 || count) {
        return Wrong(fmt::format("no unit is called '{}'", unit));
      }
    }
    Group(kNumber, capture);
    if (capture.unit == 0) {
      pattern_.expression += fmt::format("[ \\t]*({})\\b", kUnit);
    }
    return {};
  }

  Pattern& pattern_;
  bool optional_ = false;
};

}  // namespace

Result<void> CompilePattern(std::string_view text, Pattern& pattern) {
  std::string compact(text);
  for (const auto& [written, stands] :
       {std::pair(std::string_view("{ }"), kBlank), {"{{", kBrace}}) {
    for (std::size_t at = 0; (at = compact.find(written, at)) != std::string::npos;) {
      compact.replace(at, written.size(), 1, stands);
    }
  }
  MEMTOOL_TRY(Compiler(pattern).Compile(compact));
  std::replace(pattern.anchor.begin(), pattern.anchor.end(), kBlank, ' ');
  std::replace(pattern.anchor.begin(), pattern.anchor.end(), kBrace, '{');
  return {};
}

std::int64_t ParseUnit(std::string_view unit) {
  if (unit.empty() || unit == "B" || unit == "b" || unit.starts_with("byte") ||
      unit.starts_with("Byte")) {
    return 1;
  }
  constexpr std::string_view kPrefixes = "KMGT";
  const std::size_t power = kPrefixes.find(unit.front());
  const std::string_view rest = unit.substr(1);
  if (power == std::string_view::npos ||
      !(rest.empty() || rest == "B" || rest == "iB" || rest == "i")) {
    return 0;
  }
  return std::int64_t{1024} << (10U * power);
}

std::int64_t UnitOf(std::string_view unit) {
  return unit == "GB" ? 1'000'000'000 : unit == "MB" ? 1'000'000 : ParseUnit(unit);
}

std::optional<ReadAmount> ParseAmount(std::string_view number, std::int64_t unit,
                                      bool rounds_down) {
  std::string digits;
  std::copy_if(number.begin(), number.end(), std::back_inserter(digits),
               [](char c) { return c != ',' && c != '+'; });
  const std::size_t point = digits.find('.');
  const std::size_t decimals = point == std::string::npos ? 0 : digits.size() - point - 1;
  const auto parsed = ParseNumber<double>(digits);
  constexpr double kMost = 4e18;
  constexpr std::size_t kMostDecimals = 18;
  if (!parsed || decimals > kMostDecimals ||
      std::abs(*parsed * static_cast<double>(unit)) > kMost) {
    return std::nullopt;
  }
  const auto whole = ParseNumber<std::int64_t>(digits);
  ReadAmount amount{.value =
                        whole ? *whole * unit : std::llround(*parsed * static_cast<double>(unit))};
  if (unit > 1) {
    const double place = static_cast<double>(unit) * std::pow(10.0, -static_cast<double>(decimals));
    amount.above = std::llround(std::ceil(rounds_down ? place : place / 2));
    amount.below = rounds_down ? 0 : amount.above;
  }
  return amount;
}

}  // namespace memtool::formats::log
