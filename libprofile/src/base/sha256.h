// SHA-256 (FIPS 180-4): for names that must not be guessed back from their stand-ins.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace memtool {

std::array<std::uint8_t, 32> Sha256(std::string_view bytes);

}  // namespace memtool
