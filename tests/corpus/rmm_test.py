#!/usr/bin/env python3
"""RMM's logs and RAFT's samples: live bytes over time, sizes, threads and failures as Python's csv module finds them.

usage: rmm_test.py --memtool PATH --testdata testdata
"""
import csv
import itertools
import json
import sys
import tempfile
from pathlib import Path

import oracle
from histories import info, run, series

ACTIONS = ("allocate", "free")


def rows_of(path):
    """(thread, action, pointer, size) of each whole row."""
    for fields in csv.reader(path.open(newline="")):
        try:
            thread, _, action, pointer, size, _ = fields
            size = int(size)
            if 0 <= size < 1 << 63 and int(thread) >= 0:
                yield thread, action, 0 if pointer == "(nil)" else int(pointer, 16), size
        except ValueError:
            continue


def lives(path):
    """Live bytes before the first row and after each change; and what is live at the end, by thread."""
    live, deltas, before = {}, [], 0
    for thread, action, pointer, size in rows_of(path):
        if action not in ACTIONS or pointer == 0:
            continue
        known = live.pop(pointer, None)
        if known:
            deltas.append(-known[1])
        elif action == "free":
            before += size
            deltas.append(-size)
        if action == "allocate":
            live[pointer] = (thread, size)
            deltas.append(size)
    threads = {}
    for thread, size in live.values():
        threads[thread] = threads.get(thread, 0) + size
    return list(itertools.accumulate(deltas, initial=before)), threads


def check_log(memtool, path):
    wanted, threads = lives(path)
    faults = [] if series(memtool, path) == [wanted] else [f"{path.name}: {series(memtool, path)}, by hand {wanted}"]
    _, out, _ = run(memtool, "top", "--at", "end", "--by", "label:thread", "--format", "json", path)
    found = {row["name"]: row["flat"] for row in json.loads(out)["rows"]}
    return faults + ([] if found == threads else [f"{path.name}: threads {found}, by hand {threads}"])


def check_samples(memtool, path):
    """The sum of each sample is among the totals, in order; peak and end are those of the samples."""
    lines = path.read_text().splitlines()
    names = [name.removesuffix("_current") for name in lines[0].split(",")[3::2]]
    sums = {}
    for line in lines[1:]:
        counters = dict(zip(names, map(int, line.split(",")[-2 * len(names)::2])))
        device = counters["device"] + counters["workspace"] + counters["large_workspace"]
        for name, value in {"0": device, **{n: counters[n] for n in ("managed", "host", "pinned")}}.items():
            sums.setdefault(name, []).append(value)
    faults = []
    said = {device["name"]: device for device in info(memtool, path)["devices"]}
    totals = dict(zip(said, series(memtool, path)))
    for name, wanted in sums.items():
        rest = iter(totals[name])
        changes = [value for value, _ in itertools.groupby(wanted)]
        if not all(value in rest for value in changes) or (said[name]["peak_bytes"], said[name]["end_bytes"]) != (max(wanted), wanted[-1]):
            faults.append(f"{path.name}: {name}: {totals[name]}, by hand {wanted}")
    return faults


def check_events(memtool, path):
    """Of a row per event: what each resource holds after it, as the rows' own counters say, and what was there before."""
    rows = list(csv.DictReader(path.read_text().replace('"k=8"', "k=8").splitlines()))
    places = {"host": ["host"], "0": ["device", "workspace"]}
    said = [device["name"] for device in info(memtool, path)["devices"]]
    totals = dict(zip(said, series(memtool, path)))
    faults = []
    for place, names in places.items():
        held = [0] + [sum(int(row[f"{name}_current"]) for name in names) for row in rows]
        # Counters begin at 0 and count what was there before when it is freed.
        before = max(0, totals[place][0])
        wanted = [value + before for value, _ in itertools.groupby(held)]
        if totals[place] != wanted:
            faults.append(f"{path.name}: {place}: {totals[place]}, by hand {wanted}")
    return faults


def check_failures(memtool, testdata):
    """A failure counts unless its thread asked again and was met."""
    found = {name: len(info(memtool, testdata / name)["devices"][0]["oom_events"])
             for name in ("midnight.dev0.csv", "fails.csv", "spark.txt")}
    wanted = {"midnight.dev0.csv": 0, "fails.csv": 1, "spark.txt": 0}
    return [] if found == wanted else [f"failures {found}, by hand {wanted}"]


def check_cuts(memtool, path):
    """A log that ends within a row is read up to it, and says so."""
    data, faults = path.read_bytes(), []
    with tempfile.TemporaryDirectory() as folder:
        cut = Path(folder) / "cut.csv"
        for size in range(60, len(data), 7):
            cut.write_bytes(data[:size])
            status, _, errors = run(memtool, "info", cut)
            if status not in (0, 3) or (status == 3 and errors.count("\n") != 1):
                faults.append(f"cut at {size}: exit {status}: {errors}")
    return faults


def main():
    args = oracle.options(__doc__)
    logs, faults = args.testdata / "rmm", []
    for path in sorted(logs.glob("*.csv")) + [logs / "spark.txt"]:
        faults += check_log(args.memtool, path)
    faults += check_samples(args.memtool, args.testdata / "raft/sample.csv")
    for name in ("events.csv", "events_sourced.csv"):
        faults += check_events(args.memtool, args.testdata / "raft" / name)
    faults += check_failures(args.memtool, logs)
    faults += check_cuts(args.memtool, logs / "midnight.dev0.csv")
    return oracle.verdict(faults)


if __name__ == "__main__":
    sys.exit(main())
