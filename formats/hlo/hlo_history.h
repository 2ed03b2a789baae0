// A compiled program as a history. Per memory (colour) one trace: what is there for the whole
// program (parameters, outputs, constants, thread-local memory) stands in front, as listed from
// before; then the heap's buffers come and go in the order of the program.
#pragma once

#include "hlo/hlo_program.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool::formats::hlo {

// Sets history, settings (names and totals), diagnostics and blind spots. Throws ReadError when the
// program's allocations add up to more than 2^62 bytes.
void AddProgram(const HloProgram& program, RecordingBuilder& builder);

}  // namespace memtool::formats::hlo
