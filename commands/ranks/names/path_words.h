// A component of a path as words, numbers and what separates them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/base/numbers.h"

namespace memtool::commands {

struct PathWord {
  enum class Kind : std::uint8_t { kWord, kNumber, kOther };
  Kind kind = Kind::kOther;
  std::string text{};  // words in lower case; of kOther one character
};

// A word ends where letters end, and before a capital letter that follows a small one.
std::vector<PathWord> PathWords(std::string_view component);

// A number of at most `max_digits` digits, not counting zeros in front.
std::optional<std::int64_t> ToNumber(std::string_view digits, std::size_t max_digits);

// Its components; empty ones and "." are left out.
std::vector<std::string_view> SplitComponents(std::string_view path);

}  // namespace memtool::commands
