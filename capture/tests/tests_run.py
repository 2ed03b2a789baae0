"""`memtool run` and the public header."""
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import threading

from pathlib import Path

from harness import SKIPPED, compare_books, compile_c, events_of, read_header, same, sums_of


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
    total = json.loads(env.ask("top", "--at", "end", "--format", "json", env.log()))["total"]
    same((1 << 20) + 4096, total, "the arena is not counted beside its segment")
    total = json.loads(env.ask("top", "--at", "end", "--device", "arena@0", "--format", "json", env.log()))["total"]
    same(500, total, "the arena alone")
    total = json.loads(env.ask("top", "--at", "mark:begin#1", "--device", "0", "--format", "json",
                               env.log()))["total"]
    same(0, total, "at the mark")
    env.clear()
    env.program("linked", "api", shim=False)
    same([], env.logs(), "the header's functions are weak")


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


def test_rank(env):
    """The log says which rank the process was, as one launcher numbers it, and `ranks` reads it."""
    deep = {"OMPI_COMM_WORLD_RANK": "1023", "OMPI_COMM_WORLD_SIZE": "1024",
            "OMPI_COMM_WORLD_LOCAL_RANK": "7"}
    for variables, want in [
            ({"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "GROUP_RANK": "2", "SLURM_PROCID": "2",
              "SLURM_NTASKS": "4"}, ("RANK=5 world=8 local=1 node=2", 5, 1, 2)),
            ({"SLURM_PROCID": "3", "SLURM_NTASKS": "9", "SLURM_LOCALID": "0", "SLURM_NODEID": "3"},
             ("SLURM_PROCID=3 world=9 local=0 node=3", 3, 0, 3)),
            (deep, ("OMPI_COMM_WORLD_RANK=1023 world=1024 local=7", 1023, 7, None)),
            ({"PMI_RANK": "0", "PMI_SIZE": "2"}, ("PMI_RANK=0 world=2", 0, None, None)),
            ({**deep, "OMPI_COMM_WORLD_RANK": "1" * 19, "OMPI_COMM_WORLD_SIZE": "2" * 19},
             ("OMPI_COMM_WORLD_RANK=" + "1" * 19 + " local=7", None, None, None)),
            ({"RANK": "9" * 20, "SLURM_PROCID": "1"}, ("SLURM_PROCID=1", 1, None, None))]:
        env.clear()
        env.program("linked", "calls", MEMTOOL_CAPTURE_OUT=str(env.folder / "x.mtcap"), **variables)
        same(want[0], env.card(env.log())["format_display"].split(", ", 1)[1], variables)
        if want[1] is not None:
            row = json.loads(env.ask("ranks", "--format", "json", env.log()))["rows"][0]
            same((*want[1:], "content"), (row["rank"], row["local_rank"], row["node"], row["how"]), "ranks")


def test_run_summary(env):
    """The summary names the logs of this run, all of them and no others."""
    program = env.programs / "driver_program"
    plain = {k: v for k, v in env.environment(shim=False).items() if k != "MEMTOOL_CAPTURE_OUT"}

    def summed(*words, **more):
        done = subprocess.run([str(env.memtool), "run", *map(str, words)], env={**plain, **more},
                              cwd=env.folder, capture_output=True, text=True, timeout=60)
        same(0, done.returncode, done.stderr)
        return done.stderr
    # Another run in the same folder, at the same time.
    text = summed("--", "sh", "-c", f"{env.memtool} run -q -- {program} linked oom;"
                  f"{program} linked oom", FAKE_DRIVER_CAPACITY="90000000")
    same(2, len(env.logs()), "logs")
    same(1, len(re.findall(r"^memtool: /.*\.mtcap: .*OUT OF MEMORY", text, re.M)), text)
    same(1, text.count("\n"), text)
    env.clear()
    # Folders and names that depend on the process.
    for folder in (os.uname().nodename, "100%", "rank.7"):
        (env.folder / folder).mkdir()
    for pattern, name in {"%h/x.%p.mtcap": rf"{re.escape(os.uname().nodename)}/x\.\d+\.mtcap",
                          "100%%/%r.x": r"100%/7\.x", "rank.%r/log": r"rank\.7/log",
                          "plain": "plain", "plain.%r%%.mtcap": r"plain\.7%\.mtcap"}.items():
        text = summed("-o", pattern, "--", program, "linked", "deep", RANK="7")
        assert re.fullmatch(rf"memtool: {re.escape(str(env.folder))}/{name}: 1 events, .*\n", text), text
    text = summed("-o", "missing/x.mtcap", "--", program, "linked", "deep")
    assert "cannot create the log" in text and "seen" not in text, text
    assert text.endswith(f"memtool: no log can be written in {env.folder}/missing: "
                         "No such file or directory\n"), text
    text = summed("-o", "nobody.%h/x.mtcap", "--", program, "linked", "deep")
    assert text.endswith(f"there is no folder {env.folder}/nobody.%h\n"), text


