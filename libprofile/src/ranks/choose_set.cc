#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "memtool/profile/base/natural_order.h"
#include "memtool/profile/ranks/rank_sets.h"

namespace memtool {

namespace {

using Sets = std::span<const RankSet>;
using Rows = std::vector<std::size_t>;

bool IsRequested(const RankSetKey& key, const SetChoice& choice) {
  return (!choice.job || key.job == *choice.job) && (!choice.step || key.step == choice.step) &&
         (!choice.attempt || key.attempt == choice.attempt) &&
         (!choice.role || key.role == *choice.role);
}

std::size_t GetRanks(Sets sets, const Rows& rows) {
  std::set<std::int64_t> ranks;
  for (const std::size_t row : rows) {
    for (const RankMember& member : sets[row].ranks) {
      ranks.insert(member.rank);
    }
  }
  return ranks.size();
}

// Of the groups that `name` makes, the one with the most ranks. There is at least one row.
template <class Name>
Rows Largest(Sets sets, const Rows& rows, Name name, bool last_of_equal) {
  using Less = decltype(&NaturalLess);
  std::map<std::string_view, Rows, Less> groups(&NaturalLess);
  for (const std::size_t row : rows) {
    groups[name(sets[row].key)].push_back(row);
  }
  auto best = groups.begin();
  std::size_t most = 0;
  for (auto group = groups.begin(); group != groups.end(); ++group) {
    const std::size_t ranks = GetRanks(sets, group->second);
    if (ranks > most || (ranks == most && last_of_equal)) {
      best = group;
      most = ranks;
    }
  }
  return best->second;
}

// The numbers that sets have, for a message: "10, 20, 30".
template <class Number>
std::string List(Sets sets, Number number) {
  constexpr std::size_t kShown = 8;
  std::set<std::int64_t> values;
  for (const RankSet& set : sets) {
    if (const auto& value = number(set.key)) {
      values.insert(*value);
    }
  }
  std::string list;
  std::size_t shown = 0;
  for (const std::int64_t value : values) {
    if (++shown > kShown) {
      return list + ", …";
    }
    list += fmt::format("{}{}", list.empty() ? "" : ", ", value);
  }
  return list.empty() ? "none" : list;
}

}  // namespace

Result<std::size_t> ChooseSet(Sets sets, const SetChoice& choice) {
  Rows rows;
  for (std::size_t row = 0; row < sets.size(); ++row) {
    if (IsRequested(sets[row].key, choice)) {
      rows.push_back(row);
    }
  }
  if (sets.empty()) {
    return Fail(ErrorCode::kUsage, "there are no files of ranks");
  }
  if (rows.empty()) {
    return Fail(ErrorCode::kUsage, "no files are of the step, attempt, role or job asked for",
                fmt::format("steps: {}; attempts: {}",
                            List(sets, [](const RankSetKey& key) { return key.step; }),
                            List(sets, [](const RankSetKey& key) { return key.attempt; })));
  }
  const auto job = [](const RankSetKey& key) -> std::string_view { return key.job; };
  const auto role = [](const RankSetKey& key) -> std::string_view { return key.role; };
  rows = Largest(sets, Largest(sets, rows, job, true), role, false);
  const std::size_t all = GetRanks(sets, rows);
  const auto newer = [&](std::size_t a, std::size_t b) {
    const RankSetKey& x = sets[a].key;
    const RankSetKey& y = sets[b].key;
    return std::tie(x.attempt, x.step, x.at_oom) > std::tie(y.attempt, y.step, y.at_oom);
  };
  std::sort(rows.begin(), rows.end(), newer);
  const auto max_have = std::find_if(
      rows.begin(), rows.end(), [&](std::size_t row) { return 2 * sets[row].ranks.size() > all; });
  if (max_have != rows.end()) {
    return *max_have;
  }
  return *std::max_element(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
    return sets[a].ranks.size() < sets[b].ranks.size();
  });
}

}  // namespace memtool
