#include "answers/oom/oom_order.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "memtool/profile/base/arithmetic.h"

namespace memtool {

namespace {

std::optional<int> NumberAt(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && number >= 0 ? std::optional(number) : std::nullopt;
}

bool IsLetter(char c) {
  return c >= 'a' && c <= 'z';
}

// The number after the last word "rank" that one follows; not that of "franking".
std::optional<int> RankIn(std::string_view name) {
  constexpr std::string_view kWord = "rank";
  for (std::size_t at = name.rfind(kWord); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : name.rfind(kWord, at - 1)) {
    if (at > 0 && IsLetter(name[at - 1])) {
      continue;
    }
    std::string_view rest = name.substr(at + kWord.size());
    rest.remove_prefix(std::min(rest.find_first_not_of("_-.="), rest.size()));
    if (const auto rank = NumberAt(rest)) {
      return rank;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> RankOfPath(std::string_view path) {
  std::string lower(path);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  });
  if (const auto rank = RankIn(lower)) {
    return rank;
  }
  // torchrun: a folder for each rank, with stdout and stderr in it.
  const std::size_t slash = lower.rfind('/');
  const std::string_view name = std::string_view(lower).substr(slash + 1);
  if (slash == std::string::npos || !(name.starts_with("std") && name.size() > 3)) {
    return std::nullopt;
  }
  std::string_view folder = std::string_view(lower).substr(0, slash);
  folder = folder.substr(folder.rfind('/') + 1);
  const bool digits = !folder.empty() && folder.find_first_not_of("0123456789") == folder.npos;
  return digits ? NumberAt(folder) : std::nullopt;
}

std::optional<OomOrder> GetOrder(const OomMessages& messages) {
  const OomMessage* first = nullptr;
  for (const OomMessage& message : messages.kept) {
    if (!message.rank || !message.time) {
      continue;
    }
    first = first == nullptr ? &message : first;
    if (HasYear(*message.time) == HasYear(*first->time) && *message.rank != *first->rank) {
      return OomOrder{.first = *first->rank,
                      .next = *message.rank,
                      .nanos = SaturatingSubtract(*message.time, *first->time)};
    }
  }
  return std::nullopt;
}

}  // namespace memtool
