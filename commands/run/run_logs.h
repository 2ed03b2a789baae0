// The logs of one `memtool run`: found by the run's number in their headers, summed up in one line
// each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace memtool::commands {

// Logs of this run where the name's pattern (absolute; %h, %p, %r, %%) can have put them, sorted.
std::vector<std::filesystem::path> FindRunLogs(const std::string& pattern, std::uint64_t run);
// Why there is none, as far as the folder can show.
std::string WhyNoLog(const std::string& pattern);
// Events and peaks, or what is wrong with the log.
std::string SummarizeLog(const std::filesystem::path& log);

}  // namespace memtool::commands
