#!/usr/bin/env python3
"""What the system refuses, through every command: memory, reads, writes, threads, the clock.

usage: faults.py --memtool PATH --shim libfaults.so --testdata DIR [--full | --every N]
                 [--only COMMAND] [--kind KIND]

Each command runs once as it is, which counts its calls, and then with one call failing, or all from
one on: calls 1, 2, 3, 5, 8, ... of them, with --every N each N-th, with --full all. However it fails:
- the exit status is one that memtool(1) has for it, and never 5 or a signal;
- unless it is 0, standard error is one line; if it is 0, the answer is the one without the fault;
- with status 3, nothing was printed;
- a file that is written is what it was before or complete, and there is no other.
"""
import argparse
import collections
import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SLOWNESS = float(os.environ.get("MEMTOOL_TEST_SLOWNESS", "1"))
OLD = b"what was here before\n"
FOREVER = 1 << 40
HOUR, TEN_YEARS = 3600, 315360000

# Kind, code, whether all later calls fail too, and the statuses that may follow beside 0.
FAULTS = [
    ("malloc", errno.ENOMEM, False, {3, 6}),
    ("malloc", errno.ENOMEM, True, {3, 6}),
    ("read", errno.EINTR, False, set()),
    ("read", -1, True, set()),
    ("read", errno.EIO, False, {3, 6}),  # 6: a picture that Graphviz has drawn
    ("read", errno.EIO, True, {3, 6}),
    ("open", errno.EINTR, False, {3, 6}),
    ("open", errno.EIO, False, {3, 6}),
    ("open", errno.EMFILE, True, {3, 6}),
    ("mmap", errno.EIO, False, {3, 6}),
    ("stat", errno.EIO, False, {3, 6}),
    ("stat", errno.EIO, True, {3, 6}),
    ("stat", errno.EINTR, False, {3, 6}),
    ("seek", errno.EIO, False, {3, 6}),
    ("write", errno.EINTR, False, set()),
    ("write", -1, True, set()),
    ("write", errno.ENOSPC, False, {6}),
    ("write", errno.ENOSPC, True, {6}),
    ("close", errno.EIO, False, {6}),
    ("rename", errno.ENOSPC, False, {6}),
    ("rights", errno.EPERM, False, {6}),
    ("clock", -HOUR, True, set()),
    ("clock", TEN_YEARS, True, {6}),  # waiting for Graphviz has an end
    ("thread", errno.EAGAIN, False, set()),
    ("thread", errno.EAGAIN, True, set()),
    ("pipe", errno.EMFILE, False, {6}),
    ("spawn", errno.EAGAIN, False, {6}),
    ("poll", errno.EINTR, False, set()),
    ("wait", errno.EINTR, False, set()),
]

# {P}, {Q}: profiles; {T}: a snapshot with a history; {L}: a log; OUT and PLOT: files to write.
COMMANDS = [
    "top {P}",
    "top --at peak --format json {T}",
    "top -j 4 {P} {Q} {P2}",
    "top {ZST}",
    "top --files-from {LIST}",
    "top --keep-going {P} {CUT}",
    "diff --base-at start --at end {T}",
    "diff -o OUT {P} {Q}",
    "buckets --keywords {YAML} --expected-sum @{SMI} {MXLOG}",
    "buckets --plot PLOT.svg -o OUT {P}",
    "account --expected-sum @{SMI} {T}",
    "peek a {P}",
    "timeline --plot PLOT.png -o OUT {T}",
    "timeline --plot PLOT.pdf {T}",
    "segments {T}",
    "events {HTML}",
    "events --summary --format json {T}",
    "oom {L}",
    "whatif {W}",
    "advise --card 1536MiB {A}",
    "top --change drop:feed_forward {A}",
    "oom {W}",
    "segments --conf expandable_segments:True {W}",
    "fit --x 1,2 {FIT1} {FIT2}",
    "oom --format json {T} {L}",
    "leaks {P} {Q} {P2}",
    "leaks --steps 3 {T}",
    "info {CAPTURE}",
    "info --format json {KINETO}",
    "info {TIMELINE}",
    "info {CSV}",
    "svg -o OUT {P}",
    "web {P}",
    "convert --to json -o OUT {P}",
    "convert --to folded -o OUT {T}",
    "convert --to pprof -o OUT {T}",
    "convert --to memtool -o OUT {T}",
    "top --at peak {MEMTOOL}",
    "merge -o OUT {P} {Q}",
    "cut -o OUT {T}",
    "cut --redact --from event:1 -o OUT {T}",
    "pprof -top {P}",
    "pprof -proto -output=OUT {P}",
    "run -o OUT -- true",
    "help formats",
    "--version",
]
# Every other command runs as "NAME {P}", but for those that need the page inside the program, and for
# those that read through digests: an input that cannot be read is a line of theirs, and status 4.
NOT_BY_NAME = {"report", "open", "page", "ranks", "index"}

