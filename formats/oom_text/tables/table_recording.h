// A table of XLA as a recording: the buffers of a program as a profile, the chunks of an allocator
// as a history of one moment.
#pragma once

#include <cstdint>
#include <optional>

#include "memtool/formats/oom_text.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"

namespace memtool::formats::oom_text {

enum class TableKind : std::uint8_t { kAny, kPool };

// The first program of the log that lists buffers, else (or for kPool) its first dump of chunks.
// None when it has neither.
std::optional<Result<Recording>> ToRecording(const OomLog& log, TableKind kind);

}  // namespace memtool::formats::oom_text
