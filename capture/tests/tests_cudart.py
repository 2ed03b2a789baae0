"""What runtimes get for the driver functions that they ask for."""
import json
import re
import shutil
import subprocess

from harness import SKIPPED, compile_c, events_of, same

# Loaded before the shim: hands its own cuGetProcAddress on to whoever asks the shim for one, and
# writes down what the shim answered: symbol, flags, where the pointer lies, its exported name.
SPY = r'''
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef void* (*Dlsym)(void*, const char*);
typedef int (*GetProc)(const char*, void**, int, unsigned long long, void*);
static GetProc real_v1, real_v2;
static void report(const char* symbol, unsigned long long flags, void* pointer) {
  Dl_info info = {0};
  FILE* out = fopen(getenv("SPY_REPORT"), "a");
  if (pointer != 0 && dladdr(pointer, &info) != 0 && info.dli_saddr == pointer) {
    fprintf(out, "%llu %s %s %s\n", flags, strrchr(info.dli_fname, '/') + 1, info.dli_sname, symbol);
  } else if (pointer != 0) {
    fprintf(out, "%llu ? ? %s\n", flags, symbol);
  }
  fclose(out);
}
static int spy_v2(const char*, void**, int, unsigned long long, void*);
static int spy_v1(const char*, void**, int, unsigned long long, void*);
static int ask(GetProc real, const char* symbol, void** pointer, int version,
               unsigned long long flags, void* found) {
  int status = real(symbol, pointer, version, flags, found);
  if (status == 0) report(symbol, flags, *pointer);
  if (status == 0 && strcmp(symbol, "cuGetProcAddress") == 0) {
    if (version >= 12000) { real_v2 = *pointer; *pointer = spy_v2; }
    else { real_v1 = *pointer; *pointer = spy_v1; }
  }
  return status;
}
static int spy_v2(const char* symbol, void** pointer, int version, unsigned long long flags,
                  void* found) {
  return ask(real_v2, symbol, pointer, version, flags, found);
}
static int spy_v1(const char* symbol, void** pointer, int version, unsigned long long flags,
                  void* found) {
  return ask(real_v1, symbol, pointer, version, flags, found);
}
void* dlsym(void* handle, const char* name) {
  static Dlsym shim;
  if (shim == 0) {
    void* library = dlopen("libmemtool_capture.so", RTLD_LAZY | RTLD_NOLOAD);
    Dlsym libc = (Dlsym)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    libc = libc != 0 ? libc : (Dlsym)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");
    shim = library == 0 || libc == 0 ? 0 : (Dlsym)libc(library, "dlsym");
    if (shim == 0) abort();
  }
  void* found = shim(handle, name);
  if (found != 0 && strcmp(name, "cuGetProcAddress_v2") == 0) {
    real_v2 = found;
    return spy_v2;
  }
  return found;
}
'''
SHIM = "libmemtool_capture.so"

# Exported name by what cudart asks for; a name with _ptsz is what per-thread streams get.
PLAIN = {
    "cuMemAlloc": "cuMemAlloc_v2", "cuMemAllocPitch": "cuMemAllocPitch_v2",
    "cuMemAllocManaged": "cuMemAllocManaged", "cuMemFree": "cuMemFree_v2",
    "cuMemFreeHost": "cuMemFreeHost", "cuMemHostAlloc": "cuMemHostAlloc",
    "cuMemHostRegister": "cuMemHostRegister_v2", "cuMemHostUnregister": "cuMemHostUnregister",
    "cuMemPoolCreate": "cuMemPoolCreate", "cuMemPoolDestroy": "cuMemPoolDestroy",
    "cuMemPoolTrimTo": "cuMemPoolTrimTo", "cuArrayCreate": "cuArrayCreate_v2",
    "cuArray3DCreate": "cuArray3DCreate_v2", "cuArrayDestroy": "cuArrayDestroy",
    "cuMipmappedArrayCreate": "cuMipmappedArrayCreate",
    "cuMipmappedArrayDestroy": "cuMipmappedArrayDestroy",
    "cuIpcOpenMemHandle": "cuIpcOpenMemHandle_v2", "cuIpcCloseMemHandle": "cuIpcCloseMemHandle",
    "cuGraphAddMemAllocNode": "cuGraphAddMemAllocNode",
    "cuGraphAddMemFreeNode": "cuGraphAddMemFreeNode",
    "cuDeviceGraphMemTrim": "cuDeviceGraphMemTrim",
}
# What only runtimes since 13.0 ask for.
SINCE_13 = {"cuMemGetDefaultMemPool": "cuMemGetDefaultMemPool",
            "cuMemGetMemPool": "cuMemGetMemPool"}