def test_run_escapes(env):
    """What names a program, a folder or a setting is shown with its escapes, by memtool and shim."""
    odd = "\x1b[31mred\u202e\x85"
    (env.folder / odd).touch()
    for words, status, said in (
            (["./" + odd], 126, r"memtool: ./\x1b[31mred\u202e\x85: Permission denied"),
            ([odd + "?"], 127, r"memtool: \x1b[31mred\u202e\x85?: No such file or directory"),
            (["-o", odd + "?/x", "--", env.programs / "driver_program", "linked", "deep"], 0,
             rf"memtool capture: cannot create the log {env.folder}/\x1b[31mred\xe2\x80\xae\xc2\x85?/x"
             "\n"
             rf"memtool: no log can be written in {env.folder}/\x1b[31mred\u202e\x85?: "
             "No such file or directory")):
        done = subprocess.run([str(env.memtool), "run", *map(str, words)], cwd=env.folder,
                              env=env.environment(shim=False), capture_output=True, text=True)
        same((status, said + "\n"), (done.returncode, done.stderr), words)


def test_run_names(env):
    """A name that does not depend on the process, for more processes than a hundred."""
    taken = [env.folder / "fixed.mtcap", *(env.folder / f"fixed.{n}.mtcap" for n in range(2, 131))]
    for path in taken[:-1]:
        path.touch()
    for name in ("fixed.mtcap", "other", "other"):
        env.program("linked", "deep", MEMTOOL_CAPTURE_OUT=env.folder / name)
    same(1, env.card(taken[-1])["devices"][0]["events"], "log")
    same({"other", "other.2"}, {path.name for path in env.folder.glob("other*")}, "no ending")
    same({0}, {path.stat().st_size for path in taken[:-1]}, "others' files")


# Prints which signals arrive, until the one that ends it. "I": ignored at its start.
SIGNALLED = r'''
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char** words) {
  sigset_t all;
  struct sigaction now;
  const int asked[] = {SIGHUP, SIGCHLD};
  for (int i = 0; i < 2; ++i)
    if (sigaction(asked[i], 0, &now) == 0 && now.sa_handler == SIG_IGN) printf("I%d\n", asked[i]);
  if (count > 1) return atoi(words[1]);
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, 0);
  printf("ready\n");
  for (int got = 0; got != SIGTERM;) {
    fflush(stdout);
    sigwait(&all, &got);
    if (got != SIGCONT) printf("%d\n", got);
  }
  return 5;
}
'''


