#!/usr/bin/env python3
"""What commands write is whole or not there, however they end.

usage: written_files_test.py --memtool PATH --testdata DIR --generator gen_snapshot.py [--kills N] [--seed N]

Commands that write are killed N times (60) at random moments, half of them while their temporary file
is there: an output is what it was before or complete, and after SIGINT and SIGTERM there is nothing
else. Then what replaced files keep, what is refused, full disks, limits of the system, and files that
grow.
"""
import argparse
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

SLOWNESS = float(os.environ.get("MEMTOOL_TEST_SLOWNESS", "1"))
PROMPTLY = 0.1 + 2 * SLOWNESS  # the second is for machines that do other things too
OLD = b"what was here before\n"
TEMPORARY = ".memtool-"


class Faults:
    def __init__(self):
        self.checks = self.failed = 0

    def expect(self, good, *what):
        self.checks += 1
        if not good:
            self.failed += 1
            print("FAILED", *(str(each)[:300] for each in what))


def run(command, limit=None, **options):
    """-> (exit status, stdout, stderr); `limit`: what to call in the child first."""
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.run(command, stderr=subprocess.PIPE, timeout=60 * SLOWNESS,
                          preexec_fn=limit, **options)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def writers(testdata, snapshot, with_dot):
    """Command lines without the program, and the files that they write."""
    one, two = (str(testdata / "pprof/jax_leak" / name) for name in ("memory1.prof", "memory9.prof"))
    commands = [
        (["merge", "-o", "out.pb.gz", one, two], ["out.pb.gz"]),
        (["convert", "--to", "json", "-o", "out.json", two], ["out.json"]),
        (["convert", "--to", "folded", "-o", "out.folded", two], ["out.folded"]),
        (["convert", "--to", "pprof", "--at", "peak", "-o", "out.pb", snapshot], ["out.pb"]),
        (["convert", "--to", "chrome", "-o", "out.json", snapshot], ["out.json"]),
        (["convert", "--to", "perfetto", "-o", "out.pftrace", snapshot], ["out.pftrace"]),
        (["convert", "--to", "sqlite", "-o", "out.sqlite", snapshot], ["out.sqlite"]),
        (["convert", "--to", "memtool", "-o", "out.memtool", snapshot], ["out.memtool"]),
        (["cut", "-o", "out.pickle", snapshot], ["out.pickle"]),
        (["timeline", "--plot", "plot.svg", "-o", "out.txt", snapshot], ["plot.svg", "out.txt"]),
        (["timeline", "--format", "csv", "--points", "0", "-o", "out.csv", snapshot], ["out.csv"]),
        (["buckets", "--plot", "plot.png", "--format", "json", "-o", "out.json", two], ["plot.png", "out.json"]),
        (["events", "--format", "jsonl", "-n", "0", "-o", "out.jsonl", snapshot], ["out.jsonl"]),
        (["top", "--format", "json", "-o", "out.json", one, two], ["out.json"]),
        (["dot", "-o", "out.dot", two], ["out.dot"]),
        (["pprof", "-proto", "-output", "out.pb.gz", two], ["out.pb.gz"]),
    ]
    if with_dot:
        commands.append((["svg", "-o", "out.svg", one], ["out.svg"]))
    return commands


class Work:
    """One command that writes: its outputs, and how long it takes."""

    def __init__(self, memtool, command, files, faults):
        self.command, self.files = [memtool, *command], files
        with tempfile.TemporaryDirectory() as folder:
            started = time.monotonic()
            code, _, errors = run(self.command, cwd=folder)
            self.seconds = time.monotonic() - started
            faults.expect(code == 0 and set(os.listdir(folder)) == set(files), command, code, errors,
                          os.listdir(folder))
            self.whole = {name: (Path(folder) / name).read_bytes() for name in files
                          if (Path(folder) / name).exists()}


def wait_for_temporary(folder, child):
    deadline = time.monotonic() + 30 * SLOWNESS
    while child.poll() is None and time.monotonic() < deadline:
        if any(name.startswith(TEMPORARY) for name in os.listdir(folder)):
            return


