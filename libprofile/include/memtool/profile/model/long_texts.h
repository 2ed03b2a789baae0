// Names of kilobytes, which a file holds once and every row of an answer repeats.
#pragma once

#include "memtool/profile/model/recording.h"

namespace memtool {

// Where all samples, events and blocks together repeat texts above 4 KiB for many times what the
// recording's texts hold, these become their two ends (1 KiB at least), and a note says so: an
// input of kilobytes must not become an answer of gigabytes. Texts keep their ids, and those that
// differ stay different.
void AbridgeLongTexts(Recording& recording);

}  // namespace memtool
