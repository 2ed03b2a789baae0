#include "output/graph/cgraph_library.h"

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "memtool/profile/base/late_library.h"

namespace memtool::commands {

// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables,bugprone-macro-parentheses):
// see the header
namespace cgraph {
#define MEMTOOL_DEFINE(name) decltype(&::name) name = MEMTOOL_LATE_FUNCTION(::name);
MEMTOOL_CGRAPH_FUNCTIONS(MEMTOOL_DEFINE)
#undef MEMTOOL_DEFINE
}  // namespace cgraph
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables,bugprone-macro-parentheses)

namespace {

std::string FindCgraph() {
  LateLibrary library("libcgraph.so.6");
#define MEMTOOL_FIND(name) library.Find(#name, cgraph::name);
  MEMTOOL_CGRAPH_FUNCTIONS(MEMTOOL_FIND)
#undef MEMTOOL_FIND
  return library.Missing();
}

}  // namespace

Result<std::unique_lock<std::mutex>> LockCgraph() {
  static std::mutex mutex;
  static const std::string missing = FindCgraph();
  if (!missing.empty()) {
    return Fail(ErrorCode::kUnsupported, "the graph cannot be written without Graphviz: " + missing,
                "install it (Debian: libcgraph6)");
  }
  return std::unique_lock(mutex);
}

namespace {

void* OpenMemory(Agdisc_t* /*disciplines*/) {
  return nullptr;
}

// cgraph counts on zeros.
void* Allocate(void* /*state*/, std::size_t size) {
  void* const memory = std::calloc(1, size);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}
void* Resize(void* /*state*/, void* memory, std::size_t before, std::size_t size) {
  auto* const moved = static_cast<char*>(std::realloc(memory, size));
  if (moved == nullptr) {
    throw std::bad_alloc();
  }
  if (size > before) {
    std::memset(moved + before, 0, size - before);
  }
  return moved;
}
void Release(void* /*state*/, void* memory) {
  std::free(memory);
}

}  // namespace

// No function to close it: where there is one, agclose() leaves to it whatever the graph has.
Agmemdisc_t CgraphMemory() {
  return {OpenMemory, Allocate, Resize, Release, nullptr};
}

}  // namespace memtool::commands
