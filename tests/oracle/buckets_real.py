#!/usr/bin/env python3
"""Built-in dictionaries on real files: on every file rows and Others sum exactly to what `memtool top` sums to.

usage: buckets_real.py --memtool PATH

Files are those below jax/, torch/ and mxnet/ of the folders in the colon separated MEMTOOL_REFERENCE_DATA;
histories stand at their peak. Without any: exit 77.
"""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

MOMENT = {"torch": ["--at", "peak"], "jax": [], "mxnet": []}


def run(memtool, *args):
    out = subprocess.run([memtool, *map(str, args)], capture_output=True, timeout=300, check=False)
    if out.returncode != 0:
        sys.exit(f"memtool {' '.join(map(str, args))}: {out.returncode}: {out.stderr.decode()}")
    return json.loads(out.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True)
    args = parser.parse_args()
    folders = [Path(each) for each in os.environ.get("MEMTOOL_REFERENCE_DATA", "").split(":") if each]
    files = [(kind, file) for folder in folders for kind in MOMENT
             for file in sorted((folder / kind).glob("*")) if file.suffix in (".prof", ".pickle", ".log")]
    if not files:
        print("skipped: MEMTOOL_REFERENCE_DATA names no folder with real files")
        sys.exit(77)
    for kind, file in files:
        buckets = run(args.memtool, "buckets", "--format", "json", *MOMENT[kind], file)
        total = run(args.memtool, "top", "--format", "json", *MOMENT[kind], file)["total"]
        rows = {row["bucket"]: row["bytes"] for row in buckets["rows"]}
        if sum(rows.values()) != total or buckets["total"] != total:
            sys.exit(f"{file}: rows sum to {sum(rows.values())}, total {buckets['total']}, top {total}")
        by_size = sorted(rows.items(), key=lambda row: -row[1])
        print(f"{file.name}: {total} =", ", ".join(f"{name} {size}" for name, size in by_size if size))
    print(f"{len(files)} files sum exactly")


if __name__ == "__main__":
    main()
