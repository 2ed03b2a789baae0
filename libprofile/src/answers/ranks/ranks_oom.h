// Which rank ran out of memory first, and how full the others were then.
#pragma once

#include <optional>
#include <span>

#include "memtool/profile/answers/ranks.h"

namespace memtool {

// Over all sets of the chosen one's job, attempt and role, whatever their step: the file that a
// failure leaves is often one of its own.
std::optional<FirstOom> FindFirstOom(std::span<const Digest> digests, std::span<const RankSet> sets,
                                     std::size_t chosen);

}  // namespace memtool
