"""Programs that close descriptors, fork past the C library, exit in handlers, run out of things."""
import json
import re
import time

from harness import compile_c, events_of, read_header, same, sums_of


def process(env, scenario, *words, **more):
    return env.run(env.programs / "process_program", scenario, *words, **more)


def diagnostics(env, log):
    return {row["code"]: row for row in json.loads(
        env.ask("info", "--format", "json", log))["diagnostics"]}


def parent_log(env):
    """The log of the process that was not forked."""
    headers = {log: read_header(log) for log in env.logs()}
    pids = {header["pid"] for header in headers.values()}
    logs = [log for log, header in headers.items() if header["ppid"] not in pids]
    assert len(logs) == 1, env.logs()
    return logs[0]


def test_descriptors(env):
    """The number of the log's descriptor is the user's file now: nothing is done to that."""
    process(env, "descriptors", MEMTOOL_CAPTURE_OUT="%%.%p.mtcap")
    same(b"precious", (env.folder / "precious").read_bytes(), "the user's file")
    log = parent_log(env)
    header = read_header(log)
    same((120001, 0, 0, 1), tuple(header[name] for name in ("events", "dropped", "stop", "flags")),
         "the log goes on by its path")
    same(header["committed"], log.stat().st_size, "cut to what it holds")
    same(120001, len(events_of(env, log)), "readable")
    env.clear()
    process(env, "moved")
    same(b"precious", (env.folder / "precious").read_bytes(), "the user's file")
    log = parent_log(env)
    header = read_header(log)
    same(("moved.mtcap", 5, 120001),
         (log.name, header["stop"], header["events"] + header["dropped"]), "stopped, and counted")
    assert 0 < header["dropped"] < 120000, header
    found = diagnostics(env, log)
    assert "was moved or removed" in found["stopped_early"]["message"], found


def test_bare_forks(env):
    """Children by the bare system call have logs of their own, and leave the parent's alone."""
    # Without stacks: such a child may also find the dynamic linker's lock held, which is not ours.
    process(env, "bare_forks", MEMTOOL_CAPTURE_STACKS="off")
    log = parent_log(env)
    header = read_header(log)
    assert header["events"] > 120010 and header["dropped"] == header["stop"] == 0, header
    same(1, header["flags"], "ended cleanly")
    same(header["events"], sum(device["events"] for device in env.card(log)["devices"]), "whole")
    children = [path for path in env.logs() if path != log]
    same(21, len(children), "children")
    found = []
    for child in children:
        same(header["monotonic"], read_header(child)["forked"], "the child names its parent")
        found.append([row[3] for row in events_of(env, child)])
    same([[8192] * 5] + [[12345]] * 20, sorted(found), "what the children did")


INTERRUPT = r"""
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
int posix_fallocate(int fd, off_t at, off_t size) {
  static int calls;
  if (++calls == atoi(getenv("INTERRUPT_AT"))) raise(SIGUSR1);
  return ftruncate(fd, at + size) ? errno : 0;
}
"""


def test_handlers(env):
    """exit(), fork() and marks in a signal handler that interrupted the library's own thread."""
    interrupt = compile_c(env, "interrupt.so", INTERRUPT, "-shared", "-fPIC")
    # While the file is made, and while it grows.
    for at in (1, 3):
        def run(scenario, status=0):
            for path in [*env.logs(), *env.folder.glob("books.*")]:
                path.unlink()
            return process(env, scenario, status=status, LD_PRELOAD=f"{env.shim}:{interrupt}",
                           INTERRUPT_AT=at)
        run("exits", status=7)
        if at > 1:
            header = read_header(env.log())
            same((1, header["events"]), (header["flags"], len(events_of(env, env.log()))), "exit")
        run("marks")
        header = read_header(env.log())
        same((120000, 1, 0), (header["events"], header["dropped"], header["stop"]), "marks")
        same("", run("forks").stderr, "nothing is said")
        header = read_header(parent_log(env))
        same((120000, 0, 1), (header["events"], header["dropped"], header["flags"]), "parent")
        same(120000, len(events_of(env, parent_log(env))), "the parent's log is whole")
        children = [path for path in env.logs() if path != parent_log(env)]
        same(1, len(children), "child")
        header = read_header(children[0])
        rows = events_of(env, children[0])
        same([1 << 20] * 2, [row[3] for row in rows if row[1] == "alloc"], "child")
        # What was interrupted belongs to the parent; its free, if that came later, matches nothing.
        assert header["events"] in (2, 3), header
        same((0, 1), (header["dropped"], header["flags"]), "child")


