#!/usr/bin/env python3
"""No reader's work grows faster than its input: three times the records, at most a little over three times the instructions.

usage: growth_test.py --memtool PATH [READER...]

Readers are all, or a part (tests/sampling.py). Instructions are counted by valgrind; nothing is timed. A loop within a loop shows at these sizes, because every
record of an input has names, stacks and addresses of its own. A reader without an input (inputs.py) is named.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import inputs

sys.path.append(str(Path(__file__).resolve().parents[1]))
import sampling

RECORDS, TIMES = 1500, 3
MAX_RATIO = 1.15 * TIMES  # tables that double when they are full
SKIPPED = 77
# The format that answers name, where it is not called as the reader. A container has that of what is in it.
SHOWN = {"bfc-dump": "oom-text", "memtool": "torch_snapshot"}


def make(memtool, reader, n, folder):
    if reader != "memtool":
        return inputs.write(reader, n, folder)
    path = inputs.write("torch_snapshot", n, folder)
    subprocess.run([memtool, "convert", "--to", "memtool", "-o", path.with_suffix(".memtool"), path], check=True)
    return path.with_suffix(".memtool")


def counted(memtool, reader, path):
    """-> instructions of a command that reads the whole input, as the reader's"""
    command = ["oom"] if reader == "oom-text" else ["top", "--at", "end"]
    done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", memtool,
                           *command, "--format", "json", path],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    refs = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode != 0 or not refs:
        raise RuntimeError(f"exit {done.returncode} of {path.name}: {done.stderr[-300:]}")
    found = json.loads(done.stdout)["inputs"][0]["format"]
    if found != SHOWN.get(reader, reader.split(",")[0]):
        raise RuntimeError(f"{path.name} is read as {found}")
    return int(refs[1].replace(",", ""))


def look(memtool, reader, folder):
    """-> whether it is as it should be, a line"""
    try:
        few, many = (counted(memtool, reader, make(memtool, reader, n, folder)) for n in (RECORDS, RECORDS * TIMES))
    except RuntimeError as error:
        return False, f"{reader}: {error}"
    line = f"{reader}: {few / 1e6:.1f} million instructions, {many / few:.2f} times as many for {TIMES} times the records"
    return many < MAX_RATIO * few, line


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True)
    parser.add_argument("only", nargs="*")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        print("skipped: no valgrind")
        return SKIPPED
    version = subprocess.run([options.memtool, "--version"], capture_output=True, text=True, check=True).stdout
    readers = [*inputs.MAKERS, "memtool"]
    for reader in sorted(set(re.search(r"Reads:\s+(.*)", version)[1].split(", ")) - set(readers)):
        print(f"no input of {reader}")
    failed = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        chosen = options.only or sampling.share(readers, 2)
        for holds, line in pool.map(lambda reader: look(options.memtool, reader, folder), chosen):
            failed += not holds
            print(line if holds else f"FAILED {line}", flush=True)
    print(f"{failed} of {len(chosen)} readers fail{'' if options.only else sampling.told()}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
