#include "ranks/set_findings.h"

#include <algorithm>
#include <array>
#include <map>

#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/natural_order.h"

namespace memtool {

namespace {

using Files = std::span<const RankFile>;
using Rows = std::vector<std::size_t>;

// Per file with a rank, that rank.
KeyMap<std::size_t, std::int64_t> RanksOfFiles(const RankSet& set) {
  KeyMap<std::size_t, std::int64_t> ranks;
  for (const RankMember& member : set.ranks) {
    ranks.emplace(member.file, member.rank);
  }
  for (const DoubleRank& twice : set.doubles) {
    for (const std::size_t file : twice.others) {
      ranks.emplace(file, twice.rank);
    }
  }
  return ranks;
}

void FindSameContent(Files files, const Rows& rows, RankSet& set) {
  const auto ranks = RanksOfFiles(set);
  std::map<ContentHash, Rows> by_content;
  for (const std::size_t row : rows) {
    if (files[row].content && files[row].problem != FileProblem::kEmpty && ranks.contains(row)) {
      by_content[*files[row].content].push_back(row);
    }
  }
  for (auto& of_content : by_content) {
    Rows& same = of_content.second;
    const bool several = std::any_of(same.begin(), same.end(), [&](std::size_t row) {
      return ranks.at(row) != ranks.at(same.front());
    });
    if (several) {
      std::stable_sort(same.begin(), same.end(),
                       [&](std::size_t a, std::size_t b) { return ranks.at(a) < ranks.at(b); });
      set.same_content.push_back(std::move(same));
    }
  }
  // Hashes have no order that means anything.
  std::sort(set.same_content.begin(), set.same_content.end(), [&](const Rows& a, const Rows& b) {
    const std::int64_t x = ranks.at(a.front());
    const std::int64_t y = ranks.at(b.front());
    return x != y ? x < y : NaturalLess(files[a.front()].path, files[b.front()].path);
  });
}

std::optional<std::int64_t> LocalRank(Files files, const RankMember& member,
                                      std::optional<std::int64_t> per_node) {
  if (const auto& local = files[member.file].identity.local_rank) {
    return local;
  }
  const bool reported =
      member.rule == RankRule::kReported || member.rule == RankRule::kNodeAndLocal;
  return reported && per_node ? std::optional(member.rank % *per_node) : std::nullopt;
}

// A number of GPUs per node by which nearly all ranks use their own. None where ranks do not use
// different devices: CUDA_VISIBLE_DEVICES may show each process only one, which is then number 0.
std::optional<std::int64_t> GpusPerNode(Files files, const RankSet& set) {
  std::int64_t most = 0;
  std::size_t known = 0;
  for (const RankMember& member : set.ranks) {
    const auto& devices = files[member.file].devices;
    if (!devices.empty()) {
      most = std::max(most, devices.back());
      ++known;
    }
  }
  constexpr std::array<std::int64_t, 5> kUsual{2, 4, 8, 16, 72};
  constexpr std::size_t kFewWrong = 4;  // one in so many at most; in the classic fault no rank is
                                        // without its own device
  for (const std::int64_t per_node : kUsual) {
    if (most == 0 || per_node <= most) {
      continue;
    }
    const auto own = static_cast<std::size_t>(
        std::count_if(set.ranks.begin(), set.ranks.end(), [&](const RankMember& member) {
          const auto& devices = files[member.file].devices;
          const auto local = LocalRank(files, member, per_node);
          return local && std::binary_search(devices.begin(), devices.end(), *local);
        }));
    if (kFewWrong * (known - own) <= known) {
      return per_node;
    }
  }
  return std::nullopt;
}

void FindWrongDevices(Files files, RankSet& set) {
  set.per_node = GpusPerNode(files, set);
  for (const RankMember& member : set.ranks) {
    const std::vector<std::int64_t>& devices = files[member.file].devices;
    const auto expected = set.per_node ? LocalRank(files, member, set.per_node) : std::nullopt;
    WrongDevice found{.file = member.file, .rank = member.rank, .expected = expected};
    for (const std::int64_t device : devices) {
      if (device != expected.value_or(-1)) {
        found.others.push_back(device);
      }
    }
    const bool wrong = expected ? !found.others.empty() : devices.size() > 1;
    if (wrong && set.ranks.size() > 1) {
      set.wrong_devices.push_back(std::move(found));
    }
  }
}

}  // namespace

void FindMissing(RankSet& set) {
  std::int64_t next = 0;
  const auto leave_out = [&set](std::int64_t begin, std::int64_t end) {
    set.missing_count += std::max<std::int64_t>(end - begin, 0);
    for (; begin < end && set.missing.size() < kMaxMissing; ++begin) {
      set.missing.push_back(begin);
    }
  };
  for (const RankMember& member : set.ranks) {
    leave_out(next, std::min(member.rank, set.expected));
    next = std::min(member.rank, set.expected) + 1;
  }
  leave_out(next, set.expected);
}

void FindInFiles(Files files, const Rows& rows, RankSet& set) {
  FindSameContent(files, rows, set);
  FindWrongDevices(files, set);
  for (const std::size_t row : rows) {
    if (files[row].problem != FileProblem::kNone) {
      set.problems.push_back(row);
    }
    if (!files[row].identity.conflicts.empty()) {
      set.conflicts.push_back(row);
    }
  }
}

}  // namespace memtool
