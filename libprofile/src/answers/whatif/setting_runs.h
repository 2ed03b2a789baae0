// The runs of several settings, of which some turn out to be others: these are done once.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "memtool/profile/whatif/scenario.h"

namespace memtool {

// What is pointed to outlives it.
struct SettingRuns {
  const whatif::Requests* requests = nullptr;
  const whatif::AllocatorSettings* settings = nullptr;
  std::vector<whatif::RunOptions> runs{};
  std::vector<whatif::RunResult> results{};  // of each run, once done
};

// Does `first` and every run. Those that differ from another in bounds alone (whatif::SameRun) wait
// for it, and those under a limit for those without.
void DoRuns(std::span<SettingRuns* const> all, std::vector<std::function<void()>> first);

}  // namespace memtool
