// A tree of folders as inputs: what a job left behind, one file or more per rank.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "memtool/profile/base/result.h"

namespace memtool::commands {

struct TreeFile {
  std::string path;
  bool named = false;  // by the user, and not found in a folder
};

struct FileTree {
  std::vector<TreeFile> files;  // as given, folders replaced by what lies in them, by name with
                                // numbers as numbers
  // Files in folders whose names end as no input does, by that end: ".py", or the whole name.
  std::map<std::string, std::uint64_t> others;
};

// `names`: files, folders, "-". Hidden entries, and folders behind symbolic links, are not gone
// into. Errors: kIo where a folder cannot be read; kLimit for too many entries or too deep a tree.
Result<FileTree> FindFiles(const std::vector<std::string>& names);

}  // namespace memtool::commands
