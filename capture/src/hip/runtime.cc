// HIP's provider: the table and the resolver.
#include "hip/runtime.h"

#include "hip/wrappers.h"

namespace memtool::capture {

namespace {

constexpr const char* kLibrary = "libamdhip64.so";

Entry g_entries[] = {
#define MEMTOOL_HIP(name, ...) {#name, #name, 0, false, reinterpret_cast<void*>(&name), {nullptr}},
#include "hip/functions.inc"
#undef MEMTOOL_HIP
};

// HIP distinguishes its forms by name, not by version.
Provider g_hip{kLibrary, g_entries, sizeof g_entries / sizeof g_entries[0], UINT32_MAX, {0}, {0}};

}  // namespace

Provider& HipProvider() {
  return g_hip;
}

void* HipReal(HipRow function) {
  return FindReal(g_entries[static_cast<std::size_t>(function)], kLibrary);
}

}  // namespace memtool::capture
