// RAFT's tracking CSV with a row per allocation and deallocation: what each resource holds after
// it, and, in its second form, which resource it was of, how many bytes, and in which ranges they
// were allocated. Source: allocation_event_monitor in raft/mr.
#pragma once

#include <string_view>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/limits.h"
#include "memtool/profile/model/recording_builder.h"

namespace memtool::formats::raft {

bool IsEventHeader(std::string_view line);
// The rest of a file from its header on, as the recording's history. Throws ReadError.
void ReadEvents(ByteWindow& in, const Limits& limits, RecordingBuilder& builder);

}  // namespace memtool::formats::raft
