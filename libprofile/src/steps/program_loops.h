// What a loop repeats; internal to steps.
#pragma once

#include "memtool/profile/steps/steps.h"

namespace memtool {

struct JudgedLoop {
  StepPhase phase = StepPhase::kOther;  // of most allocations of a repetition
  LoopKind kind = LoopKind::kOther;
};

JudgedLoop JudgeLoop(const TraceAllocations& allocations, const Loop& loop);

}  // namespace memtool
