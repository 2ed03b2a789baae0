// Marks that stand for a program's steps, and the events that they lie between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memtool/profile/model/history.h"

namespace memtool {

// A step by the clock: events after `begin`, up to and including `end`.
struct StepSpan {
  std::string name;  // of its mark
  std::int64_t begin = kNoTime;
  std::int64_t end = kNoTime;
};

struct StepSpans {
  std::vector<StepSpan> list;  // in order of time, without overlap
  bool unfinished = false;     // the last has no end of its own
};

// "ProfilerStep#3" is a ProfilerStep and "step 3" a step; "Optimizer.step#AdamW.step" has no
// number.
std::string_view MarkWithoutNumber(std::string_view name);

// The marks that `wanted` names, with or without their numbers; of one device, where a mark was
// recorded for several.
StepSpans SpansOfMarks(const History& history, std::string_view wanted);

// The marks that serve as steps where nobody named any: ProfilerStep, else Optimizer.step, else
// what programs and logs number as steps, iterations or epochs, if there are at least `fewest` of
// them. First: their name; empty for none.
std::pair<std::string, StepSpans> FindStepMarks(const History& history, std::size_t fewest);

// Per event its time; clocks in files step back, this one never does.
std::vector<std::int64_t> ForwardClock(std::span<const Event> events);

}  // namespace memtool
