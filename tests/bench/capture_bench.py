#!/usr/bin/env python3
"""What the capture shim costs, beside the same program without it.

usage: capture_bench.py --build build/release [--rounds 7]

Runs capture/tests' bench_capture (allocations of a fake driver from 40 frames deep) alone and under
the shim, interleaved, and prints medians over the rounds: nanoseconds per call, the difference, and
the log's bytes per event.
"""
import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    build = Path(args.build).resolve()
    tests = build / "capture" / "tests"
    modes = {"alone": None, "no stacks": {"MEMTOOL_CAPTURE_STACKS": "off"},
             "native": {"MEMTOOL_CAPTURE_STACKS": "native"},
             "libgcc": {"MEMTOOL_CAPTURE_UNWIND": "libgcc"}}
    times = {mode: [] for mode in modes}
    sizes, memory = {}, {}
    for _ in range(args.rounds):
        for mode, more in modes.items():
            with tempfile.TemporaryDirectory() as folder:
                env = {**os.environ, "LD_LIBRARY_PATH": f"{tests}/driver:{tests}",
                       "MEMTOOL_CAPTURE_OUT": f"{folder}/log.mtcap", **(more or {})}
                if more is not None:
                    env["LD_PRELOAD"] = str(build / "capture" / "libmemtool_capture.so")
                out = subprocess.run([str(tests / "bench_capture")], env=env, check=True,
                                     capture_output=True, text=True).stdout.split()
                alloc, free, events, resident = map(float, out)
                times[mode].append((alloc, free))
                memory[mode] = resident / 1024
                log = Path(folder) / "log.mtcap"
                if log.exists():
                    sizes[mode] = (log.stat().st_size - 4096) / events
    base = [statistics.median(column) for column in zip(*times["alone"])]
    print(f"{'':12}{'alloc ns':>10}{'+ns':>8}{'ratio':>7}{'free ns':>10}{'+ns':>8}{'ratio':>7}"
          f"{'bytes/event':>13}{'MiB':>7}")
    for mode, rows in times.items():
        alloc, free = (statistics.median(column) for column in zip(*rows))
        print(f"{mode:12}{alloc:10.0f}{alloc - base[0]:8.0f}{alloc / base[0]:7.1f}{free:10.0f}"
              f"{free - base[1]:8.0f}{free / base[1]:7.1f}{sizes.get(mode, 0):13.1f}"
              f"{memory[mode]:7.1f}")


if __name__ == "__main__":
    main()
