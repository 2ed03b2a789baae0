// Which spans the program itself named (jax.profiler.TraceAnnotation, StepTraceAnnotation).
#pragma once

#include <cstdint>
#include <vector>

#include "support/code_stacks.h"
#include "xplane/host_events.h"

namespace memtool::formats::xplane {

// Per node of `code`: the innermost annotation around it, a row of HostEvents::texts, or kNoText.
// What only the runtime's threads open is none.
std::vector<std::uint32_t> MakeAnnotations(const CodeStacks& code, const HostEvents& host);

}  // namespace memtool::formats::xplane
