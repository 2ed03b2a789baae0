// The JSON form of a profiler's trace ("<host>.trace.json.gz", Chrome's trace events) as the XSpace
// that it was made from, as far as it goes: what such a trace means is decided in one place.
#pragma once

#include <cstdint>

#include "memtool/formats/byte_window.h"
#include "memtool/formats/limits.h"
#include "xplane/plane.h"

namespace memtool::formats::xplane {

struct TraceJson {
  Space space;                   // a plane per process, a line per thread
  std::uint64_t events = 0;      // spans of any process
  std::uint64_t bad_events = 0;  // spans without a name or a usable time: left out
};

// Throws ReadError.
TraceJson ReadTraceJson(ByteWindow& in, const Limits& limits);

}  // namespace memtool::formats::xplane
