// `memtool diff --align` of two jobs: folders or digests of many ranks, compared rank by rank.
#pragma once

#include <cstddef>
#include <string>

#include "memtool/profile/answers/aligned_ranks.h"
#include "memtool/profile/base/result.h"
#include "options/input_options.h"
#include "options/view_options.h"
#include "output/text_table.h"
#include "session/input_reader.h"

namespace memtool::commands {

// Whether an input is what a job left behind: a folder, but not one of a profiler's traces, or
// digests.
bool IsJob(const std::string& name);

// Reads two files at a time. What keeps a rank from being compared is said in its row. Errors:
// those of walking folders and of making ranks of their files; kUsage where no rank is in both.
Result<AlignedRanksAnswer> AlignJobs(const std::string& base, const std::string& now,
                                     const InputOptions& input, const ViewOptions& view,
                                     InputReader& input_reader);

TextTable AlignedRanksTable(const AlignedRanksAnswer& answer, const std::string& base,
                            const std::string& now, std::size_t limit);

}  // namespace memtool::commands