def test_run_signals(env):
    """What is sent to memtool reaches the program; what was inherited does not lose its status."""
    program = str(compile_c(env, "signalled", SIGNALLED))
    words = [str(env.memtool), "run", "-q", program]
    plain = env.environment(shim=False)
    sent = [signal.SIGINT, signal.SIGQUIT, signal.SIGALRM, signal.SIGHUP, signal.SIGUSR1,
            signal.SIGSEGV, signal.SIGPIPE, signal.SIGABRT, signal.SIGWINCH, signal.SIGRTMIN + 3]
    child = subprocess.Popen(words, env=plain, stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.PIPE)
    # A signal that does not arrive must not be waited for.
    limit = threading.Timer(30, child.kill)
    limit.start()
    try:
        same("ready\n", child.stdout.readline(), "started")
        for number in sent:
            child.send_signal(number)
            same(f"{int(number)}\n", child.stdout.readline(), "passed on")
        child.send_signal(signal.SIGTERM)
        out, err = child.communicate(timeout=60)
        same(("15\n", "", 5), (out, err, child.returncode), "end")
    finally:
        limit.cancel()
        child.kill()
    # Ignored by whatever starts memtool, as some supervisors do.
    for ignored in (signal.SIGCHLD, signal.SIGHUP):
        done = subprocess.run([*words, "3"], env=plain, capture_output=True, text=True, timeout=60,
                              preexec_fn=lambda number=ignored: signal.signal(number,
                                                                              signal.SIG_IGN))
        same((3, f"I{int(ignored)}\n", ""), (done.returncode, done.stdout, done.stderr), ignored)


def test_run_terminal(env):
    """The terminal's interrupt comes once, not twice."""
    program = str(compile_c(env, "signalled", SIGNALLED))
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(str(env.memtool), [str(env.memtool), "run", "-q", program],
                  env.environment(shim=False))
    limit = threading.Timer(30, os.kill, (pid, signal.SIGKILL))
    limit.start()

    def line():
        text = b""
        while not text.endswith(b"\n"):
            text += os.read(terminal, 1)
        return text.replace(b"\r\n", b"\n").decode().removeprefix("^C")
    same("ready\n", line(), "started")
    os.write(terminal, b"\x03")
    same(f"{int(signal.SIGINT)}\n", line(), "interrupt")
    os.kill(pid, signal.SIGTERM)
    same(f"{int(signal.SIGTERM)}\n", line(), "no second interrupt")
    same(5, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), "status")
    limit.cancel()
    os.close(terminal)


def launch_cupti(env, *words, **more):
    # By name the dynamic linker may find NVIDIA's.
    plain = {k: v for k, v in env.environment(
        shim=False, MEMTOOL_CAPTURE_CUPTI=env.programs / "driver" / "libcupti.so.12").items()
        if k != "MEMTOOL_CAPTURE_OUT"}
    return subprocess.run([str(env.memtool), "run", *words], env={**plain, **more}, cwd=env.folder,
                          capture_output=True, text=True, timeout=60)


