// What --xla_dump_to writes about a program's buffers as text: *buffer-assignment.txt (allocations
// and the values in them; in some versions, and with a *live-range.txt behind it, when each is in
// use) and *memory-usage-report.txt (allocations by size, with rounded sizes).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "hlo/hlo_program.h"

namespace memtool::formats::hlo {

enum class TextDump : std::uint8_t { kNone, kBufferAssignment, kUsageReport };

// By how a file begins.
TextDump DetectTextDump(std::string_view head);

struct TextProgram {
  HloProgram program;                 // with heap traces where the text has live ranges
  std::optional<std::int64_t> total;  // that the text states
  std::int64_t precision = 0;         // most bytes that rounding took from a size
  std::int64_t off = 0;               // most bytes that it took from all allocations together
  std::uint64_t not_shown = 0;        // allocations that the report leaves out
  std::uint64_t damaged = 0;          // lines of allocations and values that could not be read
};
TextProgram ReadHloText(std::string_view text, TextDump dump);

}  // namespace memtool::formats::hlo
