"""The file: killed, cut, full."""
import json
import random
import resource
import signal
import subprocess
import time

from harness import CHUNK, CHUNK_HEADER, HEADER, compile_c, events_of, read_header, same


def start_endless(env):
    child = subprocess.Popen([str(env.programs / "driver_program"), "linked", "endless"],
                             env=env.environment(), cwd=env.folder, stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"ready\n"
    return child


def test_kill(env):
    """SIGKILL at random moments: every committed event is read back."""
    chance = random.Random(7)
    for round_ in range(100):
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
        # The counter is raised just before the record is committed: they differ by one at most.
        assert header["events"] - 1 <= events <= header["events"], (round_, header, events)
        damage = [row for row in whole["diagnostics"]
                  if row["code"] in ("lost_chunk", "lost_records", "lost_definitions", "truncated")]
        same([], damage, "no damage")


SHORT = r"""
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void table_size(void) {
  char line[256];
  FILE* status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status))
    if (line[0] == 'F') printf("%s", line);
}
static void* allocate(void* function) {
  unsigned long long pointer;
  while (1) ((int (*)(unsigned long long*, unsigned long))function)(&pointer, 4096);
}
int main(int count, char** words) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  void* context;
  pthread_t thread;
  ((int (*)(unsigned))dlsym(driver, "cuInit"))(0);
  ((int (*)(void**, unsigned, int))dlsym(driver, "cuCtxCreate_v2"))(&context, 0, 0);
  pthread_create(&thread, 0, allocate, dlsym(driver, "cuMemAlloc_v2"));
  usleep(atoi(words[1]));
  if (count > 2) {
    table_size();
    fflush(stdout);
  }
  _exit(0);
}
"""


def test_short(env):
    """A process that ends while its log is being made leaves a log that can be read, or none."""
    short = compile_c(env, "short", SHORT)
    made = 0
    for round_ in range(60):
        env.run(short, 100 * round_)
        for log in env.logs():
            made += 1
            same((HEADER, 0), (read_header(log)["header"], read_header(log)["flags"]), "header")
            same(0o644, log.stat().st_mode & 0o777, "mode")
            env.ask("info", log)
            log.unlink()
    assert made > 10, made
    # Making it does not let the table of descriptors grow, which waits for every processor.
    tables = [env.run(short, 100000, "table", shim=shim).stdout for shim in (False, True)]
    assert env.logs() and tables[0].startswith("FDSize:") and tables[0] == tables[1], tables


def test_truncated(env):
    """A file cut at any byte gives what is whole, and says so."""
    env.program("linked", "threads", 4000)
    log = env.log()
    data = log.read_bytes()
    all_events = len(events_of(env, log))
    cut = env.folder / "cut.mtcap"
    chance = random.Random(11)
    places = [*range(0, 1200, 131), 839, 840, 4095, 4096, 4097, HEADER + CHUNK_HEADER,
              HEADER + CHUNK, HEADER + CHUNK + 1, len(data) - 1,
              *(chance.randrange(HEADER, len(data)) for _ in range(40))]
    before = -1
    for size in sorted(set(places)):
        cut.write_bytes(data[:size])
        done = subprocess.run([str(env.memtool), "info", "--format", "json", str(cut)],
                              capture_output=True, text=True)
        if size < 840:
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
    (env.folder / "file").write_text("")  # no folder, whoever asks
    done = env.program("linked", "calls", MEMTOOL_CAPTURE_OUT=str(env.folder / "file" / "log.mtcap"))
    assert done.stderr.startswith("memtool capture: cannot create the log "), done.stderr
    same(1, done.stderr.count("\n"), "said once")
