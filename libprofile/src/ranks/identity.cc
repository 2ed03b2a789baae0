#include "memtool/profile/ranks/identity.h"

#include <utility>

namespace memtool {

namespace {

void JoinNumber(RankIdentity& better, RankIdentity& other, IdentityField field) {
  std::optional<std::int64_t>& mine = *better.Number(field);
  const std::optional<std::int64_t>& theirs = *other.Number(field);
  if (!mine) {
    mine = theirs;
  } else if (theirs && *theirs != *mine && field != IdentityField::kTime) {
    better.conflicts.push_back({field, std::to_string(*mine), std::to_string(*theirs)});
  }
}

}  // namespace

std::optional<std::int64_t>* RankIdentity::Number(IdentityField field) {
  switch (field) {
    case IdentityField::kRank:
      return &rank;
    case IdentityField::kLocalRank:
      return &local_rank;
    case IdentityField::kNode:
      return &node;
    case IdentityField::kStep:
      return &step;
    case IdentityField::kAttempt:
      return &attempt;
    case IdentityField::kPid:
      return &pid;
    case IdentityField::kWorld:
      return &world;
    case IdentityField::kTime:
      return &time;
    default:
      return nullptr;
  }
}

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

RankIdentity Combine(RankIdentity better, RankIdentity other) {
  const bool mine = better.rank || (NamesProcess(better) && !other.rank);
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
