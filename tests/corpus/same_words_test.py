#!/usr/bin/env python3
"""One word, one meaning: segments, account and oom agree on what is reserved, cached and
fragmented, on every snapshot with an end state, per device, at its end and at an out-of-memory
event.

usage: same_words_test.py --memtool PATH FOLDER...

Also of the snapshots below torch/ of the folders in the colon separated MEMTOOL_REFERENCE_DATA.
"""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path


def run(memtool, *args):
    out = subprocess.run([memtool, *map(str, args)], capture_output=True, timeout=300, check=False)
    return json.loads(out.stdout) if out.returncode in (0, 4) else None


def figures(memtool, file, device, moment):
    """Per command (reserved, cached, fragmented), or None where the moment does not exist."""
    options = ["--format", "json", "--device", device, "--at", moment, "-n", "0", file]
    segments = run(memtool, "segments", *options)
    account = run(memtool, "account", *options)
    oom = run(memtool, "oom", *options)
    if segments is None or account is None or oom is None:
        return None
    steps = {row["step"]: row["bytes"] for row in account["rows"]}
    return {"segments": (segments["reserved"], segments["free"], segments["fragmented_bytes"]),
            "account": (steps["reserved"], steps["cached"], steps["fragmented"]),
            "oom": (oom["reserved"], oom["cached"], oom["fragmented_bytes"])}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True)
    parser.add_argument("folders", nargs="+", type=Path)
    args = parser.parse_args()
    real = [Path(each) / "torch" for each in os.environ.get("MEMTOOL_REFERENCE_DATA", "").split(":") if each]
    files = [file for folder in args.folders + real for file in sorted(folder.rglob("*"))
             if file.suffix in (".pickle", ".json") and "expected" not in file.parts]
    compared = 0
    wrong = []
    for file in files:
        segments = run(args.memtool, "segments", "--format", "json", "-n", "0", file)
        if segments is None:
            continue  # damaged on purpose, or without segments
        for device in sorted({row["device"] for row in segments["rows"] if row["device"] >= 0}):
            for moment in ("end", "oom"):
                told = figures(args.memtool, file, device, moment)
                if told is None:
                    continue
                compared += 1
                if len(set(told.values())) != 1:
                    wrong.append(f"{file} device {device} at {moment}: {told}")
    if wrong or compared == 0:
        sys.exit("\n".join(wrong) or "nothing to compare")
    print(f"{compared} states of {len(files)} files tell the same")


if __name__ == "__main__":
    main()
