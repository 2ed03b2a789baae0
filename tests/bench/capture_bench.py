#!/usr/bin/env python3
"""What the capture shim costs, compared with the same program without it.

usage: capture_bench.py --build build/release [--rounds 7] [--stacks 10000]

Runs capture/tests' bench_capture (allocations of a fake driver from 40 frames deep) alone and under
the shim, interleaved, and prints medians over the rounds: nanoseconds per call, the difference, and
the log's bytes per event, with the limits that the shim is built to. First from one stack; then
from so many distinct ones in turn ("first": the mean cost of an allocation whose stack is new). No
limit is asserted: figures belong to the machine that they were taken on.
"""
import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

# Added ns for an allocation with native stacks and without any, and for a free; bytes per event;
# MiB.
LIMITS = {"native": 1500, "no stacks": 300, "free": 150, "bytes": 10, "memory": 64}
MODES = {"alone": None, "no stacks": {"MEMTOOL_CAPTURE_STACKS": "off"},
         "native": {"MEMTOOL_CAPTURE_STACKS": "native"}}


def once(build, more, words):
    """-> alloc ns, free ns, events, KiB, first ns, bytes per event"""
    tests = build / "capture" / "tests"
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "LD_LIBRARY_PATH": f"{tests}/driver:{tests}",
               "MEMTOOL_CAPTURE_OUT": f"{folder}/log.mtcap", **(more or {})}
        if more is not None:
            env["LD_PRELOAD"] = str(build / "capture" / "libmemtool_capture.so")
        out = subprocess.run([str(tests / "bench_capture"), *words], env=env, check=True,
                             capture_output=True, text=True).stdout.split()
        numbers = list(map(float, out))
        log = Path(folder) / "log.mtcap"
        size = log.stat().st_size - 4096 if log.exists() else 0
        return [*numbers, size / numbers[2]]


def verdict(value, limit):
    return "" if limit is None else f" {'within' if value <= limit else 'OVER'} {limit}"


def measure(build, rounds, title, words, modes):
    rows = {mode: [] for mode in modes}
    for _ in range(rounds):
        for mode in modes:
            rows[mode].append(once(build, MODES[mode], words))
    middle = {mode: [statistics.median(column) for column in zip(*found)]
              for mode, found in rows.items()}
    alone = middle["alone"]
    print(f"{title}\n{'':12}{'alloc ns':>9}{'added':>8}{'':13}{'free ns':>9}{'added':>8}{'':13}"
          f"{'bytes/event':>12}{'':11}{'added MiB':>10}{'':10}{'first ns':>9}")
    for mode, (alloc, free, _, memory, first, size) in middle.items():
        memory = (memory - alone[3]) / 1024
        known = mode != "alone"
        print(f"{mode:12}{alloc:9.0f}{alloc - alone[0]:8.0f}"
              f"{verdict(alloc - alone[0], LIMITS.get(mode)):13}{free:9.0f}{free - alone[1]:8.0f}"
              f"{verdict(free - alone[1], LIMITS['free'] if known else None):13}{size:12.1f}"
              f"{verdict(size, LIMITS['bytes'] if known else None):11}{memory:10.1f}"
              f"{verdict(memory, LIMITS['memory'] if known else None):10}{first:9.0f}".rstrip())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--stacks", type=int, default=10000)
    args = parser.parse_args()
    build = Path(args.build).resolve()
    measure(build, args.rounds, "one stack", [], list(MODES))
    measure(build, args.rounds, f"{args.stacks} stacks", [str(args.stacks)],
            ["alone", "no stacks", "native"])


if __name__ == "__main__":
    main()
