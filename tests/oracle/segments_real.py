#!/usr/bin/env python3
"""`memtool segments` at the end of real snapshots, against the segments and blocks in the pickle itself.

usage: segments_real.py --memtool PATH

Files are those below torch/ of the folders in the colon separated MEMTOOL_REFERENCE_DATA, read here by Python's own
unpickler with every class refused. Without any: exit 77.
"""
import argparse
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path


class Data(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name}")


def load(file):
    with file.open("rb") as stream:
        found = Data(stream).load()
    return found if isinstance(found, list) else found["segments"]


def wanted(segment):
    """-> the figures of one segment, added up from its blocks."""
    blocks = segment["blocks"]
    def total(key, *states):
        return sum(block.get(key, block["size"]) for block in blocks if block["state"] in states)
    inactive = [block["size"] for block in blocks if block["state"] == "inactive"]
    return {"size": segment["total_size"], "blocks": len(blocks), "live_blocks": len(blocks) - len(inactive),
            "allocated": total("size", "active_allocated"),
            "active": total("size", "active_allocated", "active_pending_free", "active_awaiting_free"),
            "requested": total("requested_size", "active_allocated", "active_pending_free", "active_awaiting_free"),
            "largest_free": max(inactive, default=0), "free": sum(inactive)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True)
    args = parser.parse_args()
    folders = [Path(each) for each in os.environ.get("MEMTOOL_REFERENCE_DATA", "").split(":") if each]
    files = [file for folder in folders for file in sorted((folder / "torch").glob("*.pickle"))]
    if not files:
        print("skipped: MEMTOOL_REFERENCE_DATA names no folder with real files")
        sys.exit(77)
    failed = 0
    for file in files:
        out = subprocess.run([args.memtool, "segments", "--at", "end", "--format", "json", file], capture_output=True, timeout=300,
                             check=False)
        if out.returncode != 0:
            sys.exit(f"{file}: {out.returncode}: {out.stderr.decode()}")
        shown = json.loads(out.stdout)
        rows = {(row["device"], int(row["address"], 16)): row for row in shown["rows"]}
        own = {(each["device"], each["address"]): each for each in load(file)}
        segments = {key: wanted(each) for key, each in own.items()}
        holes = 0
        if rows.keys() != segments.keys():
            failed += 1
            print(f"{file.name}: {len(rows)} segments, {len(segments)} in the file")
        for key, want in segments.items():
            got = {name: rows.get(key, {}).get(name) for name in want}
            if want["active"] + want["free"] != want["size"]:
                holes += 1  # the file contradicts itself here: its own sums of the segment are shown
                want = {name: own[key][f"{name}_size"] for name in ("allocated", "active", "requested")}
                got = {name: got[name] for name in want}
            if got != want:
                failed += 1
                print(f"{file.name}: segment {key}: shown {got}, in the file {want}")
        sums = {name: sum(each[f"{long}_size"] for each in own.values())
                for name, long in (("size", "total"), ("allocated", "allocated"))}
        if (shown["reserved"], shown["allocated"]) != (sums["size"], sums["allocated"]):
            failed += 1
            print(f"{file.name}: sums {shown['reserved']} {shown['allocated']}, in the file {sums}")
        print(f"{file.name}: {len(segments)} segments" + (f", {holes} do not add up in the file" if holes else ""))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
