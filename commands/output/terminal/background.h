// Whether the terminal's background is dark or light, as far as it can be told.
#pragma once

#include <optional>
#include <string_view>

#include "output/text/palette.h"

namespace memtool::commands {

// From $COLORFGBG, which rxvt, Konsole and iTerm2 set; else from the terminal itself (OSC 11,
// answered by xterm and nearly all after it), which has 200 ms to answer. It is not asked where an
// answer could come late or take what somebody typed: across ssh, in the background, with input
// waiting. What it was first told stays: a process asks once.
std::optional<Theme> ThemeOfTerminal();

// "15;0", "0;default;15": none where the last part is no number.
std::optional<Theme> ThemeOfColorFgBg(std::string_view text);
// "…]11;rgb:1e1e/1e1e/1e1e…", with one to four digits for a part: none where that is not there.
std::optional<Theme> ThemeOfAnswer(std::string_view text);

}  // namespace memtool::commands
