// Call frame rules from .eh_frame, for x86-64: where the caller's stack pointer, frame pointer and
// return address are, at one address. Only the forms that compilers write; anything else is
// "unsupported", and the stack ends there.
#pragma once

#include <cstdint>

#include "objects/object_table.h"

namespace memtool::capture {

// In one word, so that threads can share it without a lock. The return address is at CFA - 8.
struct FrameRule {
  enum class Kind : std::uint8_t { kUnsupported, kStep, kOutermost, kSignal };
  enum How : std::uint8_t {
    kFromFramePointer = 1,   // CFA = rbp + offset, else rsp + offset
    kCfaStored = 2,          // the CFA is stored there
    kFramePointerSaved = 4,  // rbp is saved, at the CFA + words
    kSavedFromItself = 8,    // at rbp + words instead
  };
  Kind kind = Kind::kUnsupported;
  std::uint8_t how = 0;
  std::int16_t saved_words = 0;
  std::int32_t cfa_offset = 0;
};
static_assert(sizeof(FrameRule) == 8);

// The rule at `address` in `object`, whose tables are read within their segment only.
FrameRule FindRule(const Object& object, std::uintptr_t address);

}  // namespace memtool::capture
