// HIP's provider: the table, the resolver, and what all wrappers need to know about the runtime's
// state.
#include "hip/runtime.h"

#include "hip/call.h"
#include "hip/wrappers.h"
#include "providers/wrapping.h"

namespace memtool::capture {

namespace {

constexpr const char* kLibrary = "libamdhip64.so";

Entry g_entries[] = {
#define MEMTOOL_HIP(name) {#name, #name, 0, false, reinterpret_cast<void*>(&::name), {nullptr}},
#include "hip/functions.inc"
#undef MEMTOOL_HIP
};

// HIP distinguishes its forms by name, not by version.
Provider g_hip{kLibrary, g_entries, sizeof g_entries / sizeof g_entries[0], UINT32_MAX, {0}, {0}};

}  // namespace

Provider& HipProvider() {
  return g_hip;
}

void* HipReal(Hip function) {
  return FindReal(g_entries[static_cast<std::size_t>(function)], kLibrary);
}

Attributes HipAttributes(wire::Space space, wire::Kind kind, const char* name) {
  static DriverFunction get_device{};
  Attributes attributes{.space = space, .kind = kind, .name = name};
  const auto device = FindFunction<HipStatus (*)(int*)>(g_hip, "hipGetDevice", get_device);
  int ordinal = -1;
  if (device != nullptr && device(&ordinal) == 0) {
    attributes.device = ordinal;
    attributes.context = static_cast<std::uint64_t>(ordinal) + 1;
  }
  return attributes;
}

void HipAllocated(const Attributes& attributes, HipStatus status, const void* pointer,
                  std::uint64_t size, bool estimated) {
  if (status == 0) {
    return RecordAlloc(attributes, Address(pointer), size, estimated);
  }
  static DriverFunction get_info{};
  std::size_t free_bytes = UINT64_MAX;
  if (status == kHipOutOfMemory && attributes.device >= 0) {
    const auto info =
        FindFunction<HipStatus (*)(std::size_t*, std::size_t*)>(g_hip, "hipMemGetInfo", get_info);
    std::size_t total = 0;
    if (info == nullptr || info(&free_bytes, &total) != 0) {
      free_bytes = UINT64_MAX;
    }
  }
  RecordFailed(attributes, size, static_cast<std::uint64_t>(status), free_bytes);
}

}  // namespace memtool::capture

using namespace memtool::capture;  // NOLINT(google-build-using-namespace): wrappers are global

namespace {

constexpr std::uint64_t kPerThreadStream = 2;

}  // namespace

extern "C" {

HipStatus hipGetProcAddress(const char* symbol, void** pointer, int version, std::uint64_t flags,
                            void* found) {
  MEMTOOL_HIP_REAL(hipGetProcAddress);
  (void)wanted;
  const HipStatus status = real(symbol, pointer, version, flags, found);
  if (status == 0 && busy.entered() && pointer != nullptr && symbol != nullptr) {
    *pointer = SwapByPointer(HipProvider(), *pointer, symbol, static_cast<std::uint32_t>(version),
                             (flags & kPerThreadStream) != 0);
  }
  return status;
}

}  // extern "C"