def kill_once(work, dice, faults):
    """-> the signal that ended it (0: it was faster), and the seconds from signal to end."""
    number = dice.choice((signal.SIGINT, signal.SIGTERM, signal.SIGKILL))
    replaced = dice.random() < 0.5
    with tempfile.TemporaryDirectory() as folder:
        if replaced:
            for name in work.files:
                (Path(folder) / name).write_bytes(OLD)
        child = subprocess.Popen(work.command, cwd=folder, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if dice.random() < 0.5:
            wait_for_temporary(folder, child)
        else:
            time.sleep(dice.uniform(0, work.seconds * 1.1))
        sent = time.monotonic()
        child.send_signal(number)
        code = child.wait()
        took = time.monotonic() - sent
        what = (work.command[1:3], signal.Signals(number).name, f"exit {code}", os.listdir(folder))
        faults.expect(code in (0, -number), "ends by the signal or well", *what)
        faults.expect(took < PROMPTLY, f"ended after {took:.2f} s", *what)
        for name in work.files:
            path = Path(folder) / name
            now = path.read_bytes() if path.exists() else None
            allowed = (work.whole[name], OLD if replaced else None)
            faults.expect(now in (allowed if code else allowed[:1]), "a part of a file", name, *what)
        left = {name for name in os.listdir(folder) if name not in work.files}
        if number == signal.SIGKILL:
            left = {name for name in left if not name.startswith(TEMPORARY)}
        faults.expect(not left, "left behind", left, *what)
        return -code, took


def kill_many(works, kills, dice, faults):
    ended, slowest = {}, 0.0
    for i in range(kills):
        code, took = kill_once(works[i % len(works)], dice, faults)
        ended[code] = ended.get(code, 0) + 1
        slowest = max(slowest, took)
    names = ", ".join(f"{count} by {signal.Signals(code).name if code else 'themselves'}"
                      for code, count in sorted(ended.items()))
    print(f"{kills} kills: {names}; at most {slowest * 1000:.0f} ms from signal to end")


def check_replacing(memtool, testdata, faults):
    profile = str(testdata / "pprof/jax_leak/memory1.prof")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def merge(output, code=0, says=""):
            status, _, errors = run([memtool, "merge", "-o", output, profile], cwd=folder)
            faults.expect(status == code and says in errors and bool(errors) == bool(says), output,
                          status, errors)

        merge("fresh.pb")
        whole = (folder / "fresh.pb").read_bytes()
        mask = os.umask(0)
        os.umask(mask)
        faults.expect(stat.S_IMODE((folder / "fresh.pb").stat().st_mode) == 0o666 & ~mask, "mode of a new file")
        for mode in (0o600, 0o640, 0o606, 0o755):
            (folder / "kept").write_bytes(OLD)
            (folder / "kept").chmod(mode)
            if os.geteuid() == 0:
                os.chown(folder / "kept", 1234, 5678)
            merge("kept")
            now = (folder / "kept").stat()
            faults.expect(stat.S_IMODE(now.st_mode) == mode, "mode", oct(mode), oct(now.st_mode))
            faults.expect(os.geteuid() != 0 or (now.st_uid, now.st_gid) == (1234, 5678), "owner", now)
            faults.expect((folder / "kept").read_bytes() == whole, "replaced")
        (folder / "real").mkdir()
        (folder / "real/target").write_bytes(OLD)
        (folder / "link").symlink_to("real/target")
        (folder / "to_link").symlink_to("link")
        (folder / "dangling").symlink_to("real/new")
        for link, target in (("link", "target"), ("to_link", "target"), ("dangling", "new")):
            merge(link)
            faults.expect((folder / link).is_symlink(), link, "is still a link")
            written = folder / "real" / target
            faults.expect(written.exists() and written.read_bytes() == whole, target, "is written")
            written.write_bytes(OLD)
        (folder / "circle").symlink_to("circle")
        merge("circle", 6, "cannot be written: Too many levels of symbolic links")
        (folder / "fixed").write_bytes(OLD)
        (folder / "fixed").chmod(0o444)
        merge("fixed", 6, "is read-only")
        faults.expect((folder / "fixed").read_bytes() == OLD, "a read-only file stays")
        for length in (248, 255):
            merge("n" * length)
            faults.expect((folder / ("n" * length)).read_bytes() == whole, "a name of", length)
        merge("n" * 256, 6, "cannot be written: File name too long")
        merge("real", 6, "cannot be written: Is a directory")
        merge("missing/x", 6, "cannot be written: No such file or directory")
        with open(folder / "redirected", "wb") as out:
            code, _, errors = run([memtool, "merge", "-o", "/dev/stdout", profile], stdout=out)
        faults.expect(code == 0 and (folder / "redirected").read_bytes() == whole, "/dev/stdout", code, errors)
        faults.expect(not [each for each in os.listdir(folder) if each.startswith(TEMPORARY)], "nothing left",
                      os.listdir(folder))


def check_one_name_twice(memtool, testdata, faults):
    snapshot = str(testdata / "torch/small/proto4.pickle")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "link.svg").symlink_to("x.svg")
        (folder / "here").symlink_to(".")
        for other in ("x.svg", "./x.svg", f"{folder}/x.svg", "link.svg", "here/x.svg"):
            code, _, errors = run([memtool, "timeline", "-o", "x.svg", "--plot", other, snapshot], cwd=folder)
            faults.expect(code == 2 and "name the same file" in errors, other, code, errors)
            faults.expect(sorted(os.listdir(folder)) == ["here", "link.svg"], other, os.listdir(folder))


