"""Programs that change under the shim: sub-interpreters, libraries that go, threads that fork."""
import json
import platform
import re

from harness import SKIPPED, compare_books, compile_c, events_of, read_header, same
from tests_stacks import interpreters

SUB = '''
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
def allocate(size):
    pointer = ctypes.c_ulonglong()
    assert cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
context = ctypes.c_void_p()
cuda.cuInit(0)
cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
allocate(4096)
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
kind = dict(isolated=False) if sys.version_info < (3, 13) else dict(config="legacy")
interpreters.run_string(interpreters.create(**kind), "pass")
allocate(8192)
'''


def pythons(env):
    """The interpreters that the shim reads frames of, each with an empty folder and the driver."""
    for (version, _), python in interpreters():
        if 9 <= int(version.split(".")[1]) <= 13:
            env.clear()
            (env.folder / "libcuda.so.1").symlink_to(env.programs / "driver" / "libcuda.so.1")
            yield version, python


def notes(env):
    answer = json.loads(env.ask("info", "--format", "json", env.log()))
    return {row["code"]: row["count"] for row in answer["diagnostics"]}


INNER = SUB.replace('"pass"', "'''" + """
import ctypes
cuda = ctypes.KIND("libcuda.so.1")
def innermost():
    pointer = ctypes.c_ulonglong()
    cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(12288))
def inside():
    innermost()
inside()
""" + "'''").replace("allocate(8192)", "(lambda: allocate(8192))()")


def test_inside_subinterpreter(env):
    """The frames are those of the interpreter that the thread is in, or none, which is counted."""
    tried = 0
    for version, python in pythons(env):
        for kind in ("PyDLL", "CDLL"):
            for path in env.logs():
                path.unlink()
            script = env.folder / "program.py"
            script.write_text(INNER.replace("KIND", kind))
            env.run(python, script)
            names = {found[1]: found[2] for found in
                     re.finditer(r"  (\d+): 0x0 (\S+) \S+:\d+:", env.ask("raw", env.log()))}
            stacks = [[names[frame] for frame in row[5] if frame in names]
                      for row in events_of(env, env.log()) if row[1] == "alloc"]
            same(3, len(stacks), "allocations")
            same(["allocate", "<module>"], stacks[0], version)
            if int(version.split(".")[1]) > 11:
                same(["innermost", "inside", "<module>"], stacks[1], f"{version} {kind}")
                same(["allocate", "<lambda>", "<module>"], stacks[2], f"{version} {kind}")
                assert "lost_python" not in notes(env), notes(env)
            else:
                # The last call does not hold the lock: it may be in either interpreter.
                inner = ["innermost", "inside", "<module>"] if kind == "PyDLL" else []
                same([inner, []], stacks[1:], f"{version} {kind}")
                same(1 if inner else 2, notes(env)["lost_python"], f"{version} {kind}")
            tried += 1
    return 0 if tried else SKIPPED


def test_unverified(env):
    """Frames that were never compared with the interpreter's are said to be so."""
    tried = 0
    for _, python in pythons(env):
        for kind, verified in (("CDLL", False), ("PyDLL", True)):
            for path in env.logs():
                path.unlink()
            script = env.folder / "program.py"
            # More calls without the lock before the first with it than a test would wait for.
            late = SUB.split("try:")[0] + "for i in range(300): allocate(512)\n" + (
                f'cuda = ctypes.{kind}("libcuda.so.1")\nallocate(8192)\n')
            script.write_text(late)
            env.run(python, script)
            same(1 if verified else 5, read_header(env.log())["python"], kind)
            same(not verified, "unverified_python" in notes(env), kind)
            tried += 1
    return 0 if tried else SKIPPED


def test_subinterpreters(env):
    """Once one was created, PyGILState_Check says yes to threads that do not hold the lock."""
    tried = 0
    for version, python in pythons(env):
        script = env.folder / "program.py"
        script.write_text(SUB)
        env.run(python, script)
        compare_books(env, version)
        tried += 1
    return 0 if tried else SKIPPED


