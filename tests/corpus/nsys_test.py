#!/usr/bin/env python3
"""Exports of Nsight Systems: figures as a script of its own computes them, and what damage does.

usage: nsys_test.py --memtool PATH --testdata testdata/nsys [--flips N] [--seed N]
"""
import random
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import oracle
from histories import info, run

HOST = (0, 1)  # kinds on no device


def figures(path):
    """{(process, device, kind): (peak, end)} from plain SQL."""
    db = sqlite3.connect(path)
    names = [row[1] for row in db.execute("PRAGMA table_info(CUDA_GPU_MEMORY_USAGE_EVENTS)")]
    rows = [dict(zip(names, row)) for row in db.execute("SELECT * FROM CUDA_GPU_MEMORY_USAGE_EVENTS ORDER BY start, rowid")]
    live, changes = {}, {}
    for row in rows:
        process = (row["globalPid"] // 0x1000000) % 0x1000000
        place = (process, -1 if row["memKind"] in HOST else row["deviceId"], row["memKind"])
        if row["address"] is None:
            continue
        if row["memoryOperationType"] == 0:
            live[process, row["address"]] = (place, row["bytes"])
            changes.setdefault(place, []).append(row["bytes"])
        elif (process, row["address"]) in live:
            place, size = live.pop((process, row["address"]))
            changes.setdefault(place, []).append(-size)
        elif row["bytes"] is not None:  # there before
            changes.setdefault(place, []).insert(0, row["bytes"])
            changes[place].append(-row["bytes"])
    result = {}
    for place, deltas in changes.items():
        total = peak = 0
        for delta in deltas:
            total += delta
            peak = max(peak, total)
        result[place] = (peak, total)
    return result


def check_figures(memtool, path):
    said = info(memtool, path)
    wanted = sorted(figures(path).values())
    found = sorted((device["peak_bytes"], device["end_bytes"]) for device in said["devices"])
    return [] if wanted == found else [f"{path}: {found}, SQL says {wanted}"]


def check_write_ahead(memtool, path):
    """A database in write-ahead mode is read like any other."""
    data = bytearray(path.read_bytes())
    data[18] = data[19] = 2
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "wal.sqlite"
        copy.write_bytes(data)
        return check_figures(memtool, copy) if info(memtool, copy) else ["write-ahead: not read"]


def check_damage(memtool, path, flips, dice):
    """Cut short it is refused; with other bytes it is read or refused, and never more than that."""
    data, faults = path.read_bytes(), []
    with tempfile.TemporaryDirectory() as folder:
        damaged = Path(folder) / "damaged.sqlite"

        def look(content, allowed, what):
            damaged.write_bytes(content)
            done = subprocess.run([memtool, "info", "--format", "json", damaged], stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=60)
            if done.returncode not in allowed or (done.returncode and (done.stdout or done.stderr.count(b"\n") != 1)):
                faults.append(f"{what}: exit {done.returncode}: {done.stderr[:200]}")

        for size in range(16, len(data), 509):
            look(data[:size], (3,), f"cut at {size}")
        for _ in range(flips):
            content = bytearray(data)
            for _ in range(dice.choice((1, 2, 8))):
                content[dice.randrange(16, len(data))] = dice.randrange(256)
            look(bytes(content), (0, 3), "changed")
        for page in range(0, len(data), 512):
            content = data[:page] + bytes(512) + data[page + 512:]
            look(content, (0, 3), f"a page of zeros at {page}")
    return faults


def main():
    args = oracle.options(__doc__, flips=300, seed=1)
    faults = []
    for name in ("small", "old"):
        faults += check_figures(args.memtool, args.testdata / f"{name}.sqlite")
    faults += check_write_ahead(args.memtool, args.testdata / "small.sqlite")
    faults += check_damage(args.memtool, args.testdata / "small.sqlite", args.flips, random.Random(args.seed))
    for name, code in (("no_memory", 3), ("other", 3), ("view", 3), ("generated", 3)):
        status, out, errors = run(args.memtool, "top", args.testdata / f"{name}.sqlite")
        if status != code or out or errors.count("\n") > 2:
            faults.append(f"{name}: exit {status}: {errors}")
    return oracle.verdict(faults)


if __name__ == "__main__":
    sys.exit(main())
