// The functions of Graphviz's cgraph that are used, under their own names: it is opened when a
// graph is written (base/late_library.h).
#pragma once

#include <graphviz/cgraph.h>

#include <mutex>

#include "memtool/profile/base/result.h"

#define MEMTOOL_CGRAPH_FUNCTIONS(X) \
  X(agattr)                         \
  X(agclose)                        \
  X(agedge)                         \
  X(agnode)                         \
  X(agopen)                         \
  X(agsafeset)                      \
  X(agsubg)                         \
  X(agwrite)

namespace memtool::commands {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables,bugprone-macro-parentheses):
// set once, by LockCgraph()
namespace cgraph {
#define MEMTOOL_DECLARE(name) extern decltype(&::name) name;
MEMTOOL_CGRAPH_FUNCTIONS(MEMTOOL_DECLARE)
#undef MEMTOOL_DECLARE
}  // namespace cgraph
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables,bugprone-macro-parentheses)

// To be held while any of them is called: cgraph keeps defaults and errors for its whole process.
// Errors: kUnsupported where the library is not installed.
Result<std::unique_lock<std::mutex>> LockCgraph();

// Memory of a graph. Where there is none its functions throw std::bad_alloc, through cgraph, which
// would go on with a null pointer; the graph is then to be left as it is.
Agmemdisc_t CgraphMemory();

}  // namespace memtool::commands
