// Which numbers of a column are wider than those before them, told by their size: a long table is
// measured without writing every number twice.
#pragma once

#include <array>
#include <cstdint>

#include "memtool/profile/base/sizes.h"
#include "output/text_table.h"

namespace memtool::commands {

class NumberWidths {
 public:
  // False when a number that is at least as wide was given before. True for all that are no
  // numbers. `unit`: what the cell will be printed in.
  bool MayWiden(const Cell& cell, SizeUnit unit);

 private:
  static constexpr std::size_t kForms = 6;  // counts, B, KiB, ... TiB
  static constexpr std::size_t kSigns = 3;  // none, minus, any

  // Per form and sign: magnitudes below this are known to be no wider.
  std::array<std::array<std::uint64_t, kSigns>, kForms> below_{};
};

}  // namespace memtool::commands
