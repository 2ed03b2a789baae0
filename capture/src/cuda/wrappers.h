// The exported wrappers, with the driver's signatures.
#pragma once

#include "cuda/driver.h"

namespace memtool::capture {

extern "C" {
#define MEMTOOL_CU(name, base, version, per_thread, parameters, ...) \
  MEMTOOL_EXPORT CuResult name parameters;
#include "cuda/functions.inc"
#undef MEMTOOL_CU
}

}  // namespace memtool::capture
