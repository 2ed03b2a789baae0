// Recordings that the tests replay: those of testdata/whatif/generate.py and, where they are, real
// ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "memtool/profile/replay/history_index.h"
#include "memtool/profile/whatif/fidelity.h"
#include "memtool/profile/whatif/requests.h"

namespace memtool::tests {

// A line of manifest.tsv: what was true in the run.
struct Generated {
  std::string name;
  std::int64_t limit = 0;  // 0 = none
  std::int64_t retries = 0;
  std::int64_t failed = -1;  // event
};
std::vector<Generated> AllGenerated();
std::shared_ptr<const HistoryIndex> OpenGenerated(const std::string& name);
std::shared_ptr<const HistoryIndex> OpenFile(const std::string& path);
// Names of real snapshots with a history; empty without MEMTOOL_REFERENCE_DATA.
std::vector<std::string> RealFiles();

// Without the first `percent` of a recording's events, as a ring that overflowed leaves it.
std::shared_ptr<const HistoryIndex> WithoutHead(const HistoryIndex& index, int percent);

// The first trace under the file's own settings.
whatif::Requests CollectRequests(const HistoryIndex& index, whatif::Rules rules = {});
whatif::Fidelity ComputeFidelity(const HistoryIndex& index, whatif::Rules rules = {});
// "placements 3/3, segments 2/2 + 0, releases 0/0 + 0, blocks 5/5, reserved 0" and the first
// difference.
std::string Text(const whatif::Fidelity& fidelity);

}  // namespace memtool::tests
