#include "words/nearest.h"

#include <fmt/format.h>

#include <algorithm>

#include "words/words.h"

namespace memtool::commands {

namespace {

constexpr std::size_t kMax = 3;
constexpr std::size_t kMinLength = 2;  // fewest letters of a beginning that means anything

// Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours.
std::size_t Slips(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& {
    return table[i * width + j];
  };
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        at(i, j) = i + j;
        continue;
      }
      const std::size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + other});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
      }
    }
  }
  return table.back();
}

}  // namespace

std::vector<std::string> Nearest(std::string_view wrong, std::span<const std::string> candidates) {
  // A longer word cannot be a slip: no name is that long.
  constexpr std::size_t kMaxLength = 100;
  if (wrong.size() > kMaxLength) {
    return {};
  }
  std::vector<std::string> nearest;
  std::size_t least = std::max<std::size_t>(1, wrong.size() / 3);
  for (const std::string& candidate : candidates) {
    const bool begun = wrong.size() >= kMinLength && candidate.starts_with(wrong);
    const std::size_t slips = begun ? 1 : Slips(wrong, candidate);
    if (slips < least) {
      nearest.clear();
      least = slips;
    }
    if (slips == least) {
      nearest.push_back(candidate);
    }
  }
  nearest.resize(std::min(nearest.size(), kMax));
  return nearest;
}

std::string DidYouMean(std::string_view wrong, std::span<const std::string> candidates,
                       std::string_view prefix) {
  std::vector<std::string> nearest = Nearest(wrong, candidates);
  for (std::string& name : nearest) {
    name.insert(0, prefix);
  }
  const std::vector<std::string_view> words(nearest.begin(), nearest.end());
  return words.empty() ? std::string{} : fmt::format("; did you mean {}?", OneOf(words));
}

}  // namespace memtool::commands
