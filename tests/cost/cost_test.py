#!/usr/bin/env python3
"""No input costs more than it weighs: what is made to be expensive costs at most a few times what its plain twin costs.

usage: cost_test.py --memtool PATH [SHAPE...]
       cost_test.py --memtool PATH --minutes N [--seed N] [--keep FOLDER] [SHAPE...]

Without --minutes, shapes (shapes.py; a part of them, tests/sampling.py) go through the commands that show them, and
instructions are counted by valgrind; nothing is timed. With it, shapes at random sizes go through random command lines, the program's processor time, memory and
output are compared, and each kind of finding is kept with its inputs. Runs have limits (measure.py).
"""
import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path

import measure
from command_lines import command_lines
from shapes import SHAPES, write

sys.path.append(str(Path(__file__).resolve().parents[1]))
import sampling

MIB = measure.MIB
SKIPPED = 77
INPUT_ERRORS = (3, 4)
INTERNAL_FAULT = 5

# As many times as the twin, per record.
MAX_TIMES = 3  # instructions
MAX_TIMES_SECONDS = 5  # of processor time, which a busy machine stretches
LEAST_SECONDS = 0.5  # below, nothing is a finding
MAX_TIMES_MEMORY = 4
# Of one byte of input, before it was packed; small inputs have the first.
FREE_MEMORY, MEMORY_PER_BYTE, MEMORY_PER_REFUSED_BYTE = 64 * MIB, 32, 1
FREE_OUTPUT, OUTPUT_PER_BYTE, MAX_TIMES_OUTPUT = MIB, 16, 4
# Data says every row's texts whole, however many rows share one: its bound is --max output-bytes, and its time that of writing.
DATA, DATA_PER_SECOND = {"json", "json-columns", "jsonl", "csv"}, 128 * MIB

TWIN_SECONDS = 60  # of processor time, under valgrind
# Of the search: powers of two times the size of the short test; the part of inputs that become containers.
SIZES, LINES_PER_INPUT, CONTAINERS = (-1, 3), 6, 0.25


def filled(line, path):
    return [str(path) if word == "IN" else word for word in line]


def judged(cost, twin, size, twin_size, many=1, data=False):
    """-> what is wrong with the costs of an input, beside time: words"""
    scale = max(1, size / twin_size)
    faults = []
    if cost.code < 0 or cost.code == INTERNAL_FAULT:
        faults.append(f"ends with {signal.Signals(-cost.code).name if cost.code < 0 else cost.code} after {cost.seconds:.1f} s")
    # Where its twin is refused as well, the question is: both are read before it is asked.
    refused = cost.code in INPUT_ERRORS and not cost.output and twin.code not in INPUT_ERRORS
    bound = FREE_MEMORY + many * size * (MEMORY_PER_REFUSED_BYTE if refused else MEMORY_PER_BYTE)
    if cost.memory > bound and (refused or cost.memory > MAX_TIMES_MEMORY * scale * twin.memory):
        faults.append(f"{cost.memory / MIB:.0f} MiB of memory{' before it is refused' if refused else ''}, "
                      f"of its twin {twin.memory / MIB:.0f}")
    if not data and cost.output > FREE_OUTPUT + many * size * OUTPUT_PER_BYTE and cost.output > MAX_TIMES_OUTPUT * scale * twin.output:
        faults.append(f"{cost.output / MIB:.1f} MiB of output, of its twin {twin.output / MIB:.1f}")
    return faults


def look(memtool, name, startup):
    """-> the shape's faults, a line"""
    one = SHAPES[name]
    words = one.command.split()
    words = [*words, *(["-o", "OUT"] if words[0] == "convert" else []), "IN"]
    with tempfile.TemporaryDirectory() as folder:
        (plain, plain_size), (hostile, size) = (write(one, one.n, kind, folder) for kind in (False, True))
        twin = measure.run(memtool, filled(words, plain))
        if twin.code:
            return [f"exit {twin.code} of the plain twin: {twin.said}"], name
        cost = measure.run(memtool, filled(words, hostile))
        faults = judged(cost, twin, size, plain_size)
        if any("ends with" in fault for fault in faults):
            return faults, name
        if not one.counted:
            return faults, f"{name}: {cost.memory / MIB:.0f} MiB, its twin {twin.memory / MIB:.0f}"
        scale = max(1, size / plain_size)
        wanted, seconds = measure.instructions(memtool, filled(words, plain), TWIN_SECONDS)
        if wanted is None:
            return [f"its plain twin takes more than {TWIN_SECONDS} seconds"], name
        # Far more than MAX_TIMES, so that no busy machine ends a run that is as it should be.
        taken, _ = measure.instructions(memtool, filled(words, hostile), int(5 + 4 * MAX_TIMES * scale * seconds))
        if taken is None:
            return [*faults, "ended: many times its twin's instructions"], name
        times = (taken - startup) / scale / max(wanted - startup, startup)
        if times > MAX_TIMES:
            faults.append(f"{times:.1f} times its twin's instructions")
        return faults, f"{name}: {times:.2f} times its twin's instructions, which are {wanted / 1e6:.0f} million"


