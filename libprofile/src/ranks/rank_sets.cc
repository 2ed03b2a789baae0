#include "memtool/profile/ranks/rank_sets.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/natural_order.h"
#include "ranks/set_findings.h"

namespace memtool {

namespace {

using Files = std::span<const RankFile>;
using Rows = std::vector<std::size_t>;

bool KeyLess(const RankSetKey& a, const RankSetKey& b) {
  if (a.job != b.job) {
    return NaturalLess(a.job, b.job);
  }
  return std::tie(a.attempt, a.step, a.at_oom, a.role) <
         std::tie(b.attempt, b.step, b.at_oom, b.role);
}

RankSetKey GetKey(const RankIdentity& identity, std::string job) {
  return {.job = std::move(job),
          .attempt = identity.attempt,
          .step = identity.step,
          .role = identity.role,
          .at_oom = identity.at_oom};
}

std::string Parent(const std::string& folder) {
  const std::size_t slash = folder.rfind('/');
  return slash == std::string::npos ? std::string() : folder.substr(0, slash);
}

// Folders side by side that hold other ranks of one job: a folder per host, or named by the minute
// in which each rank wrote. They are one where no rank of a set occurs twice, and some set has
// ranks in several of them.
class Folders {
 public:
  explicit Folders(Files files) {
    for (const RankFile& file : files) {
      const RankIdentity& who = file.identity;
      if (who.job_is_folder && !who.job.empty()) {
        Group& group = groups_[Parent(who.job)];
        group.folders.insert(who.job);
        const bool reported = who.rank && who.how != IdentityHow::kGuess;
        Part& part = group.parts.try_emplace(GetKey(who, {}), Part{who.job, {}}).first->second;
        group.distinct = group.distinct && reported && part.ranks.insert(*who.rank).second;
        group.shared = group.shared || part.folder != who.job;
      }
    }
  }

  // The job that files of `folder` belong to, and how many folders it has.
  [[nodiscard]] std::pair<std::string, std::size_t> GetJob(const std::string& folder) const {
    const auto group = groups_.find(Parent(folder));
    if (group == groups_.end() || !group->second.distinct || !group->second.shared) {
      return {folder, 1};
    }
    return {group->first, group->second.folders.size()};
  }

 private:
  struct Part {
    std::string folder;  // the first that it was seen in
    std::set<std::int64_t> ranks;
  };
  struct Group {
    std::set<std::string> folders;
    std::map<RankSetKey, Part, decltype(&KeyLess)> parts{&KeyLess};
    bool distinct = true;
    bool shared = false;
  };
  std::map<std::string, Group> groups_;
};

// Gives the files of one set their ranks.
class Resolver {
 public:
  Resolver(Files files, const Rows& rows) : files_(files), rows_(rows) {
    std::int64_t max_local = -1;
    for (const std::size_t row : rows_) {
      const RankIdentity& who = files_[row].identity;
      reported_ = reported_ || who.rank;
      nodes_.insert(who.node.value_or(0));
      max_local = std::max(max_local, who.local_rank.value_or(-1));
      several_nodes_ = several_nodes_ || who.node;
      if (!who.rank && !who.local_rank && (!who.host.empty() || who.pid)) {
        processes_.emplace(who.host, who.pid.value_or(-1));
      }
    }
    per_node_ = SaturatingAdd(max_local, 1);
  }

  [[nodiscard]] RankMember Of(std::size_t row) const {
    const RankMember member = ByRules(row);
    return member.rank < 0 ? RankMember{row, 0, RankRule::kNone} : member;
  }

 private:
  [[nodiscard]] RankMember ByRules(std::size_t row) const {
    const RankIdentity& who = files_[row].identity;
    if (who.rank) {
      return {row, *who.rank, RankRule::kReported};
    }
    if (reported_) {  // numbers of other rules would stand among ranks
      return {row, 0, RankRule::kNone};
    }
    if (who.local_rank) {
      return who.node ? RankMember{row,
                                   SaturatingAdd(SaturatingMultiply(Place(*who.node), per_node_),
                                                 *who.local_rank),
                                   RankRule::kNodeAndLocal}
                      : RankMember{row, *who.local_rank, RankRule::kLocal};
    }
    if (per_node_ > 0) {
      return {row, 0, RankRule::kNone};
    }
    if (who.node) {
      return {row, *who.node, RankRule::kNode};
    }
    const auto process = processes_.find({who.host, who.pid.value_or(-1)});
    if (several_nodes_ || process == processes_.end()) {
      return {row, 0, RankRule::kNone};
    }
    return {row, std::distance(processes_.begin(), process), RankRule::kHostAndPid};
  }

  struct ProcessLess {
    using Process = std::pair<std::string, std::int64_t>;
    bool operator()(const Process& a, const Process& b) const {
      return a.first != b.first ? NaturalLess(a.first, b.first) : a.second < b.second;
    }
  };

  // Nodes are numbered from 0 on, unless their numbers are those of hosts ("node017").
  [[nodiscard]] std::int64_t Place(std::int64_t node) const {
    const bool dense = *nodes_.rbegin() < static_cast<std::int64_t>(2 * nodes_.size());
    return dense ? node : std::distance(nodes_.begin(), nodes_.find(node));
  }

