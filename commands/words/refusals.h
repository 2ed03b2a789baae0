// What a command says to an input that cannot answer.
#pragma once

#include <string>
#include <string_view>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"
#include "memtool/profile/replay/moment.h"

namespace memtool::commands {

// With the indefinite article that it is spoken with: "a PyTorch snapshot", "an MXNet memory log".
std::string WithArticle(std::string_view noun);

// "a JAX device memory profile (pprof)", then `why`: "has no events".
tl::unexpected<Error> Refuse(ErrorCode code, const Recording& recording, std::string_view why,
                             std::string hint = {});

// An error for a moment other than the end of an input that is one.
Result<void> CheckMoment(const Recording& recording, const MomentSpec& moment);

}  // namespace memtool::commands
