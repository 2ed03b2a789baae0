#include "output/plot/cairo_library.h"

#include <string>

#include "memtool/profile/base/late_library.h"

namespace memtool::commands {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables,bugprone-macro-parentheses):
// see the header
namespace cairo {
#define MEMTOOL_DEFINE(name) decltype(&::cairo_##name) name = MEMTOOL_LATE_FUNCTION(::cairo_##name);
MEMTOOL_CAIRO_FUNCTIONS(MEMTOOL_DEFINE)
#undef MEMTOOL_DEFINE
}  // namespace cairo
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables,bugprone-macro-parentheses)

namespace {

std::string FindCairo() {
  LateLibrary library("libcairo.so.2");
#define MEMTOOL_FIND(name) library.Find("cairo_" #name, cairo::name);
  MEMTOOL_CAIRO_FUNCTIONS(MEMTOOL_FIND)
#undef MEMTOOL_FIND
  return library.Missing();
}

}  // namespace

Result<void> LoadCairo() {
  static const std::string missing = FindCairo();
  if (!missing.empty()) {
    return Fail(ErrorCode::kUnsupported, "the plot cannot be drawn without Cairo: " + missing,
                "install it (Debian: libcairo2); without --plot nothing is drawn");
  }
  return {};
}

}  // namespace memtool::commands
