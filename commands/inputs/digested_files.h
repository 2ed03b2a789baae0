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

// The file that a digest of the file `digests` stands for. Errors: kIo where it is not there any
// more or has other bytes.
Result<std::string> FileOfDigest(const Digest& digest, const std::string& digests);

// The names with files of digests replaced by the files that these are of, each once, by name with
// numbers as numbers. A path that is not absolute is looked for here, then beside the digests. A
// file that could not be read when it was indexed is named too, so that reading it says why.
// Errors: kIo where a file is not there any more or has other bytes (unless `keep_going`: then it
// is named on stderr and left out); those of reading digests.
Result<std::vector<std::string>> WithDigestsRead(const std::vector<std::string>& names,
                                                 const formats::Limits& limits, bool keep_going,
                                                 Streams& streams);

}  // namespace memtool::commands
