// Which process of a job wrote a file, by the names that launchers, trainers and schedulers give.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "memtool/profile/answers/ranks.h"
#include "memtool/profile/ranks/identity.h"
#include "ranks/names/rank_pattern.h"

namespace memtool::commands {

// The unit test lists the names. A field is looked for in every component, the last one first; it
// never begins inside a word. Both kinds of slashes separate components. Give paths below the
// folder that was named: numbers of folders above it say nothing.
RankIdentity IdentityFromPath(std::string_view path);

// For files of which nothing tells the process: the one number that varies among paths that are
// otherwise equal is taken as the rank, if no other number varies, no two have the same, and it can
// be a rank at all (not "v2", "run7", "seed3", dates, steps of JAX's memory profiles, numbers that
// rise by hundreds). `paths` and `identities` are parallel; what was guessed has `how` kGuess.
void GuessRanks(std::span<const std::string> paths, std::span<RankIdentity> identities);

// Both: `pattern` is believed before what contents say, and contents before other names. Errors of
// what it returns: those of RankPattern::Of.
RanksQuery::Identify IdentifyByNames(std::optional<RankPattern> pattern = {});

}  // namespace memtool::commands
