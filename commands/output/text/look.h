// How text for people looks where it goes.
#pragma once

#include <functional>
#include <string_view>

#include "output/text/links.h"
#include "output/text/palette.h"

namespace memtool::commands {

struct Look {
  // Of the terminal, if there is one and it is to be coloured. May ask it for its background, so it
  // is called where colours are printed.
  std::function<Palette()> palette = [] { return Palette(); };
  bool in_files = false;  // colours there as well
  Links links{};
  bool ascii = false;

  // For text that goes to `output`, a file or "-".
  [[nodiscard]] Palette PaletteFor(std::string_view output) const {
    return output == "-" || in_files ? palette() : Palette();
  }
};

}  // namespace memtool::commands
