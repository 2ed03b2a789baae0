// The user's own expression for paths of which memtool cannot read who wrote them (--rank-from).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/base/result.h"
#include "memtool/profile/ranks/identity.h"

namespace re2 {
class RE2;
}

namespace memtool::commands {

// RE2 syntax, unanchored, over the whole path. Named groups say what is what:
// (?P<rank>…), local, node, step, attempt, pid, world, host, job, role. Cheap to copy.
class RankPattern {
 public:
  // Errors: kUsage for what is not a regular expression, has a group of another name, or none that
  // distinguishes processes (rank, local, host, pid).
  static Result<RankPattern> Compile(const std::string& text);

  // Only the fields of groups that took part; without a match, or where no group that tells
  // processes apart took part, `how` is kNone. Errors: kUsage where a group that should be a number
  // below 2^63 is none.
  [[nodiscard]] Result<RankIdentity> Of(std::string_view path) const;

 private:
  using Group = std::pair<int, IdentityField>;  // number within the expression

  RankPattern(std::shared_ptr<const re2::RE2> regex, std::vector<Group> groups);

  std::shared_ptr<const re2::RE2> regex_;
  std::vector<Group> groups_;
};

}  // namespace memtool::commands