SAID_BESIDES = ("memtool: left out: ", "memtool: Generating report in ", "re2/walker-inl.h:")
# Of the C library, where an exception passes its call_once and there is no memory at all any more.
NO_UNWINDING = "libgcc_s.so.1 must be installed for unwinding to work"

INPUTS = {
    "P": "pprof/jax_leak/memory1.prof", "P2": "pprof/jax_leak/memory5.prof",
    "Q": "pprof/jax_leak/memory9.prof", "ZST": "pprof/forms/packed.pb.zst",
    "CUT": "pprof/malformed/truncated_in_sample.pb", "T": "torch/small/native.pickle",
    "MEMTOOL": "memtool_file/snapshot.memtool", "HTML": "torch/small/page.html", "CAPTURE": "capture_log/join/log.mtcap",
    "KINETO": "kineto/bare.json", "TIMELINE": "torch_timeline/raw.json",
    "CSV": "mxnet/forms/official.csv", "MXLOG": "mxnet/sockeye/memory.log",
    "YAML": "mxnet/sockeye/layers.yaml", "SMI": "ground_truth/query_gpu.csv",
    "L": "oom_text/torch_2.8.log", "W": "whatif/small/oom_fragmented.json",
    "A": "advise/infer.json.gz",
    "FIT1": "fit/train_256.json.gz", "FIT2": "fit/train_512.json.gz",
}


def spared(program, path):
    """Writes to path the functions of RE2 that do not survive an exception from operator new."""
    symbols = subprocess.run(["nm", "-S", "-C", "--defined-only", program], capture_output=True, text=True)
    path.write_text("".join(
        " ".join(line.split()[:2]) + "\n" for line in symbols.stdout.splitlines()
        if " re2::Regexp::Parse(" in line))


def commands_of(memtool):
    """All command lines, with one for each command of the program that COMMANDS does not name."""
    text = subprocess.run([memtool, "help", "commands"], check=True, capture_output=True, text=True).stdout
    names = [line.split()[0] for line in text.splitlines()]
    named = {line.split()[0] for line in COMMANDS} | NOT_BY_NAME
    return COMMANDS + [f"{name} {{P}}" for name in names if name not in named]


def steps(calls, every):
    """Which calls fail: each so many-th, or 1, 2, 3, 5, 8, ..."""
    if every:
        return range(1, calls + 1, every)
    chosen, one, two = [], 1, 2
    while one <= calls:
        chosen.append(one)
        one, two = two, one + two
    return chosen


class Answer:
    def __init__(self, status, out, errors, files, seconds):
        self.status, self.out, self.errors = status, out, errors
        self.files, self.seconds = files, seconds


class Command:
    """One command line in a folder of its own."""

    def __init__(self, text, args, folder, inputs):
        self.text, self.folder = text, folder
        self.words = [args.memtool, *(word.format(**inputs) for word in text.split())]
        self.name = text.split()[0]
        self.outputs = [word.split("=")[-1] for word in self.words[1:]
                        if word.startswith(("OUT", "PLOT", "-output="))]
        self.counts_file = folder.parent / "counts"
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": "/nonexistent", "XDG_CONFIG_HOME": "/nonexistent",
            "TMPDIR": str(folder), "BROWSER": "true", "LD_PRELOAD": args.shim,
            "MEMTOOL_FAULT_SPARED": str(folder.parent / "spared"),
            "MEMTOOL_FAULT_COUNTS": str(self.counts_file)}

    def clear(self, old):
        for entry in self.folder.iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        for name in self.outputs if old else []:
            (self.folder / name).write_bytes(OLD)

    def run(self, fault=None, old=False):
        self.clear(old)
        environment = self.environment if fault is None else {
            **self.environment, "MEMTOOL_FAULT": " ".join(map(str, fault))}
        begin = time.monotonic()
        done = subprocess.run(self.words, cwd=self.folder, env=environment, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=20 * SLOWNESS)
        seconds = time.monotonic() - begin
        files = {entry.name: entry.read_bytes() if entry.is_file() else None
                 for entry in self.folder.iterdir()}
        return Answer(done.returncode, done.stdout, done.stderr.decode(errors="replace"), files, seconds)

    def counts(self):
        return {kind: int(number) for kind, number in
                map(str.split, self.counts_file.read_text().splitlines())}


