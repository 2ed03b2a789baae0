#include "ranks/names/path_words.h"

#include <algorithm>
#include <charconv>

namespace memtool::commands {

namespace {

bool IsSmall(char c) {
  return c >= 'a' && c <= 'z';
}

bool IsCapital(char c) {
  return c >= 'A' && c <= 'Z';
}

}  // namespace

std::vector<PathWord> PathWords(std::string_view component) {
  using Kind = PathWord::Kind;
  std::vector<PathWord> words;
  char before = 0;
  for (const char c : component) {
    const Kind kind = IsDigit(c)                     ? Kind::kNumber
                      : (IsSmall(c) || IsCapital(c)) ? Kind::kWord
                                                     : Kind::kOther;
    const bool goes_on = !words.empty() && kind != Kind::kOther && words.back().kind == kind &&
                         !(IsSmall(before) && IsCapital(c));
    if (!goes_on) {
      words.push_back({.kind = kind});
    }
    words.back().text += IsCapital(c) ? static_cast<char>(c - 'A' + 'a') : c;
    before = c;
  }
  return words;
}

std::optional<std::int64_t> ToNumber(std::string_view digits, std::size_t max_digits) {
  const std::size_t zeros = std::min(digits.find_first_not_of('0'), digits.size());
  const std::string_view rest = digits.substr(zeros);
  std::int64_t number = 0;
  if (digits.empty() || rest.size() > max_digits) {
    return std::nullopt;
  }
  if (!rest.empty()) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error != std::errc{} || end != rest.data() + rest.size()) {
      return std::nullopt;
    }
  }
  return number;
}

std::vector<std::string_view> SplitComponents(std::string_view path) {
  std::vector<std::string_view> components;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find_first_of("/\\"), path.size());
    const std::string_view component = path.substr(0, end);
    if (!component.empty() && component != ".") {
      components.push_back(component);
    }
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return components;
}

}  // namespace memtool::commands
