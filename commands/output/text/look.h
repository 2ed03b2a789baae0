// How text for people looks where it goes.
#pragma once

#include <functional>

#include "output/text/links.h"
#include "output/text/palette.h"

namespace memtool::commands {

struct Look {
  // Of the terminal, if there is one and it is to be coloured. May ask it for its background, so it
  // is called where colours are printed, and once.
  std::function<Palette()> palette = [] { return Palette(); };
  bool in_files = false;  // colours as well where the output is no terminal
  Links links{};
  bool ascii = false;
};

}  // namespace memtool::commands