def fault_of(command, whole, answer, allowed, old):
    """What is wrong with the answer; None when nothing is."""
    started = command.name == "run"  # documented statuses of its own: 125 to 127
    if started:
        allowed = allowed | {125, 126}
    if answer.status == -signal.SIGABRT and NO_UNWINDING in answer.errors:
        return fault_of_files(command, whole, answer, old, False)
    if answer.status not in allowed | {whole.status}:
        return f"status {answer.status}"
    same_status = answer.status == whole.status
    lines = answer.errors.count("\n")
    # One line for each input that is left out; pprof's own announcement; what RE2 says when it is
    # left by an exception; and what fontconfig says of files of the system that it cannot read.
    lines -= sum(answer.errors.count(words) for words in SAID_BESIDES)
    fonts = "Fontconfig " in answer.errors
    lines = min(lines, 1) if fonts else lines
    if not same_status and (lines != 1 or "memtool: " not in answer.errors
                            or not answer.errors.endswith("\n")):
        return f"{lines} lines on standard error"
    if same_status and lines > whole.errors.count("\n") + 1:
        return "more lines on standard error"
    # Names of temporary files differ from run to run.
    if same_status and command.name not in ("web", "run") and answer.out != whole.out:
        return "status 0 and another answer"
    if answer.status == 3 and answer.out:
        return "status 3, and something was printed"
    return fault_of_files(command, whole, answer, old, fonts)


def fault_of_files(command, whole, answer, old, fonts):
    if command.name in ("web", "run"):
        # What a browser shows stays, also when its name cannot be printed; so do logs.
        shown = answer.status == 0 or "standard output" in answer.errors
        hidden = [name for name in answer.files
                  if name.startswith(".memtool-") or (command.name == "web" and not shown)]
        return f"left behind: {hidden}" if hidden else None
    for name, held in answer.files.items():
        if name not in command.outputs:
            return f"left behind: {name}"
        if held != whole.files[name] and not (old and held == OLD) and not (fonts and "PLOT" in name):
            return f"half written: {name}, {len(held)} bytes"
    if answer.status == whole.status and (OLD in answer.files.values() or
                                          answer.files.keys() != whole.files.keys()):
        return "status 0, and a file was not written"
    if old and any(name not in answer.files for name in command.outputs):
        return "what was there before is gone"
    return None


class Test:
    def __init__(self, every, kind):
        self.every, self.kind = every, kind
        self.runs, self.failed, self.worst = collections.Counter(), 0, (0, "")

    def check(self, command, whole, fault, allowed):
        old = fault[2] % 2 == 1
        try:
            answer = command.run(fault, old)
        except subprocess.TimeoutExpired:
            answer, wrong = None, "did not end"
        else:
            wrong = fault_of(command, whole, answer, allowed, old)
            self.worst = max(self.worst, (answer.seconds, command.text))
        self.runs[fault[0]] += 1
        if wrong:
            self.failed += 1
            errors = answer.errors[:300] if answer else ""
            print(f"FAILED {command.text} with '{' '.join(map(str, fault))}': {wrong}: {errors!r}")

    def of_fonts(self, kind):
        """Most such calls of a plot are fontconfig's, slow, and not ours to mend: it uses what malloc
        did not give it, and ends the program or loops."""
        return kind == "malloc" or (kind in ("read", "open", "mmap", "stat", "seek") and not self.every)

    def all_of(self, command):
        whole = command.run(old=True)  # replacing a file takes the most calls
        counts = command.counts()
        for kind, code, forever, allowed in FAULTS:
            if self.kind not in ("", kind) or ("PLOT" in command.text and self.of_fonts(kind)):
                continue
            chosen = steps(counts[kind], self.every)
            if code < 0 and forever:  # short reads and writes, a clock that went back: from the start
                chosen = chosen[:1]
            for call in chosen:
                self.check(command, whole, (kind, code, call, FOREVER if forever else call), allowed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--shim")
    parser.add_argument("--testdata", required=True, type=Path)
    parser.add_argument("--full", dest="every", action="store_const", const=1)
    parser.add_argument("--every", type=int, default=0)
    parser.add_argument("--only", default="", help="command lines that begin with this")
    parser.add_argument("--kind", default="", help="only faults of this kind")
    args = parser.parse_args()
    if args.shim is None or b"__asan_init" in Path(args.memtool).read_bytes():
        print("skipped: a sanitizer has its own malloc, which no preloaded library stands before")
        return 77
    inputs = {name: str((args.testdata / path).resolve()) for name, path in INPUTS.items()}
    has_dot = shutil.which("dot") is not None
    test = Test(args.every, args.kind)
    with tempfile.TemporaryDirectory() as base:
        inputs["LIST"] = os.path.join(base, "list")
        Path(inputs["LIST"]).write_text(f"{inputs['P']}\n{inputs['Q']}\n")
        folder = Path(base) / "work"
        folder.mkdir()
        spared(args.memtool, Path(base) / "spared")
        for text in commands_of(args.memtool):
            if text.startswith(args.only) and (has_dot or not text.startswith(("svg", "web"))):
                test.all_of(Command(text, args, folder, inputs))
    runs = ", ".join(f"{kind} {number}" for kind, number in test.runs.items())
    print(f"{test.runs.total()} runs ({runs}), {test.failed} failed; "
          f"the longest {test.worst[0]:.2f} s ({test.worst[1]})")
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
