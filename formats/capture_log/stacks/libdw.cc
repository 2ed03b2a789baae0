#include "capture_log/stacks/libdw.h"

#include "memtool/profile/base/late_library.h"

namespace memtool::formats::capture_log {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables,bugprone-macro-parentheses):
// see the header
namespace libdw {
#define MEMTOOL_DEFINE(name) decltype(&::name) name = MEMTOOL_LATE_FUNCTION(::name);
MEMTOOL_LIBDW_FUNCTIONS(MEMTOOL_DEFINE)
#undef MEMTOOL_DEFINE
}  // namespace libdw
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables,bugprone-macro-parentheses)

namespace {

std::string FindLibdw() {
  LateLibrary library("libdw.so.1");
#define MEMTOOL_FIND(name) library.Find(#name, libdw::name);
  MEMTOOL_LIBDW_FUNCTIONS(MEMTOOL_FIND)
#undef MEMTOOL_FIND
  return library.Missing();
}

}  // namespace

const std::string& LoadLibdw() {
  static const std::string missing = FindLibdw();
  return missing;
}

}  // namespace memtool::formats::capture_log
