#!/usr/bin/env python3
"""Writes series/: profiles of one program at successive moments, a row for every way to grow."""
from pathlib import Path

import wire

OUT = Path(__file__).resolve().parent / "series"
MIB = 1 << 20

# MiB per file, in the order of the steps. The number in the file's name leaves gaps, so that the
# order of text (1, 10, 11, 2 …) is not that of numbers.
STEPS = [1, 2, 3, 9, 10, 11, 20]
ROWS = {
    "even": [3, 5, 7, 9, 11, 13, 15],
    "slowing": [0, 8, 14, 18, 20, 21, 21.5],
    "cache": [0, 40, 40, 40, 40, 40, 40],
    "every_other": [2, 2, 3, 3, 4, 4, 5],
    "sawtooth": [10, 14, 13, 18, 17, 22, 21],
    "flicker": [0, 5, 0, 5, 0, 5, 0],
    "recent": [0, 0, 0, 0, 0, 1, 4],
    "shrinks": [30, 20, 20, 10, 10, 10, 10],
    "weights": [64] * 7,
}


def profile(sizes, time=None):
    names = ["main"] + list(sizes)
    made = {
        "types": [("objects", "count"), ("space", "bytes")],
        "samples": [([i + 2, 1], [1, int(mib * MIB)], [])
                    for i, mib in enumerate(sizes.values()) if mib],
        "locations": [(i, 0, 0, [(i, 10 * i)]) for i in range(1, len(names) + 1)],
        "functions": [(i + 1, name, name, "train.py", 0) for i, name in enumerate(names)],
    }
    if time is not None:
        made["time"] = time
    return wire.gz(wire.encode(made))


def main():
    for i, step in enumerate(STEPS):
        wire.save(OUT / f"step{step}.pb.gz", profile({name: row[i] for name, row in ROWS.items()}))
    # Their names are in the opposite order of their times.
    for hour, name in enumerate(["c", "b", "a"]):
        wire.save(OUT / f"timed_{name}.pb.gz",
                  profile({"grows": 1 + hour, "weights": 64},
                          (1_700_000_000 + 3600 * hour) * 1_000_000_000))


if __name__ == "__main__":
    main()