BY_STREAM = ("cuMemAllocAsync", "cuMemAllocFromPoolAsync", "cuMemFreeAsync", "cuGraphLaunch")
# Part of the driver API, but no runtime asks for them.
DRIVER_ONLY = {
    "cuMemCreate": "cuMemCreate", "cuMemRelease": "cuMemRelease", "cuMemMap": "cuMemMap",
    "cuMemUnmap": "cuMemUnmap", "cuMemAddressReserve": "cuMemAddressReserve",
    "cuMemAddressFree": "cuMemAddressFree",
    "cuMemRetainAllocationHandle": "cuMemRetainAllocationHandle",
    "cuMemImportFromShareableHandle": "cuMemImportFromShareableHandle",
    "cuMemAllocHost": "cuMemAllocHost_v2", "cuCtxDestroy": "cuCtxDestroy_v2",
    "cuDevicePrimaryCtxRelease": "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxReset": "cuDevicePrimaryCtxReset_v2",
}
PER_THREAD = 2


def spy_on(env, *command):
    """-> {(symbol, per-thread flag): {(library, exported name)}}"""
    spy = env.folder / "spy.so"
    if not spy.exists():
        compile_c(env, "spy.so", SPY, "-shared", "-fPIC")
    report = env.folder / "report"
    report.unlink(missing_ok=True)
    done = env.run(*command, LD_PRELOAD=f"{spy}:{env.shim}", SPY_REPORT=report)
    answers = {}
    for line in report.read_text().splitlines():
        flags, library, name, symbol = line.split()
        answers.setdefault((symbol, bool(int(flags) & PER_THREAD)), set()).add((library, name))
    return answers, done


def check_swaps(answers, plain, how, streams):
    swapped = {key: names for key, names in answers.items()
               if any(library == SHIM for library, _ in names)}
    want = {symbol: name for symbol, name in plain.items()}
    got = {symbol: names for (symbol, _), names in swapped.items() if symbol in want}
    same({symbol: {(SHIM, name)} for symbol, name in want.items()}, got, f"{how}: swapped")
    for symbol in BY_STREAM:
        for per_thread in streams:
            name = symbol + ("_ptsz" if per_thread else "")
            same({(SHIM, name)}, answers.get((symbol, per_thread)), f"{how}: by stream")
    # Three forms, by the version that is asked for.
    nodes = {name for (symbol, _), names in answers.items() if symbol == "cuGraphAddNode"
             for name in names}
    forms = {(SHIM, "cuGraphAddNode" + form) for form in ("", "_v2", "_v3")}
    assert nodes and nodes <= forms, nodes
    resolver = {name for (symbol, _), names in answers.items() if symbol == "cuGetProcAddress"
                for name in names}
    same({(SHIM, "cuGetProcAddress_v2")}, resolver - {(SHIM, "cuGetProcAddress")},
         f"{how}: the resolver")
    # And nothing else: every other answer is the driver's own pointer.
    known = {*want, *BY_STREAM, "cuGetProcAddress", "cuGraphAddNode"}
    same(set(), {symbol for symbol, _ in swapped} - known, f"{how}: swapped by mistake")
    for key, names in answers.items():
        if key not in swapped:
            same({"libcuda.so.1"}, {library for library, _ in names}, f"{how}: {key}")


def test_resolved(env):
    """The cudart-like library: which pointer it gets for each function."""
    for how, per_thread in (("runtime", False), ("ptsz", True)):
        env.clear()
        answers, _ = spy_on(env, env.programs / "driver_program", how, "calls")
        check_swaps(answers, {**PLAIN, **SINCE_13, **DRIVER_ONLY}, how, [per_thread])


CUDART = r'''
#include <cuda_runtime.h>
#include <cstdio>
int main() { void* p = 0; printf("%d\n", (int)cudaMalloc(&p, 1 << 20)); return 0; }
'''


