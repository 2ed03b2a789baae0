// The font inside a portable program, which may run where there is none.
#pragma once

#include <cairo.h>

namespace memtool::commands {

// Lives as long as the program; nullptr in a build without fonts of its own (MEMTOOL_FONT).
cairo_font_face_t* EmbeddedFont(bool bold);

}  // namespace memtool::commands
