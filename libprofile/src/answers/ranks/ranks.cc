#include "memtool/profile/answers/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "answers/ranks/ranks_oom.h"
#include "memtool/profile/base/arithmetic.h"
#include "memtool/profile/base/key_hash.h"
#include "memtool/profile/base/natural_order.h"

namespace memtool {

namespace {

// Names of rows, shared by all inputs.
class RowNames {
 public:
  std::uint32_t Intern(const DigestRow& row) {
    const auto next = static_cast<std::uint32_t>(names_.size());
    const auto [known, added] = ids_.try_emplace(row.name + '\n' + row.file, next);
    if (added) {
      names_.emplace_back(row.name, row.file);
    }
    return known->second;
  }
  [[nodiscard]] const std::pair<std::string, std::string>& operator[](std::uint32_t id) const {
    return names_[id];
  }
  // Per id, its place among all names: what is distinguished by it does not depend on the order in
  // which inputs came.
  [[nodiscard]] std::vector<std::uint32_t> Places() const {
    std::vector<std::uint32_t> order(names_.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::sort(order.begin(), order.end(),
              [this](std::uint32_t a, std::uint32_t b) { return names_[a] < names_[b]; });
    std::vector<std::uint32_t> places(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      places[order[i]] = i;
    }
    return places;
  }

 private:
  std::vector<std::pair<std::string, std::string>> names_;
  KeyMap<std::string, std::uint32_t> ids_;
};

}  // namespace

// A digest without its rows' names.
struct RanksMaker::State {
  struct Held {
    Digest digest;  // rows are empty
    std::vector<RowBytes> rows;
  };
  std::vector<Held> held;
  RowNames names;
};

RanksMaker::RanksMaker() : state_(std::make_unique<State>()) {}
RanksMaker::~RanksMaker() = default;
RanksMaker::RanksMaker(RanksMaker&&) noexcept = default;
RanksMaker& RanksMaker::operator=(RanksMaker&&) noexcept = default;

void RanksMaker::Add(Digest digest) {
  State::Held& held = state_->held.emplace_back();
  for (const DigestRow& row : digest.rows) {
    if (row.peak != 0) {
      held.rows.push_back({state_->names.Intern(row), row.peak});
    }
  }
  held.rows.shrink_to_fit();
  digest.rows = {};
  held.digest = std::move(digest);
}

std::size_t RanksMaker::size() const {
  return state_->held.size();
}

namespace {

std::optional<std::int64_t> NumberIn(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= 0
             ? std::optional(value)
             : std::nullopt;
}

// A capture log's "RANK=3 world=8 local=3 node=0", where the first is named as its launcher does.
void ReadNamed(std::string_view text, RankIdentity& identity) {
  bool first = true;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, equals);
    const auto number = NumberIn(word.substr(std::min(equals + 1, word.size())));
    if (std::exchange(first, false)) {
      identity.rank = number;
    } else if (name == "world") {
      identity.world = number;
    } else if (name == "local") {
      identity.local_rank = number;
    } else if (name == "node") {
      identity.node = number;
    }
  }
}

// "3", "3 of 8" or what a capture log says, and what else the file says of its writer.
RankIdentity GetContent(const Digest& digest) {
  const std::string_view text = digest.rank;
  RankIdentity identity;
  if (text.find('=') != std::string_view::npos) {
    ReadNamed(text, identity);
  } else {
    const std::size_t of = std::min(text.find(" of "), text.size());
    identity.rank = NumberIn(text.substr(0, of));
    identity.world = NumberIn(text.substr(std::min(of + 4, text.size())));
  }
  identity.host = digest.host;
  identity.pid = digest.process;
  identity.how = identity.rank ? IdentityHow::kContent : IdentityHow::kNone;
  return identity;
}

std::optional<ContentHash> ComputeHash(const Digest& digest) {
  ContentHash hash{};
  constexpr std::size_t kHalf = 16;
  if (digest.hash.size() != 2 * kHalf || digest.bytes == 0) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < 2; ++i) {
    const char* const begin = digest.hash.data() + i * kHalf;
    if (std::from_chars(begin, begin + kHalf, hash[i], 16).ptr != begin + kHalf) {
      return std::nullopt;
    }
  }
  return hash;
}

RankFile MakeFile(const Digest& digest, RankIdentity identity) {
  RankFile file{.path = digest.path,
                .identity = std::move(identity),
                .content = ComputeHash(digest),
                .format = digest.format};
  for (const DigestDevice& device : digest.devices) {
    if (device.device >= 0 && (device.peak > 0 || device.reserved_peak > 0)) {
      file.devices.push_back(device.device);
    }
  }
  std::sort(file.devices.begin(), file.devices.end());
  file.devices.erase(std::unique(file.devices.begin(), file.devices.end()), file.devices.end());
  if (!digest.problem.empty()) {
    file.problem = digest.bytes == 0 ? FileProblem::kEmpty : FileProblem::kUnreadable;
  }
  return file;
}

