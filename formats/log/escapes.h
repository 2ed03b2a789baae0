// Lines as a person sees them.
#pragma once

#include <string>
#include <string_view>

namespace memtool::formats::log {

// `line` without escape sequences (CSI, OSC, or two characters) and the zeros of UTF-16; itself
// where it has none, else in `buffer`.
std::string_view Clean(std::string_view line, std::string& buffer);

}  // namespace memtool::formats::log
