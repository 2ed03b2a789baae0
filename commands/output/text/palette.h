// Colours of terminals that have 256 of them, by what they mean. Grew and shrank are near the
// vermilion and the bluish green of Okabe and Ito, which people with any kind of colour vision tell
// apart. Each theme keeps a contrast (tests/unit/commands/palette_test.cc): kAny can be read on
// black and on white.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtool::commands {

enum class Ink : std::uint8_t {
  kNone,    // the terminal's own
  kGrew,    // also what failed
  kShrank,  // also what is fine
  kBefore,  // what was there before
  kRest,    // what the others leave
  kSeries,  // the first of those that have no meaning of their own
};
inline constexpr std::size_t kSeriesInks = 10;
// They repeat.
constexpr Ink SeriesInk(std::size_t number) {
  return static_cast<Ink>(static_cast<std::size_t>(Ink::kSeries) + number % kSeriesInks);
}

enum class Theme : std::uint8_t { kAny, kDark, kLight };  // of the terminal's background

inline constexpr int kNoColor = 0;

class Palette {
 public:
  Palette() = default;  // no colours at all
  explicit Palette(Theme theme) : theme_(theme), colored_(true) {}

  explicit operator bool() const { return colored_; }
  // Of the 256, or kNoColor.
  [[nodiscard]] int operator[](Ink ink) const;

 private:
  Theme theme_ = Theme::kAny;
  bool colored_ = false;
};

}  // namespace memtool::commands
