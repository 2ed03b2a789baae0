#include "memtool/profile/replay/mark_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/numbers.h"

namespace memtool {

namespace {

constexpr std::size_t kNamed = 8;  // how many groups a sentence names

// "ProfilerStep#3" as its name and its number.
std::pair<std::string_view, std::optional<std::int64_t>> Parted(std::string_view name) {
  const std::size_t hash = name.rfind('#');
  if (hash == std::string_view::npos || hash == 0) {
    return {name, std::nullopt};
  }
  const auto number = ParseNumber<std::int64_t>(name.substr(hash + 1));
  return number && *number >= 0 ? std::pair(name.substr(0, hash), number)
                                : std::pair(name, std::optional<std::int64_t>());
}

std::string Text(const MarkGroup& group) {
  if (group.numbered) {
    return group.first == group.last
               ? fmt::format("{}#{}", group.name, group.first)
               : fmt::format("{}#{} to #{}", group.name, group.first, group.last);
  }
  return group.count == 1 ? group.name : fmt::format("{} ({} times)", group.name, group.count);
}

}  // namespace

std::vector<MarkGroup> MakeGroups(std::span<const Mark> marks) {
  std::vector<MarkGroup> groups;
  KeyMap<std::string, std::size_t> rows;
  for (const Mark& mark : marks) {
    const auto [name, number] = Parted(mark.name);
    // Numbered and plain marks of one name are asked for in different ways.
    const auto [row, added] =
        rows.try_emplace(std::string(name) + (number ? "#" : ""), groups.size());
    if (added) {
      groups.push_back({.name = std::string(name),
                        .numbered = number.has_value(),
                        .first = number.value_or(0),
                        .last = number.value_or(0)});
    }
    MarkGroup& group = groups[row->second];
    ++group.count;
    group.first = std::min(group.first, number.value_or(0));
    group.last = std::max(group.last, number.value_or(0));
  }
  return groups;
}

std::string MarkNames(std::span<const Mark> marks) {
  const std::vector<MarkGroup> groups = MakeGroups(marks);
  std::string names;
  for (std::size_t i = 0; i < std::min(groups.size(), kNamed); ++i) {
    names += (i == 0 ? "" : ", ") + Text(groups[i]);
  }
  if (groups.size() > kNamed) {
    names += fmt::format(", and {} more", groups.size() - kNamed);
  }
  return names;
}

}  // namespace memtool
