// Which process of a job wrote a file: read from its path, or told by its content or the user.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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
};

// Whether anything tells this process from others of its job.
inline bool TellsProcess(const RankIdentity& identity) {
  return identity.rank || identity.local_rank || identity.node || identity.pid ||
         !identity.host.empty();
}

// By the names that launchers and trainers give (the unit test lists them). A field is
// looked for in every component, the last one first; it never begins inside a word. Both kinds of
// slashes separate components. Give paths below the folder that was asked for: numbers of folders
// above it say nothing.
RankIdentity IdentityFromPath(std::string_view path);

// Field by field, `better` before `other`. Where both have a field and differ, that of `better` is
// kept and the conflict noted, but for jobs that are folders and for roles.
RankIdentity Combine(RankIdentity better, const RankIdentity& other);

// For files of which nothing tells the process: the one number that varies among paths that are
// otherwise equal is taken as the rank, if no other number varies, no two have the same, and it can
// be a rank at all (not "v2", "run7", "seed3", dates, steps of JAX's memory profiles, numbers that
// rise by hundreds). `paths` and `identities` are parallel; what was guessed has `how` kGuess.
void GuessRanks(std::span<const std::string> paths, std::span<RankIdentity> identities);

}  // namespace memtool
