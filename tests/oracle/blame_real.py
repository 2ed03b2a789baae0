#!/usr/bin/env python3
"""No interpreter and no installed package among the first rows of `memtool top` on real files, where a stack has a
frame of one's own.

usage: blame_real.py --memtool PATH [FILE...]

Beside FILE, files are those below torch/ and jax/ of the folders in the colon separated MEMTOOL_REFERENCE_DATA. Whose
a frame is, is judged here by its file alone, and the stacks are those of `memtool convert --to json`, whole and by
their raw names: a row that is not one's own may hold no more than the stacks without a frame of one's own in which it
is. Without any file: exit 77.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = 10
# Rows that are not frames.
NO_FRAME = {"(before recording)", "(no stack)"}


def run(*command):
    out = subprocess.run([str(each) for each in command], capture_output=True, timeout=300, check=False,
                         env={"PATH": os.environ["PATH"]})
    if out.returncode != 0:
        sys.exit(f"{command}: {out.returncode}: {out.stderr.decode()}")
    return out.stdout


def own(frame):
    file = frame["file"].replace("\\", "/")
    installed = re.search(r"-packages/|/lib/python\d|/Lib/|^<frozen ", file)
    return file.endswith(".py") and not installed and "torchinductor" not in file


def stacks_of(memtool, file, moment):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "all.json"
        run(memtool, "convert", "--to", "json", *moment, "-o", out, file)
        whole = json.loads(out.read_text())
    kinds = [each["unit"] for each in whole["sample_types"]]
    value = kinds.index("bytes")
    for sample in whole["samples"]:
        yield [whole["frames"][at] for at in sample["frames"]], sample["values"][value]


def faults(memtool, file, moment):
    top = json.loads(run(memtool, "top", *moment, "-n", ROWS, "--format", "json", file))
    # Bytes by frame, for stacks without a frame of the program's own.
    others = {}
    for frames, value in stacks_of(memtool, file, moment):
        if not any(own(frame) for frame in frames):
            # Generated files are named by the hash of their content, which memtool folds.
            for key in {(frame["name"], "<torchinductor>" if "torchinductor" in frame["file"] else frame["file"])
                        for frame in frames}:
                others[key] = others.get(key, 0) + value
    for row in top["rows"]:
        key = (row["name"], row["file"] or "")
        if row["name"] in NO_FRAME or own({"name": row["name"], "file": key[1]}):
            continue
        if key not in others or max(row["flat"], row["cum"]) > others[key]:
            yield f"{row['name']} {key[1]}: {row['flat']} of {others.get(key, 'no')} bytes without code of one's own"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True)
    parser.add_argument("files", nargs="*", type=Path)
    args = parser.parse_args()
    folders = [Path(each) for each in os.environ.get("MEMTOOL_REFERENCE_DATA", "").split(":") if each]
    files = args.files + [file for folder in folders for kind in ("torch/*.pickle", "jax/*.prof")
                          for file in sorted(folder.glob(kind))]
    if not files:
        print("skipped: MEMTOOL_REFERENCE_DATA names no folder with real files")
        sys.exit(77)
    failed = 0
    for file in files:
        history = file.suffix in (".pickle", ".json")
        wrong = [each for moment in (([], ["--at", "peak"]) if history else ([],))
                 for each in faults(args.memtool, file, moment)]
        failed += len(wrong)
        print(f"{'wrong' if wrong else 'ok'}: {file.name}", *wrong, sep="\n  ")
    sys.exit(1 if failed else 0)


main()
