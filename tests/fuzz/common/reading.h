// What fuzz targets share: reading bytes by a reader's name, and saying what did not hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "memtool/formats/limits.h"
#include "memtool/profile/base/result.h"
#include "memtool/profile/model/recording.h"

namespace memtool::fuzz {

// Limits under which no small input may take much time or memory.
formats::Limits SmallLimits();

// Without unpacking and without looking at the first bytes. Aborts when there is no such reader.
Result<Recording> ReadAs(std::string_view reader, std::span<const std::byte> bytes,
                         const formats::Limits& limits = SmallLimits());

inline std::span<const std::byte> GetBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string_view ToText(const std::uint8_t* data, std::size_t size) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the bytes are the text.
  return {reinterpret_cast<const char*>(data), size};
}

// Ends the program, after saying `what`, unless it holds: a finding.
void Require(bool holds, std::string_view what);
// The same for two texts that must be equal; shows where they begin to differ.
void RequireEqual(std::string_view a, std::string_view b, std::string_view what);

}  // namespace memtool::fuzz
