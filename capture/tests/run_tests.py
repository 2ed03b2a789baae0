#!/usr/bin/env python3
"""The capture shim against a driver of our own, whose books must agree with the log exactly.

usage: run_tests.py TEST --memtool PATH --shim PATH --programs DIR   (exit 77: skipped)
"""
import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

HOW = ("linked", "dlsym", "runtime", "ptsz")
HEADER, CHUNK, CHUNK_HEADER = 4096, 65536, 32
SKIPPED = 77
# In the sanitizer build memtool is instrumented: the programs under the shim are not.
MEMTOOL_LIMIT = 300


class Env:
    def __init__(self, args):
        self.memtool, self.shim = Path(args.memtool), Path(args.shim)
        self.programs, self.sources = Path(args.programs), Path(__file__).resolve().parent
        self.folder = Path(tempfile.mkdtemp(prefix="memtool-capture-"))

    def environment(self, shim=True, **more):
        keep = {k: v for k, v in os.environ.items()
                if not k.startswith(("MEMTOOL_CAPTURE", "FAKE_CUDA", "LD_"))}
        keep.update(LD_LIBRARY_PATH=f"{self.programs}/driver:{self.programs}",
                    MEMTOOL_CAPTURE_OUT=str(self.folder / "log.%p.%r.mtcap"),
                    FAKE_CUDA_BOOKS=str(self.folder / "books"))
        if shim:
            keep["LD_PRELOAD"] = str(self.shim)
        keep.update({k: str(v) for k, v in more.items()})
        return keep

    def clear(self):
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def run(self, *command, status=0, **more):
        done = subprocess.run([str(word) for word in command], env=self.environment(**more),
                              cwd=self.folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == status, f"{command}: {done.returncode}\n{done.stderr}"
        return done

    def program(self, how, scenario, *words, status=0, **more):
        return self.run(self.programs / "driver_program", how, scenario, *words, status=status,
                        **more)

    def logs(self):
        return sorted(self.folder.glob("*.mtcap*"))

    def log(self):
        logs = self.logs()
        assert len(logs) == 1, f"one log expected: {logs}"
        return logs[0]

    def ask(self, *words, status=0):
        done = subprocess.run([str(self.memtool), *map(str, words)], capture_output=True, text=True,
                              timeout=MEMTOOL_LIMIT, env={**os.environ, "LC_ALL": "C.UTF-8"})
        assert done.returncode == status, f"memtool {words}: {done.returncode}\n{done.stderr}"
        return done.stdout

    def card(self, log):
        return json.loads(self.ask("info", "--format", "json", log))["inputs"][0]

    def books(self):
        found = sorted(self.folder.glob("books.*"))
        return [json.loads(path.read_text()) for path in found]


def read_header(log):
    data = Path(log).read_bytes()[:HEADER]
    names = ("version order header chunk committed unix monotonic pid ppid hash flags stop events "
             "dropped folded unwind unknown forked python python_version").split()
    values = struct.unpack_from("<4I3Q2iQ2I6Q2I", data, 8)
    return dict(zip(names, values))


EVENT = re.compile(r"  (\d+): (\w+) 0x([0-9a-f]+) size=(\d+)(?: t=(-?\d+))? "
                   r"stream=0x[0-9a-f]+ ?(?:\[(.*?)\])?:(.*)$")


def events_of(env, log):
    """-> [(trace, action, key, size, ledger, stack)], in file order per trace."""
    rows, trace = [], None
    for line in env.ask("raw", log).splitlines():
        if found := re.match(r"trace of (?:device )?(\S+): ", line):
            trace = found[1]
        elif found := EVENT.match(line):
            ledger = re.search(r"ledger=(.*?)(?: thread=| tag=| pool=|$)", found[6] or "")
            rows.append((trace, found[2], int(found[3], 16), int(found[4]),
                         ledger and ledger[1], found[7].split()))
    return rows


def sums_of(rows):
    sums = defaultdict(lambda: dict(allocs=0, frees=0, failed=0, bytes=0, live=0, peak=0))
    live_of, peak_of = defaultdict(int), defaultdict(int)
    for trace, action, _, size, ledger, _ in rows:
        book = sums[f"{trace} {ledger}"]
        if action == "alloc":
            book["allocs"] += 1
            book["bytes"] += size
            book["live"] += size
            book["peak"] = max(book["peak"], book["live"])
            live_of[trace] += size
            peak_of[trace] = max(peak_of[trace], live_of[trace])
        elif action == "free_completed":
            book["frees"] += 1
            book["live"] -= size
            live_of[trace] -= size
        elif action in ("oom", "other") and size >= 0:
            book["failed"] += 1
    return dict(sums), dict(peak_of)


def same(want, got, what):
    assert want == got, f"{what}: want {want}\n got {got}"


def compare_books(env, scenario, log=None, books=None, peaks=True):
    books = books or env.books()[0]
    log = log or env.log()
    sums, peak_of = sums_of(events_of(env, log))
    want = {name: dict(row) for name, row in books["books"].items()}
    if not peaks:
        for row in [*want.values(), *sums.values()]:
            row.pop("peak")
    same(want, sums, scenario)
    if peaks:
        card = env.card(log)
        for device in card["devices"]:
            if device["device"] >= 0:
                same(books["device_peak"][device["device"]], device["peak_bytes"], "device peak")
            trace = str(device["device"]) if device["device"] >= 0 else "host"
            same(peak_of.get(trace, 0), device["peak_bytes"], "peak of the events")


# --- tests ------------------------------------------------------------------------------------------

def test_calls(env):
    for how in HOW:
        for scenario in ("calls", "vmm", "contexts"):
            env.clear()
            env.program(how, scenario)
            compare_books(env, f"{how} {scenario}")
            header = read_header(env.log())
            same((1, 0, 0), (header["flags"], header["dropped"], header["stop"]), "header")


def test_failures(env):
    for how in HOW:
        env.clear()
        env.program(how, "oom", FAKE_CUDA_CAPACITY=90_000_000)
        compare_books(env, f"{how} oom")
        ooms = [row for row in events_of(env, env.log()) if row[1] == "oom"]
        free = 90_000_000 - 5 * (1 << 20)
        same([(100 << 20, free), (90 << 20, free)], [(row[3], row[2]) for row in ooms], "ooms")
        assert all(row[5] for row in ooms), "an OOM has its stack"
        at = json.loads(env.ask("top", "--at", "oom", "--format", "json", env.log()))
        same(5 << 20, at["total"], "live at the OOM")

        env.clear()
        env.program(how, "unknown_frees")
        books = env.books()[0]
        compare_books(env, f"{how} unknown frees", books=books)
        notes = {row["code"]: row["count"] for row in env.card(env.log())["diagnostics"]} \
            if "diagnostics" in env.card(env.log()) else {
                row["code"]: row["count"] for row in json.loads(
                    env.ask("info", "--format", "json", env.log()))["diagnostics"]}
        same(2, notes.get("refused_frees"), "refused frees")
        same(None, notes.get("unknown_frees"), "a refused free is no unknown one")

        env.clear()
        env.program(how, "unknown_frees", status=9, FAKE_CUDA_FAIL_FREES=1)
        # The books die with _exit; the log says that the allocation is still there.
        sums, _ = sums_of(events_of(env, env.log()))
        same(4096, sums["0 device"]["live"], "a refused free takes nothing away")


def test_threads(env):
    for how in ("linked", "ptsz"):
        env.clear()
        env.program(how, "threads", 5000)
        # Threads interleave otherwise in the log than in the driver: no peaks.
        compare_books(env, f"{how} threads", peaks=False)
        header = read_header(env.log())
        same(2 * 4 * 5000, header["events"], "events")
        per_event = (header["committed"] - HEADER) / header["events"]
        assert per_event < 10, f"{per_event} bytes per event"


def test_fork(env):
    env.program("linked", "fork", RANK=3)
    logs = env.logs()
    same(2, len(logs), "a log for each process")
    assert all(path.name.endswith(".3.mtcap") for path in logs), logs
    headers = {read_header(path)["pid"]: (path, read_header(path)) for path in logs}
    child = next(pid for pid, (_, head) in headers.items() if head["forked"] != 0)
    parent = headers[child][1]["ppid"]
    same(headers[parent][1]["monotonic"], headers[child][1]["forked"], "the child names its parent")
    sums, _ = sums_of(events_of(env, headers[parent][0]))
    same((2, 5 << 20), (sums["0 device"]["allocs"], sums["0 device"]["live"]), "parent")
    sums, _ = sums_of(events_of(env, headers[child][0]))
    same((2, 5 << 20), (sums["0 device"]["allocs"], sums["0 device"]["live"]), "child")


def test_stacks(env):
    env.program("linked", "deep")
    for unwinder in ("auto", "libgcc"):
        env.clear()
        env.program("linked", "deep", MEMTOOL_CAPTURE_UNWIND=unwinder)
        text = env.ask("traces", "--frames", "all", env.log())
        same(31, len(re.findall(r"^ +(?:\(anonymous namespace\)::)?Recurse", text, re.M)), unwinder)
        same(1, len(re.findall(r"Innermost", text)), unwinder)
        assert "main" in text and "_start" in text, text
        same(0, read_header(env.log())["unwind"], "unwound to the end")
    env.clear()
    env.program("linked", "deep", MEMTOOL_CAPTURE_DEPTH=5)
    text = env.ask("traces", "--frames", "all", env.log())
    same(4, len(re.findall(r"Recurse", text)), "depth 5 is innermost and four more")
    env.clear()
    env.program("linked", "deep", MEMTOOL_CAPTURE_STACKS="off")
    assert "Recurse" not in env.ask("traces", "--frames", "all", env.log())


PYTHON = '''
import ctypes
cuda = ctypes.{kind}("libcuda.so.1")
def allocate(size):
    pointer = ctypes.c_ulonglong()
    assert cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
def couche_\u00e9(size):
    return [allocate(size)
            for _ in range(2)]
def main():
    context = ctypes.c_void_p()
    cuda.cuInit(0)
    cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0)
    for i in range(3):
        couche_\u00e9(
            1 << 20)
    list(map(lambda size: allocate(size),
             [4096, 8192]))
    def generator():
        yield allocate(12288)
    list(generator())
main()
'''


def interpreters():
    found = {}
    candidates = [Path("/usr/bin/python3"), Path(sys.executable),
                  *(Path(p) / f"python3.{m}" for p in os.get_exec_path() for m in range(9, 14)),
                  *Path.home().glob(".pyenv/versions/3.*/bin/python3")]
    for path in candidates:
        if not path.exists() or "shims" in str(path):
            continue
        done = subprocess.run([str(path), "-c", "import sys, ctypes; print('%d.%d' % "
                               "sys.version_info[:2], getattr(sys, 'abiflags', ''))"],
                              capture_output=True, text=True)
        if done.returncode == 0:
            found.setdefault((done.stdout.split()[0], str(path.resolve())), path)
    return sorted(found.items())


def expected_python(env, script, python):
    """Names and lines of each allocation's Python frames, from the interpreter itself."""
    probe = script.with_name("probe.py")
    probe.write_text(script.read_text().replace(
        'cuda = ctypes', 'import sys\ncuda = ctypes').replace(
        "    assert cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0",
        "    frames, frame = [], sys._getframe()\n    while frame: frames.append(f'"
        "{frame.f_code.co_name}:{frame.f_lineno}'); frame = frame.f_back\n    print(*frames)"),
        encoding="utf-8")
    done = subprocess.run([str(python), str(probe)], capture_output=True, timeout=60,
                          env=env.environment(shim=False, PYTHONIOENCODING="utf-8"))
    assert done.returncode == 0, done.stderr.decode()
    text = done.stdout.decode()
    return [line.split() for line in text.splitlines()]


def python_frames(env, log):
    """-> per allocation, the Python frames' (last part of the qualified name, line)."""
    text = env.ask("raw", log)
    names = {}
    for line in text.splitlines():
        if found := re.match(r"  (\d+): 0x0 (\S+) (\S+\.py):(\d+):", line):
            names[found[1]] = f"{found[2].split('.')[-1]}:{found[4]}"
    return [[names[n] for n in row[5] if n in names] for row in events_of(env, log)
            if row[1] == "alloc"]


def test_python(env):
    tried = 0
    for (version, _), python in interpreters():
        minor = int(version.split(".")[1])
        for kind in ("CDLL", "PyDLL"):
            env.clear()
            script = env.folder / "program.py"
            script.write_text(PYTHON.format(kind=kind), encoding="utf-8")
            (env.folder / "libcuda.so.1").symlink_to(env.programs / "driver" / "libcuda.so.1")
            env.run(python, script)
            state = read_header(env.log())["python"]
            if not 9 <= minor <= 13:
                same(3, state, f"{version}: not supported")
                continue
            assert state in (1, 5) if kind == "CDLL" else state == 1, f"{version} {kind}: {state}"
            tried += 1
            got = python_frames(env, env.log())
            want = expected_python(env, script, python)
            # The probe has two lines more above each line but the first three.
            want = [[shift(frame, script) for frame in row] for row in want]
            got = [[frame for frame in row] for row in got]
            same([[f.split(":")[0] for f in row] for row in want],
                 [[f.split(":")[0] for f in row] for row in got], f"{version} {kind}: names")
            same(want, got, f"{version} {kind}: lines")
            traces = env.ask("traces", "--frames", "all", env.log())
            assert "_PyEval_EvalFrameDefault" not in traces, f"{version}: loops are replaced"
            assert re.search(r"Py_BytesMain|Py_Main", traces), "native frames are kept"
            env.ask("top", env.log())
    print(f"{tried} interpreters and ways of calling")
    return 0 if tried else SKIPPED


def shift(frame, script):
    """A line of the probe as a line of the program."""
    name, line = frame.rsplit(":", 1)
    lines = script.with_name("probe.py").read_text(encoding="utf-8").splitlines()
    text = lines[int(line) - 1]
    if "frames, frame" in text or "while frame" in text or "print(*frames)" in text:
        text = "    assert cuda"
    program = script.read_text(encoding="utf-8").splitlines()
    at = [n for n, known in enumerate(program, 1) if known.startswith(text)]
    assert len(at) == 1, (frame, text, at)
    return f"{name}:{at[0]}"


def test_api(env):
    env.program("linked", "api")
    rows = events_of(env, env.log())
    sums, _ = sums_of(rows)
    same({"0 device": (2, (1 << 20) + 4096), "arena@0 arena": (2, 500)},
         {name: (row["allocs"], row["live"]) for name, row in sums.items()}, "books")
    text = env.ask("raw", env.log())
    same(1, len(re.findall(r"alloc .*size=4096 .*tag=layer1", text)), "tag")
    same(1, len(re.findall(r"alloc .*size=500 .*tag=inner", text)), "inner tag")
    assert re.search(r"^mark begin#1 ", text, re.M) and re.search(r"^mark snapshot ", text, re.M)
    total = json.loads(env.ask("top", "--format", "json", env.log()))["total"]
    same((1 << 20) + 4096, total, "the arena is not counted beside its segment")
    total = json.loads(env.ask("top", "--device", "arena@0", "--format", "json", env.log()))["total"]
    same(500, total, "the arena alone")
    total = json.loads(env.ask("top", "--at", "mark:begin#1", "--device", "0", "--format", "json",
                               env.log()))["total"]
    same(0, total, "at the mark")
    env.clear()
    env.program("linked", "api", shim=False)
    same([], env.logs(), "the header's functions are weak")


def test_harmless(env):
    """No output, no file, no other exit status in programs that have no device."""
    libasan = subprocess.run(["gcc", "-print-file-name=libasan.a"], capture_output=True, text=True)
    source = env.folder / "plain.c"
    source.write_text('#include <dlfcn.h>\n#include <stdio.h>\n#include <stdlib.h>\n'
                      'int main(void) { void* p = malloc(10); free(p);\n'
                      '  printf("%d\\n", dlsym(RTLD_DEFAULT, "cuInit") != 0); return 3; }\n')
    commands = [["/bin/true"], ["/bin/ls", "/"], [sys.executable, "-c", "print(1)"],
                ["git", "--version"], ["sh", "-c", "echo a; exit 4"]]
    compilers = {"plain": ["cc"], "static": ["cc", "-static"]}
    if Path(libasan.stdout.strip()).is_absolute():
        compilers["asan"] = ["cc", "-fsanitize=address", "-static-libasan"]
        compilers["ubsan"] = ["cc", "-fsanitize=undefined", "-static-libubsan"]
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


def compile_c(env, name, text, *flags):
    source = env.folder / f"{name}.c"
    source.write_text(text)
    out = env.folder / name
    built = subprocess.run(["cc", "-w", "-o", str(out), str(source), *flags, "-ldl", "-lpthread"],
                           capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return out


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


def start_endless(env):
    child = subprocess.Popen([str(env.programs / "driver_program"), "linked", "endless"],
                             env=env.environment(), cwd=env.folder, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"ready\n"
    return child


def test_kill(env):
    """SIGKILL at random moments: every committed event is read back."""
    chance = random.Random(7)
    for round_ in range(50):
        env.clear()
        child = start_endless(env)
        time.sleep(chance.uniform(0.002, 0.05))
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        if not env.logs():
            continue  # killed before the first allocation
        log = env.log()
        header = read_header(log)
        same(0, header["flags"], "not ended cleanly")
        whole = json.loads(env.ask("info", "--format", "json", log))
        events = sum(device["events"] for device in whole["inputs"][0]["devices"])
        # The counter is raised just before the record is committed: at most one lies between.
        assert header["events"] - 1 <= events <= header["events"], (round_, header, events)
        damage = [row for row in whole["diagnostics"]
                  if row["code"] in ("lost_chunk", "lost_records", "lost_definitions", "truncated")]
        same([], damage, "no damage")


def test_truncated(env):
    """A file cut at any byte gives what is whole, and says so."""
    env.program("linked", "threads", 4000)
    log = env.log()
    data = log.read_bytes()
    all_events = len(events_of(env, log))
    cut = env.folder / "cut.mtcap"
    chance = random.Random(11)
    places = [*range(0, 1200, 131), 767, 768, 4095, 4096, 4097, HEADER + CHUNK_HEADER,
              HEADER + CHUNK, HEADER + CHUNK + 1, len(data) - 1,
              *(chance.randrange(HEADER, len(data)) for _ in range(40))]
    before = -1
    for size in sorted(set(places)):
        cut.write_bytes(data[:size])
        done = subprocess.run([str(env.memtool), "info", "--format", "json", str(cut)],
                              capture_output=True, text=True)
        if size < 768:
            same(3, done.returncode, f"{size} bytes")
            continue
        same(0, done.returncode, f"{size} bytes: {done.stderr}")
        answer = json.loads(done.stdout)
        events = sum(device["events"] for device in answer["inputs"][0]["devices"])
        codes = {row["code"] for row in answer["diagnostics"]}
        assert "truncated" in codes and before <= events < all_events + 1, (size, events, codes)
        before = events
    # Any byte of a sealed chunk changed: the chunk is left out, the rest is read.
    broken = bytearray(data)
    broken[HEADER + 1000] ^= 1
    cut.write_bytes(broken)
    answer = json.loads(env.ask("info", "--format", "json", cut))
    assert "lost_chunk" in {row["code"] for row in answer["diagnostics"]}, answer["diagnostics"]
    env.ask("info", "--strict", cut, status=4)


def test_full(env):
    """No space, the bound of the user, the limit on file sizes: the log stops, the program does not."""
    events = 2 * 4 * 5000
    refuse = compile_c(env, "refuse.so", "#include <errno.h>\n#include <sys/types.h>\n"
                       "int posix_fallocate(int fd, off_t at, off_t size)\n"
                       "{ return at > 100000 ? ENOSPC : 0 * ftruncate(fd, at + size); }\n",
                       "-shared", "-fPIC")
    cases = {"disk": (2, dict(LD_PRELOAD=f"{env.shim}:{refuse}"), None),
             "bound": (1, dict(MEMTOOL_CAPTURE_MAX_BYTES="70K"), None),
             "limit": (3, {}, 300_000)}
    for name, (reason, more, limit) in cases.items():
        for path in [*env.logs(), *env.folder.glob("books.*")]:
            path.unlink()

        def set_limit(size=limit):
            if size:
                resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        done = subprocess.run([str(env.programs / "driver_program"), "linked", "threads", "20000"],
                              env=env.environment(**more), preexec_fn=set_limit, cwd=env.folder,
                              capture_output=True, text=True)
        same((0, ""), (done.returncode, done.stderr), name)
        header = read_header(env.log())
        same(reason, header["stop"], name)
        same(4 * events, header["events"] + header["dropped"], f"{name}: all are counted")
        assert header["dropped"] > 0 and header["events"] > 0, header
        answer = json.loads(env.ask("info", "--format", "json", env.log()))
        codes = {row["code"]: row["count"] for row in answer["diagnostics"]}
        same(header["dropped"], codes["dropped_events"], "the drops are shown")
        assert "stopped_early" in codes and "lost_events" not in codes, codes
    # Nothing can be written at all.
    for path in env.logs():
        path.unlink()
    done = env.program("linked", "calls", MEMTOOL_CAPTURE_OUT="/nonexistent/log.mtcap")
    assert done.stderr.startswith("memtool capture: cannot create the log "), done.stderr
    same(1, done.stderr.count("\n"), "said once")


def test_symbols(env):
    """Nothing newer than GLIBC_2.28, no C++ runtime, nothing exported by accident."""
    text = subprocess.run(["objdump", "-T", str(env.shim)], capture_output=True, text=True).stdout
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", text)}
    assert versions and max(versions) <= (2, 28), sorted(versions)
    exported = {line.split()[-1] for line in text.splitlines()
                if " g " in line and "*UND*" not in line and line.split()[-1] != "Base"}
    odd = {name for name in exported
           if not re.match(r"cu[A-Z]|memtool_capture_|dlsym$", name)}
    same(set(), odd, "exports")
    needed = subprocess.run(["objdump", "-p", str(env.shim)], capture_output=True, text=True).stdout
    same({"libc.so.6"}, set(re.findall(r"NEEDED +(\S+)", needed)) - {"ld-linux-x86-64.so.2"}, "needs")


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
    done = env.run(env.folder / "program", FAKE_CUDA_QUERIES=env.folder / "queries")
    assert done.stdout.strip() != "0", "the fake is not a device"
    queries = [line.split() for line in (env.folder / "queries").read_text().splitlines()]
    assert len(queries) > 300, len(queries)
    swapped = {words[1] for words in queries if words[0] == "found"}
    for name in ("cuMemAlloc", "cuMemFree", "cuMemAllocAsync", "cuMemHostAlloc", "cuArrayCreate"):
        assert name in swapped, name
    return 0


def test_launcher(env):
    program = env.programs / "driver_program"
    plain = {k: v for k, v in env.environment(shim=False).items() if k != "MEMTOOL_CAPTURE_OUT"}

    def launch(*words, **more):
        return subprocess.run([str(env.memtool), "run", *map(str, words)], env={**plain, **more},
                              cwd=env.folder, capture_output=True, text=True, timeout=60)
    done = launch("--", program, "linked", "calls")
    same(0, done.returncode, done.stderr)
    log = env.log()
    assert re.fullmatch(rf"memtool: {re.escape(str(log))}: 102 events, device 0: peak 21.09 MiB, "
                        r"end 3.15 MiB, device 1: peak 21.09 MiB, end 3.17 MiB, host: peak "
                        r"161.66 KiB, end 142.12 KiB\n", done.stderr), done.stderr
    env.clear()
    done = launch("-q", "-o", "here.%r.%%.mtcap", program, "linked", "calls", RANK="5")
    same((0, "", "here.5.%.mtcap"), (done.returncode, done.stderr, env.log().name), "quiet")
    env.clear()
    child = subprocess.Popen([str(env.memtool), "run", "-q", "--", str(program), "linked",
                              "endless"], env=plain, cwd=env.folder, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
    same(b"ready\n", child.stdout.readline(), "started")
    try:
        child.send_signal(signal.SIGTERM)
        same(128 + signal.SIGTERM, child.wait(timeout=60), "a signal is passed on")
    finally:
        child.kill()
        child.stdout.close()


TESTS = {name[5:]: test for name, test in globals().items() if name.startswith("test_")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("test", choices=sorted(TESTS))
    for name in ("--memtool", "--shim", "--programs"):
        parser.add_argument(name, required=True)
    args = parser.parse_args()
    env = Env(args)
    try:
        return TESTS[args.test](env) or 0
    finally:
        shutil.rmtree(env.folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
