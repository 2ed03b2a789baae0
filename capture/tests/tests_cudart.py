"""What runtimes get for the driver functions that they ask for."""
import re
import shutil
import subprocess

from harness import SKIPPED, compile_c, same

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
BY_STREAM = ("cuMemAllocAsync", "cuMemAllocFromPoolAsync", "cuMemFreeAsync", "cuGraphLaunch")
# Of the driver API, but no runtime asks for them.
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
    # Two forms, by the version that is asked for.
    nodes = {name for (symbol, _), names in answers.items() if symbol == "cuGraphAddNode"
             for name in names}
    assert nodes and nodes <= {(SHIM, "cuGraphAddNode"), (SHIM, "cuGraphAddNode_v2")}, nodes
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
        check_swaps(answers, {**PLAIN, **DRIVER_ONLY}, how, [per_thread])


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
    check_swaps(answers, PLAIN, "static cudart", [False, True])
    print(f"{len(answers)} answers")
    return 0
