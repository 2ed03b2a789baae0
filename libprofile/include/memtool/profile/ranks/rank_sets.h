// The files of a job in sets that may be compared: one step of one role in one attempt. Nothing is
// left out silently: each file is in exactly one set, and what is odd about a set is listed in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/ranks/identity.h"

namespace memtool {

enum class FileProblem : std::uint8_t {
  kNone,
  kEmpty,       // no bytes
  kCutOff,      // ends too early
  kUnreadable,  // damaged, refused by the system, or of no known format
};

using ContentHash = std::array<std::uint64_t, 2>;

// What is known of one input. Rows of the span that is given to GroupRanks are what all results
// below call a file.
struct RankFile {
  std::string path;
  RankIdentity identity{};
  std::optional<ContentHash> content{};  // none: not known, such as of a file that cannot be read
  std::string format{};                  // the reader's name; may be empty
  std::vector<std::int64_t> devices{};   // indices of those with any bytes, ascending
  FileProblem problem = FileProblem::kNone;
};

struct RankSetKey {
  std::string job{};
  std::optional<std::int64_t> attempt{};
  std::optional<std::int64_t> step{};
  std::string role{};
  bool at_oom = false;  // what was written when memory had run out is of another moment
  bool operator==(const RankSetKey&) const = default;
};

// How a file came to its rank.
enum class RankRule : std::uint8_t {
  kReported,      // identity.rank
  kNodeAndLocal,  // node · GPUs per node + local rank
  kLocal,         // the local rank, where no node is reported
  kNode,          // one process per node
  kHostAndPid,    // its place among hosts and pids in order of their names: a number, not a rank
  kNone,
};

struct RankMember {
  std::size_t file = 0;
  std::int64_t rank = 0;
  RankRule rule = RankRule::kReported;
};

enum class DoubleReason : std::uint8_t {
  kCopies,     // equal content
  kProcesses,  // other pids or hosts: another role, a restart, or every process took itself for 0
  kTimes,      // the same process, later
  kFormats,    // a trace and a snapshot, say
  kUnknown,
};

// A rank with more than one file; that of RankSet::ranks is the one to use: without a problem, the
// newest, else the first by name.
struct DoubleRank {
  std::int64_t rank = 0;
  DoubleReason reason = DoubleReason::kUnknown;
  std::vector<std::size_t> others{};  // files that are not used
};

// A file whose bytes lie on devices where those of this rank should not.
struct WrongDevice {
  std::size_t file = 0;
  std::int64_t rank = 0;
  std::optional<std::int64_t> expected{};  // none: not known, but there is more than one device
  std::vector<std::int64_t> others{};      // the devices that are not it
};

enum class ExpectedFrom : std::uint8_t {
  kWorld,    // the files report how many ranks there are
  kHighest,  // the highest rank of any step of this job and role
};

struct RankSet {
  RankSetKey key;
  bool job_is_folder = false;
  std::size_t folders = 1;          // more: the job's ranks lie in so many folders side by side
  std::vector<RankMember> ranks{};  // ascending, each rank once
  std::vector<std::size_t> without_rank{};  // files whose process is unknown
  std::vector<DoubleRank> doubles{};        // ascending
  std::int64_t expected = 0;                // how many ranks there should be; at most 2^31
  ExpectedFrom expected_from = ExpectedFrom::kHighest;
  std::vector<std::int64_t> missing{};  // ascending, at most kMaxMissing
  std::int64_t missing_count = 0;
  // Files with equal content under several ranks: copied, or one rank wrote over another's.
  std::vector<std::vector<std::size_t>> same_content{};
  std::vector<WrongDevice> wrong_devices{};  // by rank
  std::optional<std::int64_t> per_node{};    // GPUs per node, where devices or local ranks say
  std::vector<std::size_t> problems{};       // files with one; they are in the lists above, too
  std::vector<std::size_t> conflicts{};      // files whose sources contradict each other
};

inline constexpr std::size_t kMaxMissing = 10'000;

// Sets in order: jobs by name, attempts, steps, then roles; what has no step before what has one.
// The order of the files makes no difference but to their rows.
std::vector<RankSet> GroupRanks(std::span<const RankFile> files);

// What the user asked for; what is not given is chosen.
struct SetChoice {
  std::optional<std::string> job{};
  std::optional<std::int64_t> step{};
  std::optional<std::int64_t> attempt{};
  std::optional<std::string> role{};
};

// The row of the set to show: of the job with the most ranks (of equal ones the last by name) and
// its role with the most (of equal ones the first by name), the newest attempt and step that more
// than half of those ranks have, or, where none has, the one with the most. Written at an
// out-of-memory error counts as later than the same step without. Errors: kUsage with what there
// is, where no set has what was asked for; or there is no set.
Result<std::size_t> ChooseSet(std::span<const RankSet> sets, const SetChoice& choice);

}  // namespace memtool
