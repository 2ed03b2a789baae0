// The functions of libdw that are used, under their own names: it is opened when the first native
// address is named (base/late_library.h).
#pragma once

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include <string>

#define MEMTOOL_LIBDW_FUNCTIONS(X) \
  X(dwarf_attr)                    \
  X(dwarf_attr_integrate)          \
  X(dwarf_diename)                 \
  X(dwarf_filesrc)                 \
  X(dwarf_formstring)              \
  X(dwarf_formudata)               \
  X(dwarf_getscopes)               \
  X(dwarf_getsrcfiles)             \
  X(dwarf_tag)                     \
  X(dwfl_begin)                    \
  X(dwfl_end)                      \
  X(dwfl_lineinfo)                 \
  X(dwfl_module_addrdie)           \
  X(dwfl_module_addrinfo)          \
  X(dwfl_module_build_id)          \
  X(dwfl_module_getelf)            \
  X(dwfl_module_getsrc)            \
  X(dwfl_offline_section_address)  \
  X(dwfl_report_end)               \
  X(dwfl_report_offline)

namespace memtool::formats::capture_log {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables,bugprone-macro-parentheses):
// set once, by LoadLibdw()
namespace libdw {
#define MEMTOOL_DECLARE(name) extern decltype(&::name) name;
MEMTOOL_LIBDW_FUNCTIONS(MEMTOOL_DECLARE)
#undef MEMTOOL_DECLARE
}  // namespace libdw
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables,bugprone-macro-parentheses)

// Before any of them is called; any number of times, from any thread. Returns why it cannot be
// used; empty = it can.
const std::string& LoadLibdw();

}  // namespace memtool::formats::capture_log