CODE = r'''
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
int cuInit(unsigned), cuCtxCreate_v2(void**, unsigned, int), cuCtxSetCurrent(void*);
int cuMemAlloc_v2(unsigned long long*, size_t), cuMemFree_v2(unsigned long long);
static void* context;
static void begin(void) { cuInit(0); cuCtxCreate_v2(&context, 0, 0); }
void allocate(void) {
  unsigned long long pointer = 0;
  if (cuMemAlloc_v2(&pointer, 4096) != 0) { fprintf(stderr, "no memory\n"); exit(9); }
  cuMemFree_v2(pointer);
}
/* Code that no object holds: push rbx; sub rsp, 48; call allocate; add rsp, 48; pop rbx; ret */
static void generate(unsigned char* at) {
  unsigned char code[] = {0x53, 0x48, 0x83, 0xec, 0x30, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0,
                          0xff, 0xd0, 0x48, 0x83, 0xc4, 0x30, 0x5b, 0xc3};
  void (*function)(void) = allocate;
  memcpy(code + 7, &function, sizeof function);
  memcpy(at, code, sizeof code);
}
static unsigned char* pages(void* at, size_t size, int flags) {
  void* found = mmap(at, size, PROT_READ | PROT_WRITE | PROT_EXEC,
                     MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (found == MAP_FAILED) { perror("mmap"); exit(9); }
  return found;
}
static void run(unsigned char* at) { ((void (*)(void))at)(); }
static void* open_or_end(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (library == 0) { fprintf(stderr, "%s\n", dlerror()); exit(9); }
  return library;
}
'''


def program(env, name, text):
    return compile_c(env, name, CODE + text, "-rdynamic", str(env.programs / "driver/libcuda.so.1"))


def library(env, name, function="call"):
    """A library whose `function` allocates, under the name entry."""
    return compile_c(env, name, f"void allocate(void);\nvoid {function}(void);\n"
                     f"void entry(void) {{ {function}(); __asm__ volatile(\"\"); }}\n"
                     f"void {function}(void) {{ allocate(); __asm__ volatile(\"\"); }}\n",
                     "-shared", "-fPIC")


def only_x86():
    return platform.machine() != "x86_64"


def test_unloaded(env):
    """Generated code where a library was: its unwind table is gone."""
    if only_x86():
        return SKIPPED
    library(env, "gone.so")
    changing = program(env, "changing", r'''
int main(void) {
  begin();
  void* library = open_or_end("./gone.so");
  void (*entry)(void) = (void (*)(void))dlsym(library, "entry");
  entry();
  dlclose(library);
  unsigned char* page = (unsigned char*)((unsigned long)entry & ~4095ul);
  pages(page, 4096, MAP_FIXED_NOREPLACE);
  for (int i = 0; i < 100; ++i) { generate(page + 32 * i); run(page + 32 * i); }
  return 0;
}
''')
    env.run(changing)
    compare_books(env, "unloaded")


def test_unloading(env):
    """A library goes right after the n-th look at the linker's list, as another thread may do it."""
    if only_x86():
        return SKIPPED
    library(env, "gone.so")
    changing = program(env, "changing", r'''
#include <link.h>
typedef int (*Visit)(struct dl_phdr_info*, size_t, void*);
static void* library;
static int looks, hits;
int dl_iterate_phdr(Visit visit, void* data) {
  static int (*next)(Visit, void*);
  if (next == 0) next = dlvsym(RTLD_NEXT, "dl_iterate_phdr", "GLIBC_2.2.5");
  const int result = next(visit, data);
  if (looks > 0 && --looks == 0) { dlclose(library); ++hits; }
  return result;
}
int main(void) {
  begin();
  unsigned char* page = pages(0, 4096, 0);
  for (int n = 1; n <= 8; ++n) {
    library = open_or_end("./gone.so");
    looks = n;
    generate(page + 32 * n);
    run(page + 32 * n);
    if (looks > 0) { looks = 0; dlclose(library); }
  }
  printf("%d\n", hits);
  return 0;
}
''')
    assert int(env.run(changing).stdout) >= 3, "the shim looks at the list"
    compare_books(env, "unloading")


