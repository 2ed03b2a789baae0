// Which of a log's messages `memtool oom` explains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "memtool/formats/oom_text.h"
#include "memtool/profile/base/result.h"

namespace memtool::commands {

// The number of the message to explain, from 1: the one that was asked for (negative from the end;
// not checked); else the last of `device` (empty = any) among those that tell most figures: a bare
// "out of memory" often follows them. `log` has messages. Errors: kUsage when none is of the
// device.
Result<std::int64_t> ChooseMessage(const formats::OomLog& log, std::optional<std::int64_t> wanted,
                                   const std::string& device);

// "also in this log, by --message K: 1 (line 12, GPU 3, asked 2.00 GiB)"; without message `number`.
std::string OtherMessages(const formats::OomLog& log, std::int64_t number);

}  // namespace memtool::commands