def test_cudart(env):
    """The real static runtime resolves its functions through the shim before it refuses the fake."""
    if shutil.which("nvcc") is None:
        print("no nvcc")
        return SKIPPED
    source = env.folder / "program.cu"
    source.write_text(CUDART)
    built = subprocess.run(["nvcc", "-cudart", "static", "-o", str(env.folder / "program"),
                            str(source)], capture_output=True, text=True)
    if built.returncode != 0:
        print(built.stderr)
        return SKIPPED
    answers, done = spy_on(env, env.folder / "program")
    assert re.fullmatch(r"[1-9]\d*", done.stdout.strip()), "the fake is not a device"
    asked = {symbol: name for symbol, name in SINCE_13.items() if (symbol, False) in answers}
    check_swaps(answers, {**PLAIN, **asked}, "static cudart", [False, True])
    print(f"{len(answers)} answers")
    return 0


# A driver of a later version. Its newest cuMemAlloc takes a context first. Two of its pointers are
# not those of exports: one of a known version, one of a later one.
LATER = r'''
#include <string.h>
typedef unsigned long long Pointer;
static Pointer next = 0x10000;
static int take(Pointer* out, unsigned long size) { *out = next; next += size; return 0; }
int cuInit(unsigned flags) { return 0; }
int cuCtxGetCurrent(void** context) { *context = (void*)1; return 0; }
int cuCtxGetDevice(int* device) { *device = 0; return 0; }
int cuMemAlloc_v2(Pointer* out, unsigned long size) { return take(out, size); }
int cuMemAlloc_v3(void* context, Pointer* out, unsigned long size) {
  return context == (void*)0x1234 ? take(out, size) : 1;
}
int cuMemAllocManaged(Pointer* out, unsigned long size, unsigned flags) { return take(out, size); }
static int managed(Pointer* out, unsigned long size, unsigned flags) { return take(out, size); }
static int managed_later(void* context, Pointer* out, unsigned long size, unsigned flags) {
  return context == (void*)0x1234 ? take(out, size) : 1;
}
int cuGetProcAddress_v2(const char* name, void** out, int version, unsigned long long flags,
                        void* found) {
  if (!strcmp(name, "cuMemAlloc"))
    *out = version >= 13010 ? (void*)cuMemAlloc_v3 : (void*)cuMemAlloc_v2;
  else if (!strcmp(name, "cuMemAllocManaged"))
    *out = version >= 14000 ? (void*)managed_later : (void*)managed;
  else
    return 500;
  return 0;
}
'''
LATER_USER = r'''
#include <dlfcn.h>
typedef unsigned long long Pointer;
int main(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  int (*get)(const char*, void**, int, unsigned long long, void*) =
      dlsym(driver, "cuGetProcAddress_v2");
  int (*alloc)(Pointer*, unsigned long);
  int (*alloc_later)(void*, Pointer*, unsigned long);
  int (*managed)(Pointer*, unsigned long, unsigned);
  int (*managed_later)(void*, Pointer*, unsigned long, unsigned);
  Pointer out;
  if (get("cuMemAlloc", (void**)&alloc_later, 13010, 0, 0) ||
      get("cuMemAlloc", (void**)&alloc, 13000, 0, 0) ||
      get("cuMemAllocManaged", (void**)&managed_later, 14000, 0, 0) ||
      get("cuMemAllocManaged", (void**)&managed, 13000, 0, 0)) return 1;
  if (alloc_later((void*)0x1234, &out, 512) || managed_later((void*)0x1234, &out, 1024, 1)) return 2;
  return alloc(&out, 4096) || managed(&out, 8192, 1) ? 3 : 0;
}
'''


def test_later(env):
    """Forms that are newer than the library's table are not wrapped, and that is said."""
    folder = env.folder / "later"
    folder.mkdir()
    driver = compile_c(env, "libcuda.so.1", LATER, "-shared", "-fPIC", "-Wl,-Bsymbolic")
    driver.rename(folder / "libcuda.so.1")
    env.run(compile_c(env, "user", LATER_USER), LD_LIBRARY_PATH=folder)
    same([("device", 4096), ("managed", 8192)],
         [(ledger, size) for _, _, _, size, ledger, _ in events_of(env, env.log())], "known forms")
    notes = json.loads(env.ask("info", "--format", "json", env.log()))["diagnostics"]
    same([("unknown_entries", 2)], [(row["code"], row["count"]) for row in notes
                                    if row["severity"] == "warning"], "unknown forms")
