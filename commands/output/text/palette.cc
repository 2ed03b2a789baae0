#include "output/text/palette.h"

#include <array>

namespace memtool::commands {

namespace {

using Colors = std::array<int, static_cast<std::size_t>(Ink::kSeries) + kSeriesInks>;

// None, grew, shrank, before, rest, then the series: among the colours with enough contrast, those
// far from each other, also as people see them who lack red or green. palette_test.cc has the
// bounds.
constexpr Colors kAnyColors{0,  166, 29, 244, 246,  //
                            32, 137, 30, 163, 64,  198, 93, 26, 196, 165};
constexpr Colors kDarkColors{0,  208, 36, 247, 252,  //
                             39, 214, 36, 175, 227, 117, 202, 223, 115, 146};
constexpr Colors kLightColors{0,  130, 29, 242, 239,  //
                              26, 131, 28, 125, 97,  160, 21, 52, 19, 17};

}  // namespace

int Palette::operator[](Ink ink) const {
  if (!colored_) {
    return kNoColor;
  }
  const Colors& colors = theme_ == Theme::kDark    ? kDarkColors
                         : theme_ == Theme::kLight ? kLightColors
                                                   : kAnyColors;
  return colors[static_cast<std::size_t>(ink)];
}

}  // namespace memtool::commands
