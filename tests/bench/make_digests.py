#!/usr/bin/env python3
"""Writes digests of many ranks, as memtool index would: those of a small job over and over, with other
numbers and slightly other figures.

usage: make_digests.py RANKS OUT.jsonl
"""
import json
import random
import sys
from pathlib import Path

SEEDS = Path(__file__).resolve().parents[2] / "testdata/ranks/stages/job.jsonl"
ROWS = 60


def main():
    ranks, out = int(sys.argv[1]), sys.argv[2]
    rng = random.Random(5)
    digests = [digest for line in SEEDS.read_text().splitlines() if "problem" not in (digest := json.loads(line))]
    for digest in digests:
        for number in range(ROWS - len(digest["rows"])):
            digest["rows"].append({"name": f"function_{number}", "file": f"/app/layers/part{number % 7}.py",
                                   "peak": 1 << 20, "end": 1 << 19})
        digest["peak"] = sum(row["peak"] for row in digest["rows"])
        grid = digest["grid"]
        grid["live"] = [rng.randrange(1 << 33) for _ in range(256)]
        grid["reserved"] = [rng.randrange(1 << 33) for _ in range(256)]
    with open(out, "w") as file:
        for rank in range(ranks):
            digest = digests[rank * len(digests) // ranks]
            digest["path"] = f"memory_snapshot/iteration_10/rank{rank}_memory_snapshot.pickle"
            digest["hash"] = f"{rank + 1:032x}"
            digest["rows"][0]["peak"] += rng.randrange(1 << 10)
            file.write(json.dumps(digest, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
