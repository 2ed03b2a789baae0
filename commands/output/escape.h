// One escaper per sink. Names from inputs are bytes and hostile: nothing from an input reaches a
// terminal, a file or a browser except through one of these.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "memtool/profile/base/escape.h"

namespace memtool::commands {

// One cell of a markdown table.
std::string EscapeMarkdown(std::string_view bytes);
// The inside of a DOT "escString": text made visible, backslashes doubled. Quoting is cgraph's job.
std::string EscapeDot(std::string_view bytes);

// Text and attributes of XML: text made visible, and its special characters as entities.
std::string EscapeXml(std::string_view bytes);

// Width in terminal cells of text that went through EscapeText.
std::size_t DisplayWidth(std::string_view text);
// Cuts text that went through EscapeText to `width` cells, with "…" in place of the middle. A line
// number at its end, ":216", stays whole where there is room for it.
std::string Shorten(std::string_view text, std::size_t width);
// The same with at most `head` cells before the "…"; 0 cuts from the left.
std::string ShortenAt(std::string_view text, std::size_t width, std::size_t head);

}  // namespace memtool::commands