def count(memtool, names):
    """Each shape's own command, in instructions. -> number of shapes with faults"""
    startup, _ = measure.instructions(memtool, ["--version"], TWIN_SECONDS)
    failed = 0
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        waiting = [(name, pool.submit(look, memtool, name, startup)) for name in names]
        for name, done in waiting:
            faults, line = done.result()
            failed += bool(faults)
            print(f"FAILED {name} ({SHAPES[name].command}): {'; '.join(faults)}" if faults else line, flush=True)
    return failed


class Search:
    """Random sizes, forms and command lines, until the time is over."""

    def __init__(self, memtool, names, seed, keep):
        self.memtool, self.names, self.keep = memtool, names, keep
        self.random = random.Random(seed)
        self.lines = command_lines(memtool)
        self.found, self.runs = {}, 0

    def until(self, end):
        while time.monotonic() < end:
            for name in self.random.sample(self.names, len(self.names)):
                if time.monotonic() >= end:
                    return
                self.try_shape(SHAPES[name], end)

    def try_shape(self, one, end):
        own = one.command.split()
        lines = [[*own, *(["-o", "OUT"] if own[0] == "convert" else []), "IN"], *self.random.sample(self.lines, LINES_PER_INPUT)]
        n = int(one.n * 2 ** self.random.uniform(*SIZES))
        with tempfile.TemporaryDirectory() as folder:
            (plain, plain_size), (hostile, size) = (write(one, n, kind, folder) for kind in (False, True))
            if self.random.random() < CONTAINERS:
                plain, hostile = (self.contained(path) for path in (plain, hostile))
            for line in lines:
                if time.monotonic() >= end:
                    return
                self.compare(one, n, line, plain, plain_size, hostile, size)

    def contained(self, path):
        """The input as memtool keeps it, where it can."""
        kept = path.with_name(path.name + ".memtool")
        cost = measure.run(self.memtool, ["convert", "--to", "memtool", "-o", kept, path])
        return kept if cost.code == 0 and kept.exists() else path

    def compare(self, one, n, line, plain, plain_size, hostile, size):
        self.runs += 1
        many = line.count("IN")
        twin = measure.run(self.memtool, filled(line, plain))
        cost = measure.run(self.memtool, filled(line, hostile),
                           measure.Limits(seconds=int(5 + 2 * MAX_TIMES_SECONDS * max(1, size / plain_size) * twin.seconds)))
        if twin.code < 0:
            faults = [f"its plain twin ends with {twin.code}"]
        else:
            data = not DATA.isdisjoint(line)
            faults = judged(cost, twin, size, plain_size, many, data)
            scale = max(1, size / plain_size)
            seconds = cost.seconds - (cost.output / DATA_PER_SECOND if data else 0)
            if seconds > LEAST_SECONDS and seconds > MAX_TIMES_SECONDS * scale * max(twin.seconds, LEAST_SECONDS / 10):
                faults.append(f"{cost.seconds:.2f} s, its twin {twin.seconds:.2f} s")
        # Said once for each command: its other forms have the same cause.
        if faults and (one.name, line[0]) not in self.found:
            self.found[one.name, line[0]] = faults
            print(f"FOUND {one.name} of {n} ({size} bytes, its twin {plain_size}), {' '.join(line)}, {hostile.suffix}: "
                  f"{'; '.join(faults)}", flush=True)
            if self.keep:
                self.store(one, n, line, plain, twin, hostile, cost, faults)

    def store(self, one, n, line, plain, twin, hostile, cost, faults):
        folder = Path(self.keep) / f"{one.name}-{line[0]}"
        folder.mkdir(parents=True, exist_ok=True)
        for path in (plain, hostile):
            shutil.copy(path, folder)
        (folder / "finding.json").write_text(json.dumps({
            "shape": one.name, "n": n, "command": line, "faults": faults, "hostile": {"input": hostile.name, **asdict(cost)},
            "plain": {"input": plain.name, **asdict(twin)}}, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    parser.add_argument("--keep")
    parser.add_argument("only", nargs="*")
    options = parser.parse_args()
    names = options.only or list(SHAPES)
    if options.minutes:
        print(f"--seed {options.seed}")
        search = Search(options.memtool, names, options.seed, options.keep)
        search.until(time.monotonic() + 60 * options.minutes)
        print(f"{search.runs} pairs of runs, {len(search.found)} findings")
        return 1 if search.found else 0
    if not shutil.which("valgrind"):
        print("skipped: no valgrind")
        return SKIPPED
    names = options.only or sampling.share(names, 3)
    failed = count(options.memtool, names)
    print(f"{failed} of {len(names)} shapes fail{'' if options.only else sampling.told()}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
