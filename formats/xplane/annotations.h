// Which spans the program itself named (jax.profiler.TraceAnnotation, StepTraceAnnotation).
#pragma once

#include <cstdint>
#include <vector>

#include "support/byte_interner.h"
#include "support/code_stacks.h"

namespace memtool::formats::xplane {

// Per node of `code`: the innermost annotation around it, a row of `texts`, or kNoText.
std::vector<std::uint32_t> MakeAnnotations(const CodeStacks& code, const ByteInterner& texts);

}  // namespace memtool::formats::xplane
