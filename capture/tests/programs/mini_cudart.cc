// Resolves the driver as the CUDA runtime does: dlopen, one dlsym (cuGetProcAddress_v2), then a
// query for each function, the empty name and cuGetProcAddress itself among them.
#include <dlfcn.h>

#include <cstring>

#include "programs/driver.h"

namespace {

using GetProc = int (*)(const char*, void**, int, unsigned long long, void*);
constexpr int kVersion = 13050;

void* Query(GetProc get, const char* name, bool per_thread) {
  void* found = nullptr;
  const int status = get(name, &found, kVersion, per_thread ? 2 : 0, nullptr);
  return status == 0 ? found : nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) bool LoadDriver(const char* how, Driver* driver) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) {
    return false;
  }
  if (strcmp(how, "dlsym") == 0) {
#define SYMBOL(name, base, arguments) \
  driver->name = reinterpret_cast<int(*) arguments>(dlsym(library, #name));
    DRIVER_FUNCTIONS(SYMBOL)
#undef SYMBOL
    return true;
  }
  auto get = reinterpret_cast<GetProc>(dlsym(library, "cuGetProcAddress_v2"));
  if (get == nullptr || Query(get, "", false) != nullptr) {
    return false;
  }
  get = reinterpret_cast<GetProc>(Query(get, "cuGetProcAddress", false));
  const bool per_thread = strcmp(how, "ptsz") == 0;
#define QUERY(name, base, arguments) \
  driver->name = reinterpret_cast<int(*) arguments>(Query(get, base, per_thread));
  DRIVER_FUNCTIONS(QUERY)
#undef QUERY
  return true;
}
