#!/usr/bin/env python3
"""Writes not_memory/: profiles of one program whose samples are no bytes."""
from pathlib import Path

import wire

OUT = Path(__file__).resolve().parent / "not_memory"
NAMES = ["main.main", "main.crunch", "main.wait"]


def profile(types, rows):
    """`rows`: a function besides main.main → its values."""
    return wire.gz(wire.encode({
        "types": types,
        "samples": [([NAMES.index(name) + 1, 1], values, []) for name, values in rows.items()],
        "locations": [(i, 0, 0, [(i, 10 * i)]) for i in range(1, len(NAMES) + 1)],
        "functions": [(i + 1, name, name, "main.go", 0) for i, name in enumerate(NAMES)],
    }))


def main():
    wire.save(OUT / "cpu.pb.gz", profile(
        [("samples", "count"), ("cpu", "nanoseconds")],
        {"main.crunch": [150, 1_500_000_000], "main.wait": [50, 500_000_000]}))
    wire.save(OUT / "later_cpu.pb.gz", profile(
        [("samples", "count"), ("cpu", "nanoseconds")],
        {"main.crunch": [300, 3_000_000_000], "main.wait": [20, 200_000_000]}))
    wire.save(OUT / "mutex.pb.gz", profile(
        [("contentions", "count"), ("delay", "nanoseconds")],
        {"main.wait": [3, 90_000_000_000], "main.crunch": [1, 250_000]}))
    wire.save(OUT / "goroutine.pb.gz", profile(
        [("goroutine", "count")], {"main.wait": [1200], "main.crunch": [8]}))
    wire.save(OUT / "wall.pb.gz", profile(
        [("wall", "milliseconds")], {"main.crunch": [2500]}))
    wire.save(OUT / "cycles.pb.gz", profile(
        [("cycles", "cycles")], {"main.crunch": [4_000_000_000]}))


if __name__ == "__main__":
    main()
