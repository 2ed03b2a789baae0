// Where the steps of a history are, per trace; internal to growth_history.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "memtool/profile/growth/growth_history.h"

namespace memtool {

// A step of one trace: from the state after event `first` to the state after event `last`.
struct Step {
  std::int64_t first = -1;
  std::int64_t last = -1;
};

struct ChosenTrace {
  const Trace* trace = nullptr;
  Step range;
  std::vector<Step> steps;
};

struct HistorySteps {
  std::vector<ChosenTrace> traces;  // those that have events, each with as many steps
  std::vector<std::string> names;   // per step
  std::string mark;                 // whose marks they are
  StepsBy source = StepsBy::kParts;
  std::size_t merged = 1;   // marks per step, where there are more than kMaxParts
  bool marked = false;      // the file has marks that could be steps, used or not
  bool unfinished = false;  // a last mark without an end was left out
  // So many steps were found, which are nearly all of the history and too few to show a trend; 0
  // where that is not so.
  std::size_t few = 0;
  // Equal parts, of which there are fewer than usual because each is a single event.
  bool single_events = false;
};

// Errors: kUsage, as for GrowthOfHistory.
Result<HistorySteps> StepsOfHistory(const HistoryIndex& index, const StepOptions& options);

}  // namespace memtool
