// The functions of Cairo that are used, by name: Cairo, and the seventeen libraries that it brings
// along, is opened when something is drawn (base/late_library.h).
#pragma once

#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <cairo.h>

#include "memtool/profile/base/result.h"

#define MEMTOOL_CAIRO_FUNCTIONS(X) \
  X(arc)                           \
  X(clip)                          \
  X(close_path)                    \
  X(create)                        \
  X(destroy)                       \
  X(fill)                          \
  X(fill_preserve)                 \
  X(font_options_create)           \
  X(font_options_destroy)          \
  X(font_options_set_antialias)    \
  X(font_options_set_hint_metrics) \
  X(font_options_set_hint_style)   \
  X(image_surface_create)          \
  X(line_to)                       \
  X(move_to)                       \
  X(new_path)                      \
  X(paint)                         \
  X(pdf_surface_create_for_stream) \
  X(pdf_surface_set_metadata)      \
  X(recording_surface_create)      \
  X(rectangle)                     \
  X(restore)                       \
  X(save)                          \
  X(scale)                         \
  X(select_font_face)              \
  X(set_dash)                      \
  X(set_font_face)                 \
  X(set_font_options)              \
  X(set_font_size)                 \
  X(set_line_join)                 \
  X(set_line_width)                \
  X(set_source_rgb)                \
  X(show_text)                     \
  X(status)                        \
  X(status_to_string)              \
  X(stroke)                        \
  X(surface_destroy)               \
  X(surface_finish)                \
  X(surface_status)                \
  X(surface_write_to_png_stream)   \
  X(svg_surface_create_for_stream) \
  X(text_extents)

namespace memtool::commands {

// cairo::create() is cairo_create(), and so on; null before LoadCairo() has succeeded.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables,bugprone-macro-parentheses):
// set once, by LoadCairo()
namespace cairo {
#define MEMTOOL_DECLARE(name) extern decltype(&::cairo_##name) name;
MEMTOOL_CAIRO_FUNCTIONS(MEMTOOL_DECLARE)
#undef MEMTOOL_DECLARE
}  // namespace cairo
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables,bugprone-macro-parentheses)

// Before anything is drawn; any number of times, from any thread. Errors: kUnsupported where the
// library is not installed.
Result<void> LoadCairo();

}  // namespace memtool::commands
