#include "page/page_file.h"

#ifdef MEMTOOL_PAGE
// The assembler reads the file: an array in C++ would take longer to compile than all the rest.
asm(".pushsection .rodata\n"
    ".globl memtool_page_begin\n"
    ".hidden memtool_page_begin\n"
    "memtool_page_begin:\n"
    ".incbin \"" MEMTOOL_PAGE
    "\"\n"
    ".globl memtool_page_end\n"
    ".hidden memtool_page_end\n"
    "memtool_page_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
// NOLINTBEGIN(modernize-avoid-c-arrays): symbols of the assembler, whose addresses are what counts
extern const char memtool_page_begin[];
extern const char memtool_page_end[];
// NOLINTEND(modernize-avoid-c-arrays)
}

namespace memtool::commands {

std::string_view EmbeddedPage() {
  const char* begin = memtool_page_begin;
  const char* end = memtool_page_end;
  return {begin, static_cast<std::size_t>(end - begin)};
}

}  // namespace memtool::commands
#else

namespace memtool::commands {

std::string_view EmbeddedPage() {
  return {};
}

}  // namespace memtool::commands
#endif
