// What a recording says, as text that does not depend on how its rows are numbered: two recordings
// that mean the same have the same texts.
#pragma once

#include <string>

#include "memtool/profile/model/recording.h"

namespace memtool::fuzz {

// A line per distinct stack and label set, sorted, with the sums (modulo 2^64) of its samples in
// every sample type; before them the types. Labels that pprof reads as absent (no text, number 0,
// no unit) are left out. Empty without samples.
std::string SamplesText(const Recording& recording);

// Traces with their events, marks, allocator state and settings. Empty without a history.
std::string HistoryText(const Recording& recording);

// The events of devices alone, without their labels, as far as a snapshot can hold them: names are
// UTF-8, an action without meaning is as good as any other.
std::string DeviceEventsText(const Recording& recording);

}  // namespace memtool::fuzz
