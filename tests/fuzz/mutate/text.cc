#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "mutate/mutate.h"

namespace memtool::fuzz {

namespace {

constexpr std::string_view kDigits = "0123456789";

struct Part {
  std::size_t begin = 0;
  std::size_t size = 0;
};

// A number at or after a random place.
Part NumberIn(const std::string& text, Random& random) {
  const std::size_t begin = text.find_first_of(kDigits, Below(random, text.size()));
  if (begin == std::string::npos) {
    return {};
  }
  const std::size_t end = std::min(text.find_first_not_of(kDigits, begin), text.size());
  return {begin, end - begin};
}

// What stands between a bracket, a random one, and the one that closes it; no further than a bound.
Part BracketsIn(const std::string& text, Random& random) {
  constexpr std::size_t kMaxLength = 16384;
  const std::size_t begin = text.find_first_of("{[(", Below(random, text.size()));
  if (begin == std::string::npos) {
    return {};
  }
  int depth = 0;
  for (std::size_t at = begin; at < std::min(text.size(), begin + kMaxLength); ++at) {
    const char c = text[at];
    depth += c == '{' || c == '[' || c == '(' ? 1 : c == '}' || c == ']' || c == ')' ? -1 : 0;
    if (depth == 0) {
      // With the comma that parts it from what follows.
      const std::size_t end = at + 1 < text.size() && text[at + 1] == ',' ? at + 2 : at + 1;
      return {begin, end - begin};
    }
  }
  return {};
}

Part LineIn(const std::string& text, Random& random) {
  const std::size_t at = Below(random, text.size());
  const std::size_t before = text.rfind('\n', at);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
  return {begin, end - begin};
}

std::string OddDecimal(Random& random) {
  const std::uint64_t number = OddNumber(random);
  const auto sign = static_cast<std::int64_t>(number);
  switch (random() % 6) {
    case 0:
      return std::to_string(sign);
    case 1:
      return std::to_string(number) + ".5";
    case 2:
      return std::to_string(number % 100) + "e" + std::to_string(random() % 310);
    default:
      return std::to_string(number);
  }
}

void Move(std::string& text, Part part, Random& random) {
  if (part.size == 0) {
    return;
  }
  const std::string copy = text.substr(part.begin, part.size);
  const auto choice = random() % 3;
  if (choice != 0) {
    text.insert(part.begin, copy);
  }
  if (choice != 1) {
    text.erase(part.begin, part.size);
  }
}

// The second takes the first one's place, or both change places.
void Exchange(std::string& text, Part a, Part b) {
  if (a.begin > b.begin) {
    std::swap(a, b);
  }
  if (a.size == 0 || b.size == 0 || a.begin + a.size > b.begin) {
    return;
  }
  const std::string first = text.substr(a.begin, a.size);
  const std::string second = text.substr(b.begin, b.size);
  text.replace(b.begin, b.size, first);
  text.replace(a.begin, a.size, second);
}

}  // namespace

std::size_t MutateText(std::uint8_t* data, std::size_t size, std::size_t most, Random& random) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text.
  std::string text(reinterpret_cast<const char*>(data), size);
  for (auto changes = 1 + random() % 3; changes > 0 && !text.empty(); --changes) {
    switch (random() % 6) {
      case 0:
      case 1: {
        const Part number = NumberIn(text, random);
        if (number.size > 0) {
          text.replace(number.begin, number.size, OddDecimal(random));
        }
        break;
      }
      case 2:
        Exchange(text, NumberIn(text, random), NumberIn(text, random));
        break;
      case 3:
        Move(text, BracketsIn(text, random), random);
        break;
      case 4:
        Exchange(text, BracketsIn(text, random), BracketsIn(text, random));
        break;
      default:
        Move(text, LineIn(text, random), random);
        break;
    }
  }
  return text.empty() ? 0 : Store(text, data, most);
}

}  // namespace memtool::fuzz
