// What Ascend's profilers leave in a folder, as one input: the tables of one process, joined.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "memtool/profile/model/origin.h"

namespace memtool::formats {

struct ProfilerFolder {
  std::string path;                     // of the folder that holds the tables
  std::vector<std::string> read;        // names of files in it, in the order in which they join
  std::vector<std::string> left_out{};  // tables about memory that do not join, or say less

  // What Open() takes for it: the folder, or the one file that is read.
  [[nodiscard]] std::string InputName() const;
};

// Whether a folder of this name is one of tables: "ASCEND_PROFILER_OUTPUT".
bool IsProfilerOutput(std::string_view name);

// `folder` is one of tables (ASCEND_PROFILER_OUTPUT, mindstudio_profiler_output), or one that a
// profiler made and that has such a one in it (*_ascend_pt, PROF_*). A database is preferred,
// because it has all tables in it. None where there are none about memory.
std::optional<ProfilerFolder> FindProfilerFolder(const std::string& folder);

// The folders of tables below `folder`: itself, or those that the processes of one job left there.
// By name.
std::vector<ProfilerFolder> FindProfilerFolders(const std::string& folder);

// The process of a table by the names around it, which the profiler gave: "HOST_PID_TIME_ascend_pt"
// and "profiler_info_RANK.json". What the input itself says stays.
void TellProcess(const std::string& path, Origin& origin);

}  // namespace memtool::formats
