// Colours of terminals that have 256 of them, near those of Okabe and Ito, which people with any
// kind of colour vision can tell apart. OutputOptions decides whether there are colours at all.
#pragma once

#include <array>

namespace memtool::commands {

inline constexpr int kNoColor = 0;  // the terminal's own
inline constexpr int kVermilion = 166;
inline constexpr int kBluishGreen = 36;
inline constexpr int kGrew = kVermilion;
inline constexpr int kShrank = kBluishGreen;
inline constexpr int kAlarm256 = kVermilion;

// For what has no meaning of its own: blue, orange, bluish green, reddish purple, yellow, sky blue,
// vermilion, and light forms of three.
inline constexpr std::array<int, 10> kSeries{32, 214, 36, 175, 227, 74, 166, 223, 115, 146};
inline constexpr int kBeforeColor = 244;  // what was there before
inline constexpr int kRestColor = 250;    // what the others leave

}  // namespace memtool::commands