class AnswerMaker {
 public:
  AnswerMaker(std::vector<Digest> digests, const std::vector<std::vector<RowBytes>>& rows,
              const std::vector<std::pair<std::string, std::string>>& names)
      : digests_(std::move(digests)), rows_(rows), names_(names) {}

  Result<RanksAnswer> Make(const RanksQuery& query) {
    MEMTOOL_TRY(Identify(query.identify));
    std::vector<RankSet> sets = GroupRanks(files_);
    const auto chosen = ChooseSet(sets, query.choice);
    MEMTOOL_TRY(chosen);
    RanksAnswer answer;
    for (std::size_t i = 0; i < sets.size(); ++i) {
      if (i != *chosen) {
        answer.others.push_back({sets[i].key, sets[i].ranks.size() + sets[i].without_rank.size()});
      }
    }
    answer.first_oom = FindFirstOom(digests_, sets, *chosen);
    answer.set = std::move(sets[*chosen]);
    for (const RankMember& member : answer.set.ranks) {
      row_of_file_[member.file] = answer.ranks.size();
      answer.ranks.push_back(MakeFacts(member));
    }
    for (const std::size_t file : answer.set.without_rank) {
      answer.unranked.push_back({digests_[file].path, digests_[file].problem});
    }
    AddHosts(answer);
    AddTroubles(answer);
    AddClasses(answer);
    return answer;
  }

 private:
  Result<void> Identify(const RanksQuery::Identify& identify) {
    std::vector<std::string> paths;
    std::vector<RankIdentity> identities;
    for (const Digest& digest : digests_) {
      paths.push_back(digest.path);
      identities.push_back(GetContent(digest));
    }
    if (identify) {
      MEMTOOL_TRY(identify(paths, identities));
    }
    for (std::size_t i = 0; i < digests_.size(); ++i) {
      files_.push_back(MakeFile(digests_[i], std::move(identities[i])));
    }
    return {};
  }

  [[nodiscard]] RankFacts MakeFacts(const RankMember& member) const {
    const Digest& digest = digests_[member.file];
    const RankIdentity& identity = files_[member.file].identity;
    RankFacts facts{
        .rank = member.rank,
        .local_rank = identity.local_rank,
        .node = identity.node,
        .host = identity.host,
        .step = identity.step,
        .attempt = identity.attempt,
        .role = identity.role,
        .how = member.rule == RankRule::kHostAndPid ? IdentityHow::kGuess : identity.how,
        .path = digest.path,
        .read = digest.problem.empty(),
        .peak = digest.peak,
        .end = digest.end};
    if (digest.fullest) {
      const DigestDevice& device = digest.devices[*digest.fullest];
      facts.peak_event = device.peak_event;
      facts.reserved_peak = device.reserved_peak;
      if (device.capacity) {
        facts.headroom = SaturatingSubtract(*device.capacity, device.reserved_peak);
      }
    }
    if (!digest.ooms.empty()) {
      const DigestOom& oom = digest.ooms.front();
      facts.oom = FailureFacts{oom.time, oom.requested_bytes, oom.free};
    }
    if (!digest.problem.empty()) {
      facts.troubles.push_back({.code = RankProblem::kUnreadable, .text = digest.problem});
    }
    return facts;
  }

  static void AddHosts(RanksAnswer& answer) {
    std::set<std::pair<std::string, std::int64_t>> hosts;
    for (const RankFacts& facts : answer.ranks) {
      if (!facts.host.empty() || facts.node) {
        hosts.emplace(facts.host, facts.node.value_or(-1));
      }
    }
    answer.hosts = hosts.size();
  }

  // What the set found, at the ranks that it is about.
  void AddTroubles(RanksAnswer& answer) const {
    const RankSet& set = answer.set;
    std::map<std::int64_t, std::size_t> row_of_rank;
    for (std::size_t i = 0; i < answer.ranks.size(); ++i) {
      row_of_rank[answer.ranks[i].rank] = i;
    }
    for (const DoubleRank& twice : set.doubles) {
      for (const std::size_t other : twice.others) {
        answer.ranks[row_of_rank[twice.rank]].troubles.push_back(
            {.code = RankProblem::kTwice, .text = digests_[other].path});
      }
    }
    for (const std::vector<std::size_t>& same : set.same_content) {
      AddSameBytes(same, answer);
    }
    for (const WrongDevice& wrong : set.wrong_devices) {
      AddWrongDevice(wrong, answer.ranks[row_of_rank[wrong.rank]]);
    }
    for (const std::size_t file : set.conflicts) {
      const auto row = row_of_file_.find(file);
      for (const IdentityConflict& conflict : files_[file].identity.conflicts) {
        if (row != row_of_file_.end()) {
          answer.ranks[row->second].troubles.push_back(
              {.code = RankProblem::kConflict, .text = conflict.kept + " or " + conflict.other});
        }
      }
    }
  }