def test_cancelled(env):
    """A thread that is cancelled while it makes the log leaves no lock behind."""
    process(env, "cancelled")
    same([4096, 8192], [row[3] for row in events_of(env, env.log())], "both")


def test_shared_attributes(env):
    """More threads, streams and tags than the table of attribute sets holds: events share sets."""
    process(env, "many_streams")
    header = read_header(env.log())
    same((50003, 0), (header["events"], header["dropped"]), "events")
    # 24,576 sets, of which one is of the arena's frees. Behind them: allocations only, the two calls
    # of the device, and the other thread.
    found = diagnostics(env, env.log())
    same(25000 - 24575 + 2 + 1, found["shared_lanes"]["count"], "shared")
    assert "dropped_events" not in found, found
    sums, _ = sums_of(events_of(env, env.log()))
    same({"arena@0 arena": (25001, 25000, 77), "0 device": (1, 1, 0)},
         {name: (row["allocs"], row["frees"], row["live"]) for name, row in sums.items()}, "sums")
    assert "other threads" in env.ask("raw", env.log())


def test_tags(env):
    """Tags and domains beyond their tables are counted; a forked child keeps the tags."""
    process(env, "tags")
    header = read_header(env.log())
    same((13000 + 1 + 250, 0), (header["events"], header["dropped"]), "events")
    found = diagnostics(env, env.log())
    # "deep", too, is a name for which there is no room.
    same((13000 - 12288 + 20, 250 - 199),
         (found["lost_tags"]["count"], found["lost_domains"]["count"]), "counted")
    text = env.ask("raw", env.log())
    same((12288, 51), (text.count(" tag=step "), text.count("ledger=other domains")), "the rest")
    env.clear()
    process(env, "tag_fork")
    parent = parent_log(env)
    child = next(log for log in env.logs() if log != parent)
    tags = dict(re.findall(r"alloc .*size=(\d+) .*tag=(\w+)", env.ask("raw", child)))
    same({"8192": "outer", "16384": "inner"}, tags, "tags of the child")
    same(3, read_header(child)["events"], "allocations of the child")


def test_early_marks(env):
    """Tags and marks alone make no log; those before the first event are in it, at their times."""
    for enabled in (1, 0):
        process(env, "only_marks", MEMTOOL_CAPTURE_ENABLED=enabled)
        same([], env.logs(), "no log")
    before = time.time_ns()
    process(env, "early_marks")
    header = read_header(env.log())
    same((4, 0), (header["events"], header["dropped"]), "events")
    text = env.ask("raw", env.log())
    marks = re.findall(r"^mark (\S+) device=-1 (\d+) ", text, re.M)
    same(["begin#1", "snapshot", "end#2"], [name for name, _ in marks], "marks")
    times = [int(at) for _, at in marks]
    alloc = int(re.search(r"alloc 0x.* t=(\d+) .*tag=step", text)[1])
    assert before <= times[0] <= header["unix"] + 1000, (before, times, header)
    assert times[1] - times[0] >= 20_000_000 and alloc - times[1] >= 20_000_000, (times, alloc)
    assert alloc <= times[2] <= time.time_ns(), (times, alloc)