def test_cupti(env):
    """The driver loads the library, a mock of CUPTI reports the calls."""
    program = str(env.programs / "driver_program")
    for how in ("linked", "runtime", "ptsz"):
        for scenario in ("calls", "vmm", "contexts", "oom", "graphs", "unknown_frees",
                         "default_pools"):
            env.clear()
            done = launch_cupti(env, "-q", "--backend", "cupti", "--", program, how, scenario,
                                FAKE_DRIVER_CAPACITY="90000000")
            same((0, ""), (done.returncode, done.stderr), f"{how} {scenario}")
            compare_books(env, f"cupti {how} {scenario}")
    env.clear()
    launch_cupti(env, "-q", "--backend", "cupti", "--", program, "linked", "deep")
    text = env.ask("traces", "--frames", "all", env.log())
    same(31, len(re.findall(r"^ +(?:\(anonymous namespace\)::)?Recurse", text, re.M)), "stacks")
    # A CUPTI that serves several tools works, and the presence of the first one is not an error.
    env.clear()
    done = launch_cupti(env, "--backend", "cupti", "--", program, "linked", "vmm",
                        MOCK_CUPTI_MANY="1", MOCK_CUPTI_SUBSCRIBE="39")
    same(0, done.returncode, done.stderr)
    assert "Nsight" not in done.stderr, done.stderr
    compare_books(env, "beside another tool")
    # Both ways at once: nothing is recorded twice.
    env.clear()
    env.run(program, "runtime", "calls", CUDA_INJECTION64_PATH=env.shim,
            MEMTOOL_CAPTURE_CUPTI=env.programs / "driver" / "libcupti.so.12")
    compare_books(env, "both backends")
    # One that is older than the newest functions reports the others.
    env.clear()
    done = launch_cupti(env, "-q", "--backend", "cupti", "--", program, "linked", "calls",
                        MOCK_CUPTI_NEWEST="700")
    same((0, ""), (done.returncode, done.stderr), "older")
    compare_books(env, "older CUPTI")
    explained = {
        ("MOCK_CUPTI_SUBSCRIBE", "39"): "Nsight Systems is one already",
        ("MOCK_CUPTI_SUBSCRIBE", "35"): "NVreg_RestrictProfilingToAdminUsers=0",
        ("MOCK_CUPTI_ENABLE", "35"): "NVreg_RestrictProfilingToAdminUsers=0",
        ("MOCK_CUPTI_ENABLE", "1"): "CUPTI refused with error 1",
        ("MOCK_CUPTI_ENABLE", "40"): "by its hypervisor",
        ("MOCK_CUPTI_SUBSCRIBE", "7"): "CUPTI refused with error 7",
        ("MEMTOOL_CAPTURE_CUPTI", "/nonexistent/libcupti.so"): "library was not found",
    }
    for (variable, value), words in explained.items():
        env.clear()
        done = launch_cupti(env, "--backend", "cupti", "--", program, "linked", "calls",
                            **{variable: value})
        same(0, done.returncode, "the program runs all the same")
        assert "0 events; nothing was recorded: CUPTI" in done.stderr, done.stderr
        assert words in done.stderr and "--backend preload" in done.stderr, done.stderr
        notes = json.loads(env.ask("info", "--format", "json", env.log()))["diagnostics"]
        assert any(row["code"] == "no_backend" and words in row["message"] for row in notes), notes
        same(0, read_header(env.log())["events"], "nothing")
    done = launch_cupti(env, "--backend", "ebpf", "--", program, "linked", "calls")
    same(125, done.returncode, done.stderr)


def test_cupti_header(env):
    """The numbers of the callbacks, against NVIDIA's header where it is installed."""
    nvcc = shutil.which("nvcc")
    roots = [Path(nvcc).resolve().parents[1]] if nvcc else []
    found = [path for root in roots for path in root.glob("**/cupti_driver_cbid.h")]
    if not found:
        print("no CUPTI header")
        return SKIPPED
    theirs = dict(re.findall(r"CUPTI_DRIVER_TRACE_CBID_(\w+) += (\d+)", found[0].read_text()))
    rows = (env.sources.parent / "src" / "cupti" / "functions.inc").read_text()
    ours = dict(re.findall(r"MEMTOOL_CUPTI\((\w+), (\d+)", rows))
    assert len(ours) == 45, len(ours)
    same({name: theirs.get(name) for name in ours}, ours, "numbers")
    return 0


def test_signal(env):
    """A mark where the signal came; without the setting it kills a program that has no handler."""
    env.program("linked", "signalled", MEMTOOL_CAPTURE_SIGNAL="SIGUSR2")
    text = env.ask("raw", env.log())
    marks = [int(time) for time in re.findall(r"^mark snapshot device=-1 (\d+) ", text, re.M)]
    allocs = [int(time) for time in re.findall(r": alloc 0x.* t=(\d+) ", text)]
    same((2, 3), (len(marks), len(allocs)), "marks and allocations")
    assert marks[0] <= allocs[0] < allocs[1] < marks[1] <= allocs[2], (marks, allocs)
    env.clear()
    env.program("linked", "signalled", status=-signal.SIGUSR2)
    done = env.program("linked", "calls", MEMTOOL_CAPTURE_SIGNAL="KILL")
    same("memtool capture: MEMTOOL_CAPTURE_SIGNAL is neither USR1 nor USR2: KILL\n", done.stderr, "")
