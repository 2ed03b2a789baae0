// A job of many files: how much each rank holds, which are alike, which are not, who ran out first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "memtool/profile/answers/answer.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/ranks/classes.h"
#include "memtool/profile/ranks/digest.h"
#include "memtool/profile/ranks/identity.h"
#include "memtool/profile/ranks/rank_sets.h"

namespace memtool {

// What one rank has more (or less) of than another.
struct RankCause {
  std::string name;
  std::string file;
  std::int64_t bytes = 0;
};

enum class RankProblem : std::uint8_t {
  kNone,
  kUnreadable,   // `text` says why
  kTwice,        // another file has the same rank: `path`
  kSameBytes,    // as the file of rank `other`: copied, or written over
  kWrongDevice,  // on device `device` in place of `other`
  kTwoDevices,   // holds `other` bytes on device `device` too
  kConflict,     // the file and its path say different things: `text`
};

struct RankTrouble {
  RankProblem code = RankProblem::kNone;
  std::string text{};
  std::int64_t other = 0;
  std::int32_t device = -1;
};

struct FailureFacts {
  std::int64_t time = kNoTime;
  std::int64_t requested_bytes = 0;
  std::optional<std::int64_t> free;
};

// Bytes. For an unreadable input only the fields derived from its path are set.
struct RankFacts {
  std::int64_t rank = 0;
  std::optional<std::int64_t> local_rank;
  std::optional<std::int64_t> node;
  std::string host;
  std::optional<std::int64_t> step;
  std::optional<std::int64_t> attempt;
  std::string role;
  IdentityHow how = IdentityHow::kNone;
  std::string path;
  bool read = true;
  std::int64_t peak = 0;
  std::int64_t peak_event = -1;
  std::int64_t end = 0;
  std::int64_t reserved_peak = 0;
  std::optional<std::int64_t> headroom;
  std::optional<FailureFacts> oom;      // the first
  std::optional<std::size_t> in_class;  // row of RanksAnswer::classes
  std::int64_t outlier = 0;             // bytes beyond its class's median
  std::vector<RankCause> because;       // of outliers
  std::vector<RankTrouble> troubles;
};

struct RankClassFacts {
  std::vector<std::int64_t> ranks;
  std::int64_t peak = 0;  // the median of its ranks
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::int64_t reserved_peak = 0;      // of the rank with the median peak
  std::vector<RankCause> differs;      // from the largest class
  std::optional<std::size_t> half_of;  // a class of twice the size, row by row
  bool wide = false;                   // too many would be outliers for any to be one
};

// The first allocations that failed; bytes.
struct FirstOom {
  std::int64_t rank = 0;
  std::int64_t time = kNoTime;
  std::optional<std::int64_t> requested_bytes;
  std::optional<std::int64_t> free;
  std::vector<std::int64_t> with;         // other ranks at the same time, as far as clocks can show
  std::optional<std::int64_t> next_rank;  // the one that ran out next
  std::optional<std::int64_t> before_next;  // ns
  std::uint64_t failed = 0;                 // ranks, this one too
  // Reserved bytes of the other ranks at that time, where reported.
  std::uint64_t reported = 0;
  std::optional<std::int64_t> others_median;
  std::optional<std::int64_t> others_most;
};

struct UnrankedFile {
  std::string path;
  std::string problem;  // why it could not be read, or nothing
};

// A set that is not shown.
struct OtherRanks {
  RankSetKey key;
  std::size_t files = 0;
};

struct RanksAnswer {
  AnswerHead head{.question = "ranks", .unit = "bytes"};
  RankSet set;                   // the one that is shown; rows of `ranks` are in its order
  std::vector<RankFacts> ranks;  // by rank
  std::vector<RankClassFacts> classes;
  RankStructure structure;
  std::size_t hosts = 0;  // where known
  std::optional<std::int64_t> median_peak;
  std::optional<FirstOom> first_oom;
  std::vector<UnrankedFile> unranked;
  std::vector<OtherRanks> others;
};

std::string_view ToCode(RankPatternKind kind);

std::span<const Field<RankFacts>> RankFields();
AnswerView MakeView(const RanksAnswer& answer);

struct RanksQuery {
  SetChoice choice{};
  // Adds what paths say to `identities`, which are what contents say; parallel to `paths`.
  using Identify = std::function<Result<void>(std::span<const std::string> paths,
                                              std::span<RankIdentity> identities)>;
  Identify identify{};  // none: contents alone
};

// Digests in any order, any of them any number of times: the answer is the same.
class RanksMaker {
 public:
  RanksMaker();
  ~RanksMaker();
  RanksMaker(RanksMaker&&) noexcept;
  RanksMaker& operator=(RanksMaker&&) noexcept;

  void Add(Digest digest);
  [[nodiscard]] std::size_t size() const;
  // Errors: kUsage for a choice that leaves nothing.
  Result<RanksAnswer> Make(const RanksQuery& query) &&;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace memtool