  Files files_;
  const Rows& rows_;
  bool reported_ = false;
  bool several_nodes_ = false;
  std::int64_t per_node_ = 0;
  std::set<std::int64_t> nodes_;
  std::set<ProcessLess::Process, ProcessLess> processes_;
};

// Of files of one rank, the one to use comes first.
bool BetterFile(const RankFile& a, const RankFile& b) {
  const bool a_bad = a.problem != FileProblem::kNone;
  const bool b_bad = b.problem != FileProblem::kNone;
  if (a_bad != b_bad) {
    return b_bad;
  }
  if (a.identity.time != b.identity.time) {
    return a.identity.time > b.identity.time;
  }
  return NaturalLess(a.path, b.path);
}

DoubleReason GetReason(Files files, std::span<const RankMember> same) {
  const RankFile& first = files[same.front().file];
  bool copies = true;
  bool processes = false;
  bool formats = false;
  bool times = false;
  for (const RankMember& member : same.subspan(1)) {
    const RankFile& other = files[member.file];
    copies = copies && first.content && other.content == first.content;
    processes = processes || other.identity.pid != first.identity.pid ||
                other.identity.host != first.identity.host;
    formats = formats || other.format != first.format;
    times = times || other.identity.time != first.identity.time;
  }
  return copies      ? DoubleReason::kCopies
         : processes ? DoubleReason::kProcesses
         : formats   ? DoubleReason::kFormats
         : times     ? DoubleReason::kTimes
                     : DoubleReason::kUnknown;
}

// Fills ranks, doubles and without_rank from the files in `rows`, which are in order of their
// names.
void FillRanks(Files files, const Rows& rows, RankSet& set) {
  const Resolver resolver(files, rows);
  std::vector<RankMember> members;
  for (const std::size_t row : rows) {
    const RankMember member = resolver.Of(row);
    if (member.rule == RankRule::kNone) {
      set.without_rank.push_back(row);
    } else {
      members.push_back(member);
    }
  }
  std::stable_sort(members.begin(), members.end(), [&](const RankMember& a, const RankMember& b) {
    return a.rank != b.rank ? a.rank < b.rank : BetterFile(files[a.file], files[b.file]);
  });
  for (std::size_t begin = 0; begin < members.size();) {
    std::size_t end = begin + 1;
    while (end < members.size() && members[end].rank == members[begin].rank) {
      ++end;
    }
    set.ranks.push_back(members[begin]);
    if (end - begin > 1) {
      const std::span same = std::span(members).subspan(begin, end - begin);
      DoubleRank& found = set.doubles.emplace_back();
      found.rank = members[begin].rank;
      found.reason = GetReason(files, same);
      for (const RankMember& other : same.subspan(1)) {
        found.others.push_back(other.file);
      }
    }
    begin = end;
  }
}

// Ranks above this are not counted one by one.
constexpr std::int64_t kMaxRanks = std::int64_t{1} << 31U;

// How many ranks a set should have, from all sets of its job and role.
void ExpectRanks(Files files, std::span<RankSet> sets) {
  struct Expected {
    std::int64_t world = 0;
    std::int64_t highest = -1;
  };
  std::map<std::pair<std::string, std::string>, Expected> of_roles;
  for (const RankSet& set : sets) {
    Expected& expected = of_roles[{set.key.job, set.key.role}];
    for (const RankMember& member : set.ranks) {
      expected.highest = std::max(expected.highest, std::min(member.rank, kMaxRanks - 1));
      const std::int64_t world = files[member.file].identity.world.value_or(0);
      expected.world = std::max(expected.world, std::min(world, kMaxRanks));
    }
  }
  for (RankSet& set : sets) {
    const Expected& expected = of_roles[{set.key.job, set.key.role}];
    const bool world = expected.world > expected.highest;
    set.expected = world ? expected.world : expected.highest + 1;
    set.expected_from = world ? ExpectedFrom::kWorld : ExpectedFrom::kHighest;
    FindMissing(set);
  }
}

}  // namespace

std::vector<RankSet> GroupRanks(Files files) {
  Rows order(files.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return NaturalLess(files[a].path, files[b].path);
  });
  const Folders folders(files);
  struct Part {
    Rows rows;
    bool job_is_folder = false;
    std::size_t folders = 1;
  };
  std::map<RankSetKey, Part, decltype(&KeyLess)> parts(&KeyLess);
  for (const std::size_t row : order) {
    const RankIdentity& who = files[row].identity;
    auto [job, count] =
        who.job_is_folder ? folders.GetJob(who.job) : std::pair(who.job, std::size_t{1});
    Part& part = parts[GetKey(who, std::move(job))];
    part.rows.push_back(row);
    part.job_is_folder = who.job_is_folder;
    part.folders = count;
  }
  std::vector<RankSet> sets;
  for (const auto& [key, part] : parts) {
    RankSet& set = sets.emplace_back();
    set.key = key;
    set.job_is_folder = part.job_is_folder;
    set.folders = part.folders;
    FillRanks(files, part.rows, set);
    FindInFiles(files, part.rows, set);
  }
  ExpectRanks(files, sets);
  return sets;
}

}  // namespace memtool
