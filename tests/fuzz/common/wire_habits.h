// Which of the differences between our pprof reader and libprotobuf the bytes of a profile may show
// (protobuf_profile.h lists them).
#pragma once

#include <cstddef>
#include <span>

namespace memtool::fuzz {

struct WireStyle {
  bool stricter = false;  // our reader may refuse it
  bool looser = false;    // libprotobuf may refuse it
};

WireStyle FindHabits(std::span<const std::byte> profile);

}  // namespace memtool::fuzz
