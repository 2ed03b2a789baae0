// The first page of a capture log.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "../../../capture/wire.h"
#include "memtool/formats/byte_window.h"

namespace memtool::formats::capture_log {

bool HasMagic(std::span<const std::byte> head);

// Leaves `in` after the header. Throws ReadError.
wire::Header ReadHeader(ByteWindow& in);

// A text field of the header: up to its NUL, if it has one.
template <std::size_t kSize>
std::string FixedText(const std::array<char, kSize>& text) {
  return {text.data(), strnlen(text.data(), kSize)};
}

}  // namespace memtool::formats::capture_log