def test_reused(env):
    """A library at the address of one that is gone has its own names."""
    paths = [library(env, f"{name}.so", f"in_{name}") for name in ("first", "second")]
    changing = program(env, "changing", r'''
int main(int count, char** names) {
  void* at[2] = {0, 0};
  begin();
  for (int i = 0; i < 2; ++i) {
    void* library = open_or_end(names[1 + i]);
    at[i] = dlsym(library, "entry");
    ((void (*)(void))at[i])();
    dlclose(library);
  }
  printf("%d\n", at[0] == at[1]);
  return 0;
}
''')
    same("1\n", env.run(changing, *paths).stdout, "the same place")
    stacks = [row[5] for row in events_of(env, env.log()) if row[1] == "alloc"]
    same(2, len(stacks), "allocations")
    assert stacks[0] != stacks[1], stacks
    text = env.ask("raw", env.log())
    assert "in_first" in text and "in_second" in text, text


def test_fork_threads(env):
    """A process that forks while another thread is in the linker on the shim's behalf."""
    if only_x86():
        return SKIPPED
    forking = program(env, "forking", r'''
#include <link.h>
typedef int (*Visit)(struct dl_phdr_info*, size_t, void*);
struct Call { Visit visit; void* data; };
static volatile int wanted, inside;
static int first(struct dl_phdr_info* info, size_t size, void* data) {
  struct Call* call = data;
  if (wanted && !inside) {
    inside = 1;
    usleep(200000);  /* the other thread forks now, or waits for the end of this */
  }
  return call->visit(info, size, call->data);
}
int dl_iterate_phdr(Visit visit, void* data) {
  static int (*next)(Visit, void*);
  if (next == 0) next = dlvsym(RTLD_NEXT, "dl_iterate_phdr", "GLIBC_2.2.5");
  struct Call call = {visit, data};
  return next(first, &call);
}
static unsigned char* page;
static void* other(void* unused) {
  cuCtxSetCurrent(context);
  wanted = 1;
  run(page);
  return unused;
}
int main(void) {
  begin();
  page = pages(0, 4096, 0);
  generate(page);
  generate(page + 32);
  allocate();
  pthread_t thread;
  pthread_create(&thread, 0, other, 0);
  while (!inside) usleep(100);
  const int child = fork();
  if (child == 0) {
    alarm(5);
    run(page + 32);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  pthread_join(thread, 0);
  return status == 0 ? 0 : 7;
}
''')
    env.run(forking)
    same(2, len(env.logs()), "the child has a log of its own")


def test_small_stacks(env):
    """Threads with the smallest possible stack, the first of which makes the log."""
    changing = program(env, "changing", r'''
#include <limits.h>
static void* work(void* unused) { cuCtxSetCurrent(context); allocate(); return unused; }
int main(void) {
  begin();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) != 0) return 8;
  for (int i = 0; i < 3; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, work, 0) != 0) return 9;
    pthread_join(thread, 0);
  }
  return 0;
}
''')
    env.run(changing)
    compare_books(env, "small stacks")
    text = env.ask("raw", env.log())
    assert re.search(r" work ", text), text


def test_limits(env):
    """What the fixed tables and the depth leave out is counted, and nothing else is."""
    env.program("linked", "deep")
    depth = max(len(row[5]) for row in events_of(env, env.log()))
    for cut in (0, 1):
        env.clear()
        env.program("linked", "deep", MEMTOOL_CAPTURE_DEPTH=depth - cut)
        same(cut, notes(env).get("cut_stacks", 0), f"{cut} frames are missing")
    env.clear()
    small = compile_c(env, "small.so", "int nothing(void) { return 0; }", "-shared", "-fPIC",
                      "-nostdlib", "-s").read_bytes()
    for number in range(4100):
        (env.folder / f"{number}.so").write_bytes(small)
    many = program(env, "many", r'''
int main(int count, char** words) {
  char name[30];
  begin();
  for (int i = 0; i < atoi(words[1]); ++i) {
    snprintf(name, sizeof name, "./%d.so", i);
    open_or_end(name);
  }
  allocate();
  return 0;
}
''')
    for libraries, left_out in ((4000, False), (4100, True)):
        for path in env.logs():
            path.unlink()
        env.run(many, libraries)
        lost = notes(env).get("lost_mappings", 0)
        assert 4 <= lost <= 20 if left_out else lost == 0, (libraries, lost)
