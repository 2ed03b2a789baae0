"""The library in other people's processes: look-ups, exports, programs without a device."""
import json
import platform
import re
import shutil
import struct
import subprocess
import sys

from harness import SKIPPED, compare_books, compile_c, events_of, read_header, same


def test_harmless(env):
    """No output, no file, no other exit status in programs that have no device."""
    source = env.folder / "plain.c"
    source.write_text('#include <dlfcn.h>\n#include <stdio.h>\n#include <stdlib.h>\n'
                      'int main(void) { void* p = malloc(10); free(p);\n'
                      '  printf("%d\\n", dlsym(RTLD_DEFAULT, "cuInit") != 0); return 3; }\n')
    commands = [["/bin/true"], ["/bin/ls", "/"], [sys.executable, "-c", "print(1)"],
                ["git", "--version"], ["sh", "-c", "echo a; exit 4"]]
    compilers = {"plain": ["cc"], "static": ["cc", "-static"]}
    for name, words in compilers.items():
        built = subprocess.run([*words, "-o", str(env.folder / name), str(source), "-ldl"],
                               capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
        commands.append([str(env.folder / name)])
    for command in commands:
        plain = subprocess.run(command, env=env.environment(shim=False), capture_output=True)
        under = subprocess.run(command, env=env.environment(), capture_output=True)
        same((plain.returncode, plain.stdout, plain.stderr),
             (under.returncode, under.stdout, under.stderr), command)
    same([], env.logs(), "no log")
    # A driver that is loaded and started, but allocates nothing.
    env.program("dlsym", "nothing")
    same([], env.logs(), "no log before the first allocation")


SANITIZED = r'''
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#ifdef OWN_DEFAULTS
const char* __asan_default_options(void) { return "detect_leaks=0"; }
#endif
static void* start(void* driver) {
  int (*allocate)(unsigned long long*, unsigned long) = dlsym(driver, "cuMemAlloc_v2");
  int (*release)(unsigned long long) = dlsym(driver, "cuMemFree_v2");
  int (*create)(void**, unsigned, int) = dlsym(driver, "cuCtxCreate_v2");
  unsigned long long held[500];
  void* context = 0;
  int failed = create(&context, 0, 0);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 500; ++i) failed |= allocate(&held[i], 4096 * (i + 1));
    for (int i = 0; i < 500; ++i) failed |= release(held[i]);
  }
  return !failed && dlsym(RTLD_DEFAULT, "strlen") ? driver : 0;
}
int main(void) {
  pthread_t threads[4];
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  /* What the fake driver makes once is made here: no sanitizer sees what orders that. */
  unsigned long free_bytes, total;
  int (*info)(unsigned long*, unsigned long*) = driver ? dlsym(driver, "cuMemGetInfo_v2") : 0;
  int right = info && ((int (*)(unsigned))dlsym(driver, "cuInit"))(0) == 0 && !info(&free_bytes, &total);
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], 0, start, driver);
  for (int i = 0; i < 4; ++i) {
    void* out = 0;
    pthread_join(threads[i], &out);
    right = right && out == driver;
  }
  printf("%d\n", right);
  return 4;
}
'''


def test_sanitizers(env):
    """Programs built with a sanitizer, its runtime in the program or beside it, whose threads
    allocate at once: nothing to see, and every event in the log."""
    (env.folder / "sanitized.c").write_text(SANITIZED)
    tried = 0
    for compiler in ("gcc", "clang"):
        for kind, library in {"address": "asan", "thread": "tsan", "undefined": "ubsan",
                              "leak": "lsan", "memory": "msan"}.items():
            for static in ((f"-static-lib{library}",), ()) if compiler == "gcc" else ((),):
                name = f"{compiler}-{kind}{len(static)}"
                built = subprocess.run([compiler, f"-fsanitize={kind}", *static, "-pthread", "-o",
                                        name, "sanitized.c", "-ldl"], cwd=env.folder,
                                       capture_output=True, text=True) if shutil.which(
                                           compiler) else None
                command = [str(env.folder / name)]
                plain = built and built.returncode == 0 and subprocess.run(
                    command, env=env.environment(shim=False), capture_output=True)
                if not plain or plain.returncode != 4:
                    print(f"{name}: not here")
                    continue
                tried += 1
                for words in (command, [str(env.memtool), "run", "-q", *command]):
                    under = subprocess.run(words, env=env.environment(shim=words is command),
                                           capture_output=True, text=True, timeout=120)
                    same((4, "1\n", ""), (under.returncode, under.stdout, under.stderr), words)
                    header = read_header(env.log())
                    same((16000, 0), (header["events"], header["dropped"]), words)
                    env.log().unlink()
    # A program with defaults of its own: `memtool run` says it in the environment.
    built = subprocess.run(["gcc", "-fsanitize=address", "-DOWN_DEFAULTS", "-pthread", "-o", "own",
                            "sanitized.c", "-ldl"], cwd=env.folder, capture_output=True)
    if built.returncode == 0:
        for options in ("", "detect_leaks=0:exitcode=7"):
            under = subprocess.run([str(env.memtool), "run", "-q", str(env.folder / "own")],
                                   env=env.environment(shim=False, ASAN_OPTIONS=options),
                                   capture_output=True, text=True, timeout=120)
            same((4, "1\n", ""), (under.returncode, under.stdout, under.stderr), options)
    return 0 if tried else SKIPPED


PAST = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(int count, char** words) {
  for (int i = 2; i < count; ++i) {
    void* library = words[1][0] == 'm' ? dlmopen(LM_ID_NEWLM, words[i], RTLD_NOW)
                    : dlopen(words[i], RTLD_NOW | (words[1][0] == 'd' ? RTLD_DEEPBIND : 0));
    if (!library || ((int (*)(void))dlsym(library, "use"))()) return puts(dlerror()), 1;
  }
}
"""
LINKED = r"""
int cuInit(unsigned);
int cuCtxCreate_v2(void**, unsigned, int);
int cuMemAlloc_v2(unsigned long long*, unsigned long);
int use(void) {
  unsigned long long pointer;
  void* context;
  return cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuMemAlloc_v2(&pointer, 1 << 20);
}
"""
LOOKED_UP = r"""
#include <dlfcn.h>
int use(void) {
  unsigned long long pointer;
  void *context, *driver = dlopen("libcuda.so.1", RTLD_NOW);
  return ((int (*)(unsigned))dlsym(driver, "cuInit"))(0) ||
         ((int (*)(void**, unsigned, int))dlsym(driver, "cuCtxCreate_v2"))(&context, 0, 0) ||
         ((int (*)(unsigned long long*, unsigned long))dlsym(driver, "cuMemAlloc_v2"))(&pointer, 4096);
}
"""


def test_past(env):
    """Libraries and drivers that get past the shim are counted where the log is summed up."""
    program = compile_c(env, "past", PAST)
    driver = f"-L{env.programs}/driver"
    libraries = [compile_c(env, "linked.so", LINKED, "-shared", "-fPIC", driver, "-l:libcuda.so.1"),
                 compile_c(env, "looked_up.so", LOOKED_UP, "-shared", "-fPIC")]
    deep, space = "libraries that .* (RTLD_DEEPBIND)", "drivers that .* (dlmopen)"
    for way, events, said in (("global", 2, ""), ("deepbind", 0, f"; 2: {deep}"),
                              ("many", 0, f"; 2: {space}")):
        done = subprocess.run([str(env.memtool), "run", "--", str(program), way, *map(str, libraries)],
                              env=env.environment(shim=False), capture_output=True, text=True)
        same((0, ""), (done.returncode, done.stdout), way)
        found = re.fullmatch(r"memtool: \S+: (\d+) events(?:, device .*?)?(; \d.*)?\n", done.stderr)
        assert found and int(found[1]) == events, done.stderr
        want = said.replace("(", r"\(").replace(")", r"\)")
        assert re.match(want + ("" if said else "$"), found[2] or ""), done.stderr
        env.log().unlink()
    # One of each in one process, and nothing at all where nobody wants events.
    done = env.run(program, "deepbind", libraries[1], MEMTOOL_CAPTURE_ENABLED=0)
    same([], env.logs(), done.stderr)


LAZY = r"""
void cu_nowhere(void);
int use(void) { return 0; }
void never(void) { cu_nowhere(); }
"""
LAZILY = r"""
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    void* library = dlopen(words[i], RTLD_LAZY);
    if (!library || ((int (*)(void))dlsym(library, "use"))()) return puts(dlerror()), 1;
  }
}
"""


def test_damaged_bindings(env):
    """Slots, symbols and names that the linker has not looked at yet may be anything."""
    if platform.machine() != "x86_64":
        return SKIPPED  # the linker fills lazy slots elsewhere before they are used
    driver = f"-L{env.programs}/driver"
    linked = compile_c(env, "linked.so", LINKED, "-shared", "-fPIC", driver, "-l:libcuda.so.1")
    sound = compile_c(env, "lazy.so", LAZY, "-shared", "-fPIC", "-Wl,-z,lazy").read_bytes()
    # The one lazy slot {offset, type | symbol << 32, 0} and its symbol {name, ...}.
    names = sound.index(b"\0cu_nowhere\0") + 1
    dynamic = {}
    (table,), (entries,) = struct.unpack_from("<Q", sound, 32), struct.unpack_from("<H", sound, 56)
    for at in range(table, table + entries * 56, 56):
        kind, _, offset, _, _, size = struct.unpack_from("<IIQQQQ", sound, at)
        if kind == 2:  # PT_DYNAMIC
            dynamic = dict(struct.iter_unpack("<QQ", sound[offset:offset + size // 16 * 16]))
    symbols, strings, slots = dynamic[6], dynamic[5], dynamic[23]  # in the first segment: offsets
    offset, kind, _ = struct.unpack_from("<QQQ", sound, slots)
    symbol = symbols + (kind >> 32) * 24
    same(names - strings, struct.unpack_from("<I", sound, symbol)[0], "the symbol of the lazy slot")
    paths = []
    for name, at, form, value in (("index", slots + 8, "<Q", kind | 0xfffffff0 << 32),
                                  ("symbol", slots + 8, "<Q", kind & 0xffffffff | 1 << 52),
                                  ("name", symbol, "<I", 0xfffffff0),
                                  ("far", symbol, "<I", 0x7ffff000)):
        damaged = bytearray(sound)
        struct.pack_into(form, damaged, at, value)
        paths.append(env.folder / f"{name}.so")
        paths[-1].write_bytes(damaged)
    program = compile_c(env, "lazily", LAZILY)
    env.run(program, linked, *paths, shim=False)
    env.run(program, linked, *paths)
    compare_books(env, "damaged bindings")


DLSYM = r'''
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
static void* hammer(void* driver) {
  void* first = dlsym(driver, "cuMemAlloc_v2");
  for (int i = 0; i < 20000; ++i) {
    if (dlsym(driver, "cuMemAlloc_v2") != first || dlsym(driver, "cuInit") == 0 ||
        dlsym(RTLD_DEFAULT, "curl_easy_init") != 0 || dlsym(RTLD_DEFAULT, "strlen") == 0) {
      return (void*)1;
    }
  }
  return 0;
}
int main(void) {
  printf("%d", dlsym(RTLD_DEFAULT, "cudnnCreate") != 0);
  printf("%d", dlsym(RTLD_DEFAULT, "curl_easy_init") != 0);
  printf("%d", dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") != 0);
  printf("%d", dlerror() != 0);
  printf("%d", dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") != 0);
  void* self = dlopen(0, RTLD_NOW);
  printf("%d", dlsym(self, "cuGetProcAddress_v2") != 0);
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  printf(" %d", dlsym(driver, "cuMemAlloc_v2") != 0);
  printf("%d", dlsym(driver, "cuMemNever_v2") != 0);
  printf("%d", dlvsym(RTLD_DEFAULT, "strlen", "GLIBC_2.2.5") != 0);
  pthread_t threads[8];
  void* failed = 0;
  for (int i = 0; i < 8; ++i) pthread_create(&threads[i], 0, hammer, driver);
  for (int i = 0; i < 8; ++i) { void* out; pthread_join(threads[i], &out); if (out) failed = out; }
  printf(" %d\n", failed != 0);
  return 0;
}
'''

NEXT = r'''
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
/* As LLVM's OpenMP does it: wraps a function and asks for the next one, twice. */
const char* zlibVersion(void);
int puts(const char* text) {
  static int (*next)(const char*);
  next = dlsym(RTLD_NEXT, "puts");
  int (*again)(const char*) = dlsym(RTLD_NEXT, "puts");
  if (next == puts || again != next) { fprintf(stderr, "loop\n"); return -1; }
  fputs("wrapped ", stdout);
  return next(text);
}
/* Another interposer of the driver: its RTLD_NEXT must not lead back to itself. */
int cuMemAlloc_v2(unsigned long long* pointer, unsigned long size) {
  static int (*next)(unsigned long long*, unsigned long);
  next = dlsym(RTLD_NEXT, "cuMemAlloc_v2");
  if (next == cuMemAlloc_v2 || next == 0) { fprintf(stderr, "loop\n"); return 999; }
  return next(pointer, size);
}
'''


def test_dlsym(env):
    program = compile_c(env, "dlsym_program", DLSYM)
    same("000100 101 0\n", env.run(program).stdout, "look-ups")
    other = compile_c(env, "other.so", NEXT, "-shared", "-fPIC")
    talk = compile_c(env, "talk", '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }')
    for order in (f"{env.shim}:{other}", f"{other}:{env.shim}"):
        same("wrapped hello\n", env.run(talk, LD_PRELOAD=order).stdout, order)
        for path in env.logs():
            path.unlink()
        for path in env.folder.glob("books.*"):
            path.unlink()
        env.program("linked", "calls", LD_PRELOAD=order)
        compare_books(env, order)


SMALL_DRIVER = r'''
static unsigned long long next = 0x10000;
int cuInit(unsigned flags) { return 0; }
int cuCtxGetCurrent(void** context) { *context = (void*)1; return 0; }
int cuCtxGetDevice(int* device) { *device = 0; return 0; }
int cuMemAlloc_v2(unsigned long long* out, unsigned long size) {
  *out = next;
  next += size;
  return 0;
}
int cuMemFree_v2(unsigned long long pointer) { return 0; }
'''
REOPEN = r'''
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/mman.h>
int main(void) {
  for (int i = 0; i < 3; ++i) {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    int (*alloc)(unsigned long long*, unsigned long) = dlsym(driver, "cuMemAlloc_v2");
    int (*release)(unsigned long long) = dlsym(driver, "cuMemFree_v2");
    unsigned long long pointer = 0;
    Dl_info info;
    if (alloc(&pointer, 4096) || release(pointer) || !dladdr(dlsym(driver, "cuInit"), &info))
      return 1;
    dlclose(driver);
    /* Where it was, nothing can be loaded or called. */
    if (mmap(info.dli_fbase, 12288, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
             -1, 0) != info.dli_fbase) return 2;
  }
  return 0;
}
'''


def test_reopen(env):
    """A driver that is closed and opened again may be loaded elsewhere."""
    folder = env.folder / "small"
    folder.mkdir()
    driver = compile_c(env, "libcuda.so.1", SMALL_DRIVER, "-shared", "-fPIC", "-Wl,-Bsymbolic")
    driver.rename(folder / "libcuda.so.1")
    program = compile_c(env, "reopen", REOPEN)
    env.run(program, LD_LIBRARY_PATH=folder, shim=False)
    env.run(program, LD_LIBRARY_PATH=folder)
    same(["alloc", "free_completed"] * 3, [row[1] for row in events_of(env, env.log())], "events")


WEAK = r'''
#include <stdio.h>
int cuMemAlloc_v2(unsigned long long*, unsigned long) __attribute__((weak));
int cuGetProcAddress_v2(const char*, void**, int, unsigned long long, void*) __attribute__((weak));
int cuCtxDestroy_v2(void*) __attribute__((weak));
int cuGraphLaunch(void*, void*) __attribute__((weak));
int hipMalloc(void**, unsigned long) __attribute__((weak));
int main(void) {
  unsigned long long pointer = 7;
  void* found = &pointer;
  if (cuMemAlloc_v2)
    printf("%d %d %d %d %d ", cuMemAlloc_v2(&pointer, 1), cuCtxDestroy_v2(0), cuGraphLaunch(0, 0),
           cuGetProcAddress_v2("cuInit", &found, 12000, 0, 0), hipMalloc(&found, 1));
  printf("%d\n", pointer == 7 && found == &pointer);
  return 0;
}
'''


def test_weak(env):
    """Without a driver the wrappers say that there is no device."""
    program = compile_c(env, "weak", WEAK)
    same("1\n", env.run(program, shim=False, LD_LIBRARY_PATH="/nonexistent").stdout, "plain")
    same("100 100 100 100 100 1\n", env.run(program, LD_LIBRARY_PATH="/nonexistent").stdout, "shim")
    same([], env.logs(), "no log")


# While a context ends, another thread makes one of the same handle and allocates in it.
ENDING_DRIVER = r'''
static unsigned long long next = 0x10000;
static _Thread_local void* current;
static void (*between)(void);
static int refuse;
void setBetween(void (*call)(void), int refused) { between = call; refuse = refused; }
int cuInit(unsigned flags) { return 0; }
int cuCtxSetCurrent(void* context) { current = context; return 0; }
int cuCtxGetCurrent(void** context) { *context = current; return 0; }
int cuCtxGetDevice(int* device) { *device = 0; return 0; }
int cuCtxDestroy_v2(void* context) { if (between) between(); return refuse; }
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) { return !(*active = 1); }
int cuDevicePrimaryCtxRetain(void** context, int device) { *context = (void*)0x20; return 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { return 0; }
int cuDevicePrimaryCtxReset_v2(int device) { if (between) between(); return refuse; }
int cuMemAlloc_v2(unsigned long long* out, unsigned long size) {
  *out = next;
  next += size;
  return 0;
}
int cuMemCreate(unsigned long long* handle, unsigned long size, const int* properties,
                unsigned long long flags) { *handle = 0x77; return 0; }
int cuMemMap(unsigned long long address, unsigned long size, unsigned long offset,
             unsigned long long handle, unsigned long long flags) { return 0; }
int cuMemRelease(unsigned long long handle) { return 0; }
int cuMemUnmap(unsigned long long address, unsigned long size) { return 0; }
int cuMemAddressFree(unsigned long long address, unsigned long size) { return refuse; }
'''
ENDING = r'''
#include <pthread.h>
typedef unsigned long long Pointer;
void setBetween(void (*)(void), int);
int cuCtxSetCurrent(void*), cuCtxDestroy_v2(void*), cuDevicePrimaryCtxReset_v2(int);
int cuMemAlloc_v2(Pointer*, unsigned long);
int cuMemCreate(Pointer*, unsigned long, const int*, unsigned long long), cuMemRelease(Pointer);
int cuMemMap(Pointer, unsigned long, unsigned long, Pointer, unsigned long long);
int cuMemUnmap(Pointer, unsigned long), cuMemAddressFree(Pointer, unsigned long);
static void* context;
static void* work(void* size) {
  Pointer out;
  cuCtxSetCurrent(context);
  cuMemAlloc_v2(&out, (unsigned long)size);
  return 0;
}
static void other(void) {
  pthread_t thread;
  pthread_create(&thread, 0, work, (void*)(context == (void*)0x10 ? 1 << 20 : 2 << 20));
  pthread_join(thread, 0);
}
int main(void) {
  Pointer out, handle;
  const int device[16] = {1, 0, 1, 0};
  for (int primary = 0; primary < 2; ++primary) {
    context = primary ? (void*)0x20 : (void*)0x10;
    cuCtxSetCurrent(context);
    cuMemAlloc_v2(&out, 4096);
    setBetween(other, 0);
    primary ? cuDevicePrimaryCtxReset_v2(0) : cuCtxDestroy_v2(context);
    cuMemAlloc_v2(&out, 512);
    setBetween(0, 5);
    primary ? cuDevicePrimaryCtxReset_v2(0) : cuCtxDestroy_v2(context);
  }
  cuMemCreate(&handle, 8 << 20, device, 0);
  cuMemMap(0x900000, 8 << 20, 0, handle, 0);
  cuMemRelease(handle);
  cuMemUnmap(0x900000, 8 << 20);
  return cuMemAddressFree(0x900000, 8 << 20) == 5 ? 0 : 1;
}
'''


def test_endings(env):
    """The end of a context takes what was there before, and nothing when it is refused."""
    folder = env.folder / "driver"
    folder.mkdir()
    driver = compile_c(env, "libcuda.so.1", ENDING_DRIVER, "-shared", "-fPIC", "-Wl,-Bsymbolic",
                       "-Wl,-soname,libcuda.so.1")
    driver.rename(folder / "libcuda.so.1")
    env.run(compile_c(env, "ending", ENDING, f"{folder}/libcuda.so.1"), LD_LIBRARY_PATH=folder)
    live = {}
    for _, action, key, size, _, _ in events_of(env, env.log()):
        if action == "alloc":
            live[key] = size
        elif action == "free_completed":
            del live[key]
    same([512, 512, 1 << 20, 2 << 20], sorted(live.values()), "live at the end")
    notes = json.loads(env.ask("info", "--format", "json", env.log()))["diagnostics"]
    same([3], [row["count"] for row in notes if row["code"] == "refused_frees"], "refused")


# What the shim may call outside: what no sanitizer replaces (but sigaction, whose handlers it has to
# know, and the clock). The rest is in base/c_library.cc.
IMPORTS = {"__cxa_finalize", "__errno_location", "__gmon_start__", "__register_atfork",
           "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable", "_r_debug", "clock_gettime",
           "dl_iterate_phdr", "getenv", "getpid", "getppid", "posix_fallocate",
           "pthread_setcancelstate", "sigaction", "syscall", "sysconf"}


def test_symbols(env):
    """Nothing newer than GLIBC_2.28, no C++ runtime, nothing exported or called by accident."""
    text = subprocess.run(["objdump", "-T", str(env.shim)], capture_output=True, text=True).stdout
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", text)}
    assert versions and max(versions) <= (2, 28), sorted(versions)
    exported = {line.split()[-1] for line in text.splitlines()
                if " g " in line and "*UND*" not in line and line.split()[-1] != "Base"}
    odd = {name for name in exported
           if not re.match(r"cu[A-Z]|hip[A-Z]|memtool_capture_|dlsym$|InitializeInjection$|"
                           r"__asan_default_options$", name)}
    same(set(), odd, "exports")
    needed = subprocess.run(["objdump", "-p", str(env.shim)], capture_output=True, text=True).stdout
    same({"libc.so.6"}, set(re.findall(r"NEEDED +(\S+)", needed)) - {"ld-linux-x86-64.so.2"}, "needs")
    called = {line.split()[-1] for line in text.splitlines() if "*UND*" in line}
    same(set(), called - IMPORTS, "calls that a sanitizer may see: base/c_library.cc")