def at_most(size):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def check_full_disks(works, faults):
    """A limit on the size of files is a disk that is full after so many bytes."""
    for work in works:
        smallest = min(map(len, work.whole.values()))
        for size in sorted({0, 1, smallest // 2, smallest - 1}):
            with tempfile.TemporaryDirectory() as folder:
                for name in work.files:
                    (Path(folder) / name).write_bytes(OLD)
                code, _, errors = run(work.command, at_most(size), cwd=folder)
                what = (work.command[1:3], size, code, errors)
                lines = [line for line in errors.splitlines() if "Generating report" not in line]
                faults.expect(code == 6 and len(lines) == 1, *what)
                faults.expect("File too large" in errors, *what)
                faults.expect(set(os.listdir(folder)) == set(work.files), "left behind", *what)
                for name in work.files:
                    now = (Path(folder) / name).read_bytes()
                    faults.expect(now in (OLD, work.whole[name]), "a part of", name, *what)
    with tempfile.TemporaryDirectory() as folder, open(Path(folder) / "out", "wb") as out:
        code, _, errors = run([*works[0].command[:2], *works[0].command[4:]], at_most(10), stdout=out)
    faults.expect(code == 6 and "standard output: cannot be written: File too large" in errors, code, errors)


def check_temporary(memtool, testdata, faults):
    """A picture for the browser is whole, or not there either."""
    profile = str(testdata / "pprof/jax_leak/memory1.prof")
    for limit, wanted in ((None, 0), (at_most(100), 6)):
        with tempfile.TemporaryDirectory() as folder:
            code, _, errors = run([memtool, "web", profile], limit,
                                  env={**os.environ, "TMPDIR": folder, "BROWSER": "true"})
            faults.expect(code == wanted and len(os.listdir(folder)) == (wanted == 0), "web", code, errors,
                          os.listdir(folder))


def check_full_stdout(memtool, testdata, with_dot, faults):
    profile = str(testdata / "pprof/jax_leak/memory1.prof")
    snapshot = str(testdata / "torch/small/proto4.pickle")
    commands = [["--help"], ["--version"], ["help"], ["top", "--help"], ["buckets", "--print-keywords", "builtin:jax"]]
    commands += [[name, profile] for name in ("top", "tags", "tree", "traces", "info", "dot", "raw", "merge")]
    commands += [[name, snapshot] for name in ("timeline", "segments", "events", "oom", "account", "leaks", "buckets")]
    commands += [["diff", profile, profile], ["peek", ".", profile], ["pprof", "-top", profile],
                 ["convert", "--to", "json", profile], ["cut", "-o", "-", snapshot],
                 ["top", "-o", "/dev/full", profile], ["merge", "-o", "/dev/full", profile]]
    commands += [["svg", profile]] if with_dot else []
    for command in commands:
        with open("/dev/full", "wb") as full:
            code, _, errors = run([memtool, *command], stdout=full)
        faults.expect(code == 6 and errors.count("\n") == 1 and "No space left on device" in errors,
                      "/dev/full", command, code, errors)


def check_without_threads(memtool, testdata, faults):
    """A stack for threads that no machine has: none can be made."""
    if resource.getrlimit(resource.RLIMIT_STACK)[1] != resource.RLIM_INFINITY:
        print("threads were not looked at: the stack is limited")
        return
    huge = lambda: resource.setrlimit(resource.RLIMIT_STACK, (1 << 46, resource.RLIM_INFINITY))
    files = [str(testdata / "pprof/jax_leak" / name) for name in ("memory1.prof", "memory9.prof")]
    command = [memtool, "top", "-j", "64", *files]
    with_threads, without = run(command), run(command, huge)
    faults.expect(with_threads == without and without[0] == 0, "without threads", without)


def check_growing(memtool, faults):
    """A file that grows faster than it is read is read up to the size that it had."""
    block = b"a line of a log that somebody else is writing\n" * 4096
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "growing.log"
        path.write_bytes(b"RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB.\n" + block * 20)
        stop = threading.Event()

        def grow():
            with open(path, "ab", buffering=0) as file:
                for _ in range(4000):  # 750 MB at most
                    if stop.is_set():
                        break
                    file.write(block)

        thread = threading.Thread(target=grow)
        thread.start()
        try:
            code, out, errors = run([memtool, "oom", str(path)])
        finally:
            stop.set()
            thread.join()
        faults.expect(code == 0 and b"2.00 GiB" in out and "the log grew while it was read" in errors,
                      "growing", code, errors)


def check_pipes(memtool, testdata, faults):
    """A pipe by name is read once, however often it is needed."""
    data = (testdata / "torch/small/proto4.pickle").read_bytes()
    profile = (testdata / "pprof/jax_leak/memory1.prof").read_bytes()

    def piped(command, *contents):
        ends = []
        for content in contents:
            read_end, write_end = os.pipe()
            os.write(write_end, content)
            os.close(write_end)
            ends.append(read_end)
        names = [f"/dev/fd/{end}" for end in ends]
        done = run([memtool, *(names[int(word[1:])] if word[0] == "%" else word for word in command)],
                   pass_fds=ends)
        for end in ends:
            os.close(end)
        return done

    for command, contents in ((["diff", "--base-at", "start", "--at", "peak", "%0"], [data]),
                              (["diff", "--base-at", "start", "--at", "peak", "%0", "%0"], [data]),
                              (["account", "%0"], [data]), (["oom", "%0"], [data]),
                              (["pprof", "-top", "%0", "%1"], [profile, profile])):
        code, out, errors = piped(command, *contents)
        faults.expect(code == 0 and out, command, code, errors)
    for command in (["top", "%0", "%0"], ["pprof", "-top", "%0", "%0"], ["merge", "-o", "-", "%0", "%0"],
                    ["top", "--diff-base", "%0", "%0"]):
        code, _, errors = piped(command, profile)
        faults.expect(code == 2 and "named twice" in errors, command, code, errors)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--testdata", required=True, type=Path)
    parser.add_argument("--generator", required=True)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    args.testdata = args.testdata.resolve()
    args.memtool = str(Path(args.memtool).resolve())
    with_dot = shutil.which("dot") is not None
    faults = Faults()
    with tempfile.TemporaryDirectory() as folder:
        snapshot = f"{folder}/snapshot.pickle"
        subprocess.run([sys.executable, args.generator, "20000", snapshot, "--seed", "1"], check=True,
                       capture_output=True)
        works = [Work(args.memtool, command, files, faults)
                 for command, files in writers(args.testdata, snapshot, with_dot)]
        kill_many(works, args.kills, random.Random(args.seed), faults)
        check_full_disks(works, faults)
    check_replacing(args.memtool, args.testdata, faults)
    check_one_name_twice(args.memtool, args.testdata, faults)
    if with_dot:
        check_temporary(args.memtool, args.testdata, faults)
    check_full_stdout(args.memtool, args.testdata, with_dot, faults)
    check_without_threads(args.memtool, args.testdata, faults)
    check_growing(args.memtool, faults)
    check_pipes(args.memtool, args.testdata, faults)
    print(f"{faults.checks} checks, {faults.failed} failed")
    return 1 if faults.failed else 0


if __name__ == "__main__":
    sys.exit(main())
