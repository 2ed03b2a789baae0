// What a sequence of classes over ranks looks like.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "memtool/profile/ranks/classes.h"

namespace memtool {

// (rank, class) in ascending order of ranks; `world` is above all of them, or 0.
RankStructure FindStructure(std::span<const std::pair<std::int64_t, std::size_t>> ranks,
                            std::size_t classes, std::int64_t world);

}  // namespace memtool
