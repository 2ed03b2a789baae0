#include "memtool/profile/ranks/identity.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "ranks/path_words.h"
#include "ranks/whole_names.h"
#include "ranks/word_fields.h"

namespace memtool {

namespace {

using Components = std::span<const std::string_view>;

// Folders that a job makes for its files.
constexpr std::array<std::string_view, 15> kFoldersOfJobs{
    "memory_snapshot",     "memory_snapshots", "profile_traces", "profile_trace",
    "comm_traces",         "comm_trace",       "torch_traces",   "oom_traces",
    "torch_memory_traces", "torchrun",         "plugins",        "msrun_log",
    "worker_output",       "mem_snapshots",    "nsys_profiles"};

std::optional<std::int64_t>* Place(RankIdentity& identity, IdentityField field) {
  switch (field) {
    case IdentityField::kRank:
      return &identity.rank;
    case IdentityField::kLocalRank:
      return &identity.local_rank;
    case IdentityField::kNode:
      return &identity.node;
    case IdentityField::kStep:
      return &identity.step;
    case IdentityField::kAttempt:
      return &identity.attempt;
    case IdentityField::kPid:
      return &identity.pid;
    case IdentityField::kWorld:
      return &identity.world;
    case IdentityField::kTime:
      return &identity.time;
    default:
      return nullptr;
  }
}

void Fill(RankIdentity& identity, IdentityField field, std::int64_t value) {
  std::optional<std::int64_t>* const place = Place(identity, field);
  if (!place->has_value()) {
    *place = value;
  }
}

// Where in a component a field may be taken from. A word that often means something else counts in
// the file's name, and in a folder whose name is nothing but the field ("worker_3", "batch32").
bool Counts(const WordField& field, std::size_t words, bool is_file) {
  return field.trust == WordTrust::kMade || is_file || (field.begin == 0 && field.end == words);
}

class PathReader {
 public:
  explicit PathReader(Components components)
      : components_(components), job_ends_(components.size() - 1) {}

  RankIdentity Read() {
    WholeName name = ReadWholeName(components_);
    identity_ = std::move(name.found);
    job_ends_ = components_.size() - name.components;
    ReadComponent(name.rest, components_.size() - 1);
    for (std::size_t at = components_.size() - 1; at-- > 0;) {
      ReadComponent(components_[at], at);
    }
    UseDoubtful();
    if (identity_.job.empty()) {
      NameJob();
    }
    return std::move(identity_);
  }

 private:
  void ReadComponent(std::string_view text, std::size_t at) {
    const bool is_file = at + 1 == components_.size();
    const std::vector<PathWord> words = PathWords(text);
    bool of_job =
        std::find(kFoldersOfJobs.begin(), kFoldersOfJobs.end(), text) != kFoldersOfJobs.end();
    for (const WordField& field : WordFieldsOf(words)) {
      if (!Counts(field, words.size(), is_file)) {
        continue;
      }
      of_job = true;
      if (field.trust == WordTrust::kMade) {
        Fill(identity_, field.field, field.value);
      } else {
        Fill(doubtful_, field.field, field.value);
      }
    }
    lone_r_ = is_file ? LoneR(words) : lone_r_;
    const std::string role = RoleIn(words);
    if (identity_.role.empty()) {
      identity_.role = role;
    }
    of_job = of_job || (!role.empty() && role.size() == text.size());
    if (SaysOom(words, !is_file)) {
      identity_.at_oom = true;
      of_job = true;
    }
    if (of_job) {
      job_ends_ = std::min(job_ends_, at);
    }
  }

  void UseDoubtful() {
    if (lone_r_) {
      Fill(identity_, IdentityField::kRank, *lone_r_);
    }
    if (doubtful_.step) {
      Fill(identity_, IdentityField::kStep, *doubtful_.step);
    }
    if (!identity_.rank && !identity_.local_rank) {
      identity_.rank = doubtful_.rank;
      identity_.local_rank = doubtful_.local_rank;
    }
    if (TellsProcess(identity_) && identity_.how == IdentityHow::kNone) {
      identity_.how = IdentityHow::kPath;
    }
  }

  void NameJob() {
    for (std::size_t at = 0; at < job_ends_; ++at) {
      identity_.job += (at == 0 ? "" : "/") + std::string(components_[at]);
    }
    identity_.job_is_folder = true;
  }

  Components components_;
  std::size_t job_ends_;  // components before this one are the job's folder
  RankIdentity identity_;
  RankIdentity doubtful_;
  std::optional<std::int64_t> lone_r_;
};

void JoinNumber(RankIdentity& better, RankIdentity other, IdentityField field) {
  std::optional<std::int64_t>& mine = *Place(better, field);
  const std::optional<std::int64_t>& theirs = *Place(other, field);
  if (!mine) {
    mine = theirs;
  } else if (theirs && *theirs != *mine && field != IdentityField::kTime) {
    better.conflicts.push_back({field, std::to_string(*mine), std::to_string(*theirs)});
  }
}

}  // namespace

std::string_view IdentityHowName(IdentityHow how) {
  switch (how) {
    case IdentityHow::kGuess:
      return "guess";
    case IdentityHow::kPath:
      return "path";
    case IdentityHow::kContent:
      return "content";
    case IdentityHow::kUser:
      return "user";
    case IdentityHow::kNone:
      break;
  }
  return "none";
}

RankIdentity IdentityFromPath(std::string_view path) {
  const std::vector<std::string_view> components = ComponentsOf(path);
  return components.empty() ? RankIdentity{} : PathReader(components).Read();
}

RankIdentity Combine(RankIdentity better, const RankIdentity& other) {
  const bool mine = better.rank || (TellsProcess(better) && !other.rank);
  better.how = mine ? better.how : other.how;
  for (const IdentityField field :
       {IdentityField::kRank, IdentityField::kLocalRank, IdentityField::kNode, IdentityField::kStep,
        IdentityField::kAttempt, IdentityField::kPid, IdentityField::kWorld,
        IdentityField::kTime}) {
    JoinNumber(better, other, field);
  }
  if (better.host.empty()) {
    better.host = other.host;
  } else if (!other.host.empty() && other.host != better.host) {
    better.conflicts.push_back({IdentityField::kHost, better.host, other.host});
  }
  if (better.job.empty() || (better.job_is_folder && !other.job.empty() && !other.job_is_folder)) {
    better.job = other.job;
    better.job_is_folder = other.job_is_folder;
  } else if (!other.job.empty() && !other.job_is_folder && other.job != better.job) {
    better.conflicts.push_back({IdentityField::kJob, better.job, other.job});
  }
  if (better.role.empty()) {
    better.role = other.role;
  }
  better.at_oom = better.at_oom || other.at_oom;
  better.conflicts.insert(better.conflicts.end(), other.conflicts.begin(), other.conflicts.end());
  return better;
}

}  // namespace memtool
