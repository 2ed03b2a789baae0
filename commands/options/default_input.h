// What `memtool top` without a FILE reads.
#pragma once

#include <string>

#include "base/command.h"

namespace memtool::commands {

// In this order: standard input when it is a pipe, socket or regular file and not empty; a pipe
// that is silent for a second yields to $MEMTOOL_PROFILE. Then $MEMTOOL_PROFILE. Then the newest
// regular file of the current folder that a reader recognises for certain, among at most 1,000
// entries. Errors: kUsage when none of these yields anything.
Result<std::string> DefaultInput(Streams& streams);

}  // namespace memtool::commands