REFUSE = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static int is(const char* way) { return !strcmp(getenv("REFUSE"), way); }
int posix_fallocate(int fd, off_t at, off_t size) {
  static int calls;
  ++calls;
  if (is("signals") && calls % 3 != 0) return EINTR;
  if (is("large") && size > 65536) return ENOSPC;
  if (is("interrupted") && size > 65536) return EINTR;
  if (is("device") && at > 0) return EIO;
  return ftruncate(fd, at + size) ? errno : 0;
}
/* The kernel refuses to map files shared: the library calls it without the C library. */
#define ARGUMENT(n) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[n]))
#define HAS(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, yes, no)
__attribute__((constructor)) static void refuse(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 6),
      ARGUMENT(3), HAS(MAP_SHARED, 0, 4), HAS(MAP_ANONYMOUS, 3, 0),
      ARGUMENT(2), HAS(PROT_WRITE, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENODEV),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (is("shared") && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
                       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))) abort();
}
"""


def test_refused(env):
    """What passes is tried again, in smaller pieces; what does not is reported by its name."""
    refuse = compile_c(env, "refuse.so", REFUSE, "-shared", "-fPIC")

    def run(scenario, way):
        for path in [*env.logs(), *env.folder.glob("books.*")]:
            path.unlink()
        return process(env, scenario, LD_PRELOAD=f"{env.shim}:{refuse}", REFUSE=way).stderr
    for way in ("signals", "large", "interrupted"):
        same("", run("many", way), way)
        header = read_header(env.log())
        same((120000, 0, 0), (header["events"], header["dropped"], header["stop"]), way)
        same(header["committed"], env.log().stat().st_size, "cut")
    same("", run("many", "device"), "device")
    header = read_header(env.log())
    same((0, 120000, 6), (header["events"], header["dropped"], header["stop"]), "device")
    assert "refused to reserve" in diagnostics(env, env.log())["stopped_early"]["message"]
    said = run("many", "shared")
    assert said.startswith("memtool capture: its file system cannot map files shared, which the log "
                           "needs: /") and said.count("\n") == 1, said
    same([], env.logs(), "nothing is left")
    same("", run("descriptors_later", "-"), "later")
    header = read_header(env.log())
    same((9, 2, 0), (header["events"], header["dropped"], header["stop"]), "later")
    said = run("no_descriptors", "-")
    assert said.startswith("memtool capture: too many files were open to create the log /"), said
    same((1, []), (said.count("\n"), env.logs()), "said once")


OUTSIDE_MAIN = r"""
int cuInit(unsigned);
int cuCtxCreate_v2(void**, unsigned, int);
int cuMemAlloc_v2(unsigned long long*, unsigned long);
int cuMemFree_v2(unsigned long long);
static unsigned long long first, second;
static void* context;
__attribute__((constructor)) static void begin(void) {
  cuInit(0);
  cuCtxCreate_v2(&context, 0, 0);
  cuMemAlloc_v2(&first, 1 << 20);
}
void work(void) { cuMemAlloc_v2(&second, 2 << 20); }
__attribute__((destructor)) static void end(void) {
  cuMemFree_v2(first);
  cuMemFree_v2(second);
}
"""


def test_outside_main(env):
    """What a linked library allocates in its constructor and frees in its destructor is recorded."""
    driver = env.programs / "driver" / "libcuda.so.1"
    compile_c(env, "outside.so", OUTSIDE_MAIN, "-shared", "-fPIC", driver)
    program = compile_c(env, "main", "void work(void); int main(void) { work(); return 0; }",
                        env.folder / "outside.so", driver)
    for stacks in ("both", "off"):
        for path in env.logs():
            path.unlink()
        env.run(program, MEMTOOL_CAPTURE_STACKS=stacks)
        rows = events_of(env, env.log())
        same([("alloc", 1 << 20), ("alloc", 2 << 20), ("free_completed", 1 << 20),
              ("free_completed", 2 << 20)], [(row[1], row[3]) for row in rows], "events")
        header = read_header(env.log())
        same((4, 0, 1), (header["events"], header["dropped"], header["flags"]), "header")
        assert env.log().stat().st_size < header["committed"] + 65536, "one chunk more at most"
        done = json.loads(env.ask("info", "--format", "json", "--strict", env.log()))
        same([], [row for row in done["diagnostics"] if row["severity"] != "note"], "diagnostics")
