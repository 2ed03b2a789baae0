// What is odd about a set of ranks.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "memtool/profile/ranks/rank_sets.h"

namespace memtool {

// Fills missing and missing_count; needs ranks and expected.
void FindMissing(RankSet& set);

// Fills same_content, wrong_devices, per_node, problems and conflicts; needs ranks and doubles.
// `rows`: all files of the set.
void FindInFiles(std::span<const RankFile> files, const std::vector<std::size_t>& rows,
                 RankSet& set);

}  // namespace memtool
