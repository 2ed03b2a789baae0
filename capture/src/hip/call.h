// How a HIP wrapper begins.
#pragma once

#include "base/thread_state.h"
#include "hip/runtime.h"
#include "record/recorder.h"

// The runtime's function of this name, or the status of a program without one.
#define MEMTOOL_HIP_REAL(name)                                 \
  const auto real = HipReal<decltype(&::name)>(Hip::k_##name); \
  if (real == nullptr) {                                       \
    return kHipNoDevice;                                       \
  }                                                            \
  const Busy busy;                                             \
  const bool wanted = busy.entered() && Recording()
