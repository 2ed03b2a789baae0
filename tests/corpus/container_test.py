#!/usr/bin/env python3
"""A file in memtool's own container gives the answers of the original.

usage: container_test.py --memtool PATH --testdata DIR [--only TEXT] [--most BYTES] [--jobs N]

Every file of DIR, and of the folders in MEMTOOL_REFERENCE_DATA, that can be converted (convert --to
memtool) is; then every command line of LINES must print the same for both, byte for byte, but for the
name of the file and its packing, and end with the same status. Written again from the container, the
file must be the same. Files over a megabyte are left out unless --most says otherwise.

Each file meets a third of the lines (tests/sampling.py); where programs are slow (MEMTOOL_TEST_SLOWNESS: sanitizers)
a quarter, and each line a quarter of the files.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))
import sampling

SLOWNESS = float(os.environ.get("MEMTOOL_TEST_SLOWNESS", "1"))
# Goldens, and what costs more than it weighs, as in tests/python.
LEFT_OUT = {"expected", "hostile"}
# What cannot be an input: what makes or describes the others.
NO_INPUTS = {".py", ".md", ".yaml", ".tsv", ".cc", ".memtool"}

LINES = [
    "info --format json",
    "top --format json -n 1000",
    "top --format json --at peak --by line --frames all",
    "top --format json --by tag --device 0",
    "tree --format json",
    "timeline --format json",
    "segments --format json",
    "events --format json",
    "events --summary --format json",
    "oom --format json",
    "leaks --format json",
    "buckets --format json",
    "account --format json",
    "tags --format json",
    "traces --format json",
    "whatif --format json",
    "raw",
    "convert --to pprof --at peak",
    "convert --to chrome",
    "cut",
]


def lines_for(number):
    return sampling.share(LINES, 3, number) if SLOWNESS <= 1 else LINES[number % 4::4]


def run(memtool, words, cwd):
    done = subprocess.run([memtool, *words], capture_output=True, cwd=cwd, stdin=subprocess.DEVNULL,
                          timeout=300 * SLOWNESS, check=False)
    return done.returncode, done.stdout, done.stderr


def without_names(text, name):
    """Without the file's name, and how it was packed."""
    text = text.replace(name.encode(), b"INPUT")
    text = re.sub(rb'"packing":"memtool\+?', b'"packing":"', text)
    return re.sub(rb", packed with memtool(\+[a-z+]+)?",
                  lambda found: b", packed with " + found[1][1:] if found[1] else b"", text)


def check(memtool, number, original, only):
    """-> (how many answers were compared, faults), or None for what is no input."""
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        # Names of the same length: tables of widths depend on it.
        (Path(folder) / "original").symlink_to(original)
        code, _, _ = run(memtool, ["convert", "--to", "memtool", "-o", "inmemtul", "original"], folder)
        if code != 0:
            return None
        code, _, errors = run(memtool, ["convert", "--to", "memtool", "-o", "as_again", "inmemtul"], folder)
        again, once = (Path(folder) / name for name in ("as_again", "inmemtul"))
        if code != 0 or again.read_bytes() != once.read_bytes():
            faults.append(f"{original}: written again it differs: {errors[:200]}")
        compared = 0
        for line in lines_for(number):
            if only and only not in line:
                continue
            command, *options = line.split()
            texts = []
            for name in ("original", "inmemtul"):
                code, *printed = run(memtool, [command, *options, name], folder)
                texts.append([code, *(without_names(text, name) for text in printed)])
            compared += 1
            if texts[0] != texts[1]:
                where = next(i for i in range(3) if texts[0][i] != texts[1][i])
                faults.append(f"{original}: {line}: {difference(texts[0][where], texts[1][where])}")
    return compared, faults


def difference(one, other):
    if isinstance(one, int):
        return f"exit {one}, then {other}"
    at = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    return f"{one[max(at - 60, 0):at + 60]!r}, then {other[max(at - 60, 0):at + 60]!r}"


def inputs(folders, most):
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            if (path.is_file() and path.suffix not in NO_INPUTS and not LEFT_OUT.intersection(path.parts)
                    and path.stat().st_size <= most):
                yield path.resolve()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--testdata", required=True)
    parser.add_argument("--only", help="command lines with this text")
    parser.add_argument("--most", type=int, default=1000000, help="the largest file, in bytes")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    memtool = str(Path(args.memtool).resolve())
    folders = [args.testdata, *filter(None, os.environ.get("MEMTOOL_REFERENCE_DATA", "").split(":"))]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        results = list(pool.map(lambda one: check(memtool, *one, args.only),
                                enumerate(inputs(folders, args.most))))
    converted = [result for result in results if result is not None]
    faults = [fault for _, found in converted for fault in found]
    for fault in faults:
        print(fault)
    print(f"{len(converted)} of {len(results)} files are recordings; {sum(n for n, _ in converted)} answers "
          f"compared, {len(faults)} differ{sampling.told()}")
    return 1 if faults or len(converted) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
