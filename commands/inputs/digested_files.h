// Digests as inputs of commands that need more of a file than its digest tells: they stand for
// their files.
#pragma once

#include <string>
#include <vector>

#include "base/command.h"
#include "memtool/formats/limits.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/ranks/digest.h"

namespace memtool::commands {

// Which files digests may stand for. A digest is input as any other: it opens no file but a regular
// one below `root`, or below its own folder where that is empty, of its size and its hash.
struct DigestedFiles {
  std::string root;
  formats::Limits limits;
  bool keep_going = false;  // digests without such a file are named on stderr and left out
};

// The file that a digest of the file `digests` stands for. A path that is not absolute is looked
// for from here, then from the root. Errors: kIo where there is none, or one with other bytes;
// kLimit.
Result<std::string> FileOfDigest(const Digest& digest, const std::string& digests,
                                 const DigestedFiles& files);

// The names with files of digests replaced by the files that these are of, each once, by name with
// numbers as numbers. A file that could not be parsed when it was indexed is named too, so that
// reading it says why. Errors: those of FileOfDigest and of reading digests.
Result<std::vector<std::string>> WithDigestsRead(const std::vector<std::string>& names,
                                                 const DigestedFiles& files, Streams& streams);

}  // namespace memtool::commands
