#include "output/plot/embedded_font.h"

#ifdef MEMTOOL_FONT
#  include <cairo-ft.h>

// As in page/embedded_page.cc.
#  define MEMTOOL_EMBED(name, file)     \
    asm(".pushsection .rodata\n"        \
        ".globl " name                  \
        "_begin\n"                      \
        ".hidden " name "_begin\n" name \
        "_begin:\n"                     \
        ".incbin \"" file               \
        "\"\n"                          \
        ".globl " name                  \
        "_end\n"                        \
        ".hidden " name "_end\n" name   \
        "_end:\n"                       \
        ".byte 0\n"                     \
        ".popsection\n")

MEMTOOL_EMBED("memtool_font", MEMTOOL_FONT);
MEMTOOL_EMBED("memtool_bold_font", MEMTOOL_BOLD_FONT);

extern "C" {
// NOLINTBEGIN(modernize-avoid-c-arrays): symbols of the assembler, whose addresses are what counts
extern const unsigned char memtool_font_begin[];
extern const unsigned char memtool_font_end[];
extern const unsigned char memtool_bold_font_begin[];
extern const unsigned char memtool_bold_font_end[];
// NOLINTEND(modernize-avoid-c-arrays)
}

namespace memtool::commands {

namespace {

cairo_font_face_t* LoadFace(FT_Library library, const unsigned char* begin,
                            const unsigned char* end) {
  FT_Face face = nullptr;
  if (library == nullptr || FT_New_Memory_Face(library, begin, end - begin, 0, &face) != 0) {
    return nullptr;
  }
  return cairo_ft_font_face_create_for_ft_face(face, FT_LOAD_DEFAULT);
}

FT_Library MakeLibrary() {
  FT_Library library = nullptr;
  return FT_Init_FreeType(&library) == 0 ? library : nullptr;
}

}  // namespace

cairo_font_face_t* EmbeddedFont(bool bold) {
  static const FT_Library library = MakeLibrary();
  static cairo_font_face_t* const plain = LoadFace(library, memtool_font_begin, memtool_font_end);
  static cairo_font_face_t* const heavy =
      LoadFace(library, memtool_bold_font_begin, memtool_bold_font_end);
  return bold ? heavy : plain;
}

}  // namespace memtool::commands
#else

namespace memtool::commands {

cairo_font_face_t* EmbeddedFont(bool /*bold*/) {
  return nullptr;
}

}  // namespace memtool::commands
#endif
