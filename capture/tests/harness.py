"""What the tests of the capture shim share: running programs, reading logs, comparing books."""
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
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
                if not k.startswith(("MEMTOOL_CAPTURE", "FAKE_DRIVER", "LD_"))}
        keep.update(LD_LIBRARY_PATH=f"{self.programs}/driver:{self.programs}",
                    MEMTOOL_CAPTURE_OUT=str(self.folder / "log.%p.%r.mtcap"),
                    FAKE_DRIVER_BOOKS=str(self.folder / "books"))
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


def compile_c(env, name, text, *flags):
    source = env.folder / f"{name}.c"
    source.write_text(text)
    out = env.folder / name
    built = subprocess.run(["cc", "-w", "-o", str(out), str(source), *flags, "-ldl", "-lpthread"],
                           capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return out