  void AddSameBytes(const std::vector<std::size_t>& files, RanksAnswer& answer) const {
    std::optional<std::int64_t> first;
    for (const std::size_t file : files) {
      const auto row = row_of_file_.find(file);
      if (row == row_of_file_.end()) {
        continue;
      }
      RankFacts& rank = answer.ranks[row->second];
      if (first) {
        rank.troubles.push_back({.code = RankProblem::kSameBytes, .other = *first});
      }
      first = first ? first : rank.rank;
    }
  }

  void AddWrongDevice(const WrongDevice& wrong, RankFacts& rank) const {
    const Digest& digest = digests_[wrong.file];
    for (const std::int64_t other : wrong.others) {
      const auto device =
          std::find_if(digest.devices.begin(), digest.devices.end(),
                       [other](const DigestDevice& one) { return one.device == other; });
      const bool only = digest.fullest && &digest.devices[*digest.fullest] == &*device;
      const auto ordinal = static_cast<std::int32_t>(other);
      if (only && wrong.expected) {
        rank.troubles.push_back(
            {.code = RankProblem::kWrongDevice, .other = *wrong.expected, .device = ordinal});
      } else if (!only && digest.format == "torch_snapshot") {
        // Elsewhere one process may drive all devices of its host.
        rank.troubles.push_back({.code = RankProblem::kTwoDevices,
                                 .other = std::max(device->peak, device->reserved_peak),
                                 .device = ordinal});
      }
    }
  }

  [[nodiscard]] std::vector<RankCause> FindCauses(const std::vector<RowDifference>& rows) const {
    std::vector<RankCause> causes;
    causes.reserve(rows.size());
    for (const RowDifference& row : rows) {
      causes.push_back({names_[row.key].first, names_[row.key].second, row.between});
    }
    return causes;
  }

  void AddClasses(RanksAnswer& answer) const {
    std::vector<RankMemory> memories;
    std::vector<std::size_t> row_of;  // of answer.ranks, per element of memories
    for (std::size_t i = 0; i < answer.ranks.size(); ++i) {
      if (answer.ranks[i].read) {
        memories.push_back(
            {answer.ranks[i].rank, answer.ranks[i].peak, rows_[answer.set.ranks[i].file]});
        row_of.push_back(i);
      }
    }
    if (memories.empty()) {
      return;
    }
    const RankClasses found = ClassifyRanks(memories, answer.set.expected);
    answer.structure = found.structure;
    answer.median_peak = found.median;
    for (std::size_t i = 0; i < found.classes.size(); ++i) {
      const RankClass& one = found.classes[i];
      RankClassFacts facts{.peak = one.median,
                           .least = one.least,
                           .most = one.most,
                           .reserved_peak = answer.ranks[row_of[one.typical]].reserved_peak,
                           .differs = FindCauses(one.differences),
                           .wide = one.wide};
      facts.half_of = one.half_of == kNoRow ? std::nullopt : std::optional(one.half_of);
      for (const std::size_t member : one.members) {
        facts.ranks.push_back(memories[member].rank);
        answer.ranks[row_of[member]].in_class = i;
      }
      answer.classes.push_back(std::move(facts));
    }
    for (const RankOutlier& outlier : found.outliers) {
      RankFacts& rank = answer.ranks[row_of[outlier.row]];
      rank.outlier = outlier.above;
      rank.because = FindCauses(outlier.because);
    }
  }

  std::vector<Digest> digests_;
  const std::vector<std::vector<RowBytes>>& rows_;
  const std::vector<std::pair<std::string, std::string>>& names_;
  std::vector<RankFile> files_;
  std::map<std::size_t, std::size_t> row_of_file_;
};

}  // namespace

Result<RanksAnswer> RanksMaker::Make(const RanksQuery& query) && {
  State& state = *state_;
  const std::vector<std::uint32_t> places = state.names.Places();
  std::vector<std::pair<std::string, std::string>> names(places.size());
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    names[places[i]] = state.names[i];
  }
  auto& held = state.held;
  std::sort(held.begin(), held.end(), [](const State::Held& a, const State::Held& b) {
    // A log of several ranks is a digest for each of them.
    return a.digest.path != b.digest.path
               ? NaturalLess(a.digest.path, b.digest.path)
               : std::tie(a.digest.hash, a.digest.rank) < std::tie(b.digest.hash, b.digest.rank);
  });
  // The same input twice is one: what was done again, or by two workers.
  const auto same = [](const State::Held& a, const State::Held& b) {
    return a.digest.path == b.digest.path && a.digest.hash == b.digest.hash &&
           a.digest.rank == b.digest.rank;
  };
  held.erase(std::unique(held.begin(), held.end(), same), held.end());
  std::vector<Digest> digests;
  std::vector<std::vector<RowBytes>> rows;
  for (State::Held& one : held) {
    for (RowBytes& row : one.rows) {
      row.key = places[row.key];
    }
    std::sort(one.rows.begin(), one.rows.end(),
              [](const RowBytes& a, const RowBytes& b) { return a.key < b.key; });
    digests.push_back(std::move(one.digest));
    rows.push_back(std::move(one.rows));
  }
  held = {};
  return AnswerMaker(std::move(digests), rows, names).Make(query);
}

}  // namespace memtool
