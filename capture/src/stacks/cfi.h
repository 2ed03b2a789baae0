// Call frame rules from .eh_frame, for x86-64: where the caller's stack pointer, frame pointer and
// return address are, at one address. Only the forms that compilers write for ordinary functions;
// anything else is "unsupported" and left to libgcc.
#pragma once

#include <cstdint>

#include "objects/object_table.h"

namespace memtool::capture {

struct FrameRule {
  enum class Kind : std::uint8_t { kUnsupported, kStep, kOutermost };
  Kind kind = Kind::kUnsupported;
  bool from_frame_pointer = false;  // CFA = rbp + offset, else rsp + offset
  bool frame_pointer_saved = false;
  std::int32_t cfa_offset = 0;
  std::int32_t saved_at = 0;  // of rbp, from the CFA; the return address is at CFA - 8
};

// The rule at `address` in `object`.
FrameRule FindRule(const Object& object, std::uintptr_t address);

}  // namespace memtool::capture
