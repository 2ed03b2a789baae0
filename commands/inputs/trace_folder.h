// A folder as an input: where the profilers of JAX and TensorFlow keep their traces, which users
// know as --logdir. Each call of the profiler is a run, a folder plugins/profile/<run> with a file
// per host. Ascend's profilers leave a folder of tables per process, each of which is an input.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/command.h"
#include "memtool/profile/base/result.h"

namespace memtool::commands {

struct TraceFolder {
  std::vector<std::string> files;  // of the newest run, one per host, by name
  std::string run;                 // its name; empty where the folder itself holds the files
  std::size_t other_runs = 0;      // with traces
  std::vector<std::string> notes;  // what of a folder of tables is read, and what is not
};

// `folder` may be the one that the profiler was given, plugins/profile in it, or one run. The
// newest run is the one with the last name among those that begin with a digit, as the profiler's
// times do, else among all. Of a host's files the xplane.pb is taken before a trace.json. Hidden
// entries do not count. Errors: kIo where a folder cannot be read or holds no trace; kLimit for too
// many entries.
Result<TraceFolder> FindTraces(const std::string& folder);

// The names with their folders replaced by what these hold; says on stderr which run was taken.
// With `keep_going` a folder without traces stays, to be left out where it is opened.
Result<std::vector<std::string>> WithFoldersRead(const std::vector<std::string>& names,
                                                 bool keep_going, Streams& streams);

}  // namespace memtool::commands
