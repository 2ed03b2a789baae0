// Inputs as digests: of what is read, or as somebody else made them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/command.h"
#include "inputs/file_tree.h"
#include "memtool/profile/ranks/digest.h"
#include "options/input_options.h"

namespace memtool::commands {

// Leaves out further paths of one file: symbolic links, hard links that name no other rank, "./x"
// beside "x".
void KeepOnce(FileTree& tree);

// Calls `visit` for every digest in the order of the files, several of which are read at a time.
// Files that cannot be read are digests with a problem; those in folders whose bytes no reader
// knows and whose path tells no rank count among `others` instead. `name`: what standard input is
// called; empty = "standard input". Errors: those of `visit`.
Result<void> ForEachDigest(const FileTree& tree, const InputOptions& input, const std::string& name,
                           Streams& streams, std::map<std::string, std::uint64_t>& others,
                           const std::function<Result<void>(Digest)>& visit);

// "12 .py, 3 .txt": files that are no inputs.
std::string OthersText(const std::map<std::string, std::uint64_t>& others);

}  // namespace memtool::commands
