// Help texts at the width of a terminal.
#pragma once

#include <string>
#include <string_view>

namespace memtool::commands {

// The lines of a help text, made for 80 columns, at `width`; 0 = as they are. Descriptions of
// options and lists hang in their column, prose continues at the left, and a long example is one
// command over two lines that can still be copied.
std::string FitHelp(std::string_view text, unsigned width);

}  // namespace memtool::commands
