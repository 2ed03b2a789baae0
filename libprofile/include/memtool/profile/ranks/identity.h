// Which process of a job wrote a file, and who says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memtool {

// Who says which rank it is; of two, the later one is believed.
enum class IdentityHow : std::uint8_t {
  kNone,     // nobody
  kGuess,    // a number that varies among siblings, or one that could be something else
  kPath,     // a name that is made to say it
  kContent,  // the file itself
  kUser,     // an expression that the user gave
};

// The name as JSON shows it: "none", "guess", "path", "content", "user".
std::string_view IdentityHowName(IdentityHow how);

enum class IdentityField : std::uint8_t {
  kRank,
  kLocalRank,
  kNode,
  kStep,
  kAttempt,
  kPid,
  kWorld,
  kTime,
  kHost,
  kJob,
  kRole,
};

// Two sources contradict each other; texts are bytes of inputs.
struct IdentityConflict {
  IdentityField field = IdentityField::kRank;
  std::string kept{};
  std::string other{};
};

struct RankIdentity {
  std::optional<std::int64_t> rank{};        // in the whole job
  std::optional<std::int64_t> local_rank{};  // among those of its node
  std::optional<std::int64_t> node{};        // as the job numbers them
  std::optional<std::int64_t> step{};        // iteration, batch, …
  std::optional<std::int64_t> attempt{};     // how often the job was started before
  std::optional<std::int64_t> pid{};
  std::optional<std::int64_t> world{};  // how many ranks the job has
  std::optional<std::int64_t> time{};   // as written, of any unit: newer is larger
  std::string host{};
  std::string job{};  // a scheduler's number, or the folder below which the job's files lie
  bool job_is_folder = false;  // `job` is only where the file lies
  std::string role{};          // "actor", "critic", "replica_1": processes of other programs
  bool at_oom = false;         // the name says that memory had run out
  // Of the rank, or of what it is worked out from where there is none (local rank, host and pid).
  IdentityHow how = IdentityHow::kNone;
  std::vector<IdentityConflict> conflicts{};

  // The place of a field that is a number; null for host, job and role.
  std::optional<std::int64_t>* Number(IdentityField field);
};

// Whether the process can be distinguished from others of its job.
inline bool NamesProcess(const RankIdentity& identity) {
  return identity.rank || identity.local_rank || identity.node || identity.pid ||
         !identity.host.empty();
}

// Field by field, `better` before `other`. Where both have a field and differ, that of `better` is
// kept and the conflict noted, but for jobs that are folders and for roles.
RankIdentity Combine(RankIdentity better, RankIdentity other);

}  // namespace memtool
