// Recording → profile.proto, gzipped, as every pprof reads it.
#pragma once

#include <string>

#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"

namespace memtool::formats {

// Errors: kUnsupported when there are no samples; kLimit when the message would pass 2 GiB, which
// protobuf cannot write.
Result<std::string> WritePprof(const Recording& recording);

}  // namespace memtool::formats
