// How a CUDA wrapper begins.
#pragma once

#include "base/thread_state.h"
#include "cuda/driver.h"
#include "record/recorder.h"

// The driver's function of this name, or the status of a program without a driver.
#define MEMTOOL_CUDA_REAL(name)                                \
  const auto real = CudaReal<decltype(&::name)>(Cu::k_##name); \
  if (real == nullptr) {                                       \
    return kCuNoDevice;                                        \
  }                                                            \
  const Busy busy;                                             \
  const bool wanted = busy.entered() && Recording()
