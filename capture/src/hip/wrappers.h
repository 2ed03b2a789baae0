// The exported wrappers, with the runtime's signatures.
#pragma once

#include "hip/runtime.h"

namespace memtool::capture {

extern "C" {
#define MEMTOOL_HIP(name, parameters, ...) MEMTOOL_EXPORT HipStatus name parameters;
#include "hip/functions.inc"
#undef MEMTOOL_HIP
}

}  // namespace memtool::capture
