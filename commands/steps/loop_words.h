// Loops in words, for `steps` and `timeline`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "memtool/profile/steps/steps.h"

namespace memtool::commands {

// "24 layers × 208.00 MiB", of forward before backward; empty where no loop is of layers.
std::string LayersText(std::span<const ProgramLoop> loops);

// "1 step by phases", "60 steps by marks (ProfilerStep)", "no steps".
std::string StepsText(std::size_t steps, StepSource source, std::string_view mark);

// A line per kind of loop, in columns. `step_names`: what steps are called, by ProgramLoop::step.
std::vector<std::string> LoopLines(std::span<const ProgramLoop> loops,
                                   std::span<const std::string> step_names);

}  // namespace memtool::commands
