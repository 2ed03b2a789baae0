// What a plane of the host says about memory: allocator events, and the spans around them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memtool/profile/base/key_hash.h"
#include "support/byte_interner.h"
#include "xplane/plane.h"
#include "xplane/span_tree.h"

namespace memtool::formats::xplane {

struct HostEvents {
  std::optional<std::int64_t> base_ns;  // begin of the first line with memory events
  std::vector<MemoryEvent> memory;
  SpanTree spans;  // around memory events, across threads; names: rows of `texts`
  std::vector<Step> steps;
  ByteInterner texts;                // of the space: Space::texts
  KeySet<std::uint32_t> code_spans;  // rows of `texts`: see Plane::code_spans
  std::uint64_t bad_figures = 0;     // of memory events, below 0: left out
  std::uint64_t bad_events = 0;      // memory events without a size, address or usable time
  std::uint64_t late = 0;  // memory events far from their place among others of their thread
  bool python = false;     // there are spans of functions of Python
  bool jax = false;        // there are spans that JAX writes
};

// Adds what `plane` holds, and frees what is not needed any more. Throws ReadError.
void Collect(Plane& plane, HostEvents& host);

// Gives frees without a size, as a TPU's runtime writes them, that of what was allocated there,
// else the change of the allocator's own total. Those that neither tells are moved to bad_events.
void SizeFrees(HostEvents& host);

}  // namespace memtool::formats::xplane
