// Which of several ran out first; internal to answers/oom.
#pragma once

#include <optional>
#include <string_view>

#include "memtool/profile/answers/oom.h"

namespace memtool {

// "rank3.log", "snapshot_rank-3.pickle", ".../3/stderr.log" as torchrun makes them. None when
// neither the file nor the folders name one.
std::optional<int> RankOfPath(std::string_view path);

// The first of a log's messages with a rank and a time, and the next of another rank; none where
// there are not two.
std::optional<OomOrder> GetOrder(const OomMessages& messages);

}  // namespace memtool
