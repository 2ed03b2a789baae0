#!/usr/bin/env python3
"""rocprofv3's traces and rocpd databases: live bytes over time, calls and ranges as a script of its own finds them with csv
and SQL, and what damage does.

usage: rocm_test.py --memtool PATH --testdata testdata [--flips N] [--seed N]
"""
import csv
import gzip
import json
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import oracle
from histories import run, series
from nsys_test import check_damage

OPERATIONS = {"MEMORY_ALLOCATION_ALLOCATE": ("ALLOC", "REAL"), "MEMORY_ALLOCATION_VMEM_ALLOCATE": ("ALLOC", "VIRTUAL"),
              "MEMORY_ALLOCATION_FREE": ("FREE", "REAL"), "MEMORY_ALLOCATION_VMEM_FREE": ("FREE", "VIRTUAL")}
# Of schema 4, from its tables of places and times.
ROWS = {3: 'SELECT pid, tid, agent_id, queue_id, type, level, start, "end", address, size FROM rocpd_memory_allocate',
        4: "SELECT t.pid, t.tid, t.agent_id, t.queue_id, m.type, m.level, b.value, e.value, m.address, m.size "
           "FROM rocpd_memory_allocate m JOIN rocpd_track t ON t.id = m.track_id "
           "JOIN rocpd_timestamp b ON b.id = m.start_id JOIN rocpd_timestamp e ON e.id = m.end_id"}
REGIONS = {3: 'SELECT r.tid, r.start, r."end", s.string, v.extdata FROM rocpd_region r',
           4: "SELECT t.tid, b.value, e.value, s.string, v.extdata FROM rocpd_region r JOIN rocpd_track t ON t.id = r.track_id "
              "JOIN rocpd_timestamp b ON b.id = r.start_id JOIN rocpd_timestamp e ON e.id = r.end_id"}


def from_csv(path):
    """Rows: (process, thread, agent, queue, type, level, start, end, address, size)."""
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            kind, level = OPERATIONS.get(row["Operation"], (None, None))
            try:
                yield (0, 0, row["Agent_Id"], 0, kind, level, int(row["Start_Timestamp"] or -1), int(row["End_Timestamp"] or -1),
                       int(row["Address"], 16), int(row["Allocation_Size"]))
            except (TypeError, ValueError):
                continue


def schema_of(db):
    return int(db.execute("SELECT value FROM rocpd_metadata WHERE tag = 'schema_version'").fetchone()[0])


def from_database(path):
    db = sqlite3.connect(path)
    yield from db.execute(ROWS[schema_of(db)])


def lives(rows):
    """{(process, agent, level): live bytes after each change}."""
    moments = []
    for process, _, agent, queue, kind, level, start, end, address, size in rows:
        ends = kind in ("FREE", "RECLAIM")
        key = queue if level == "SCRATCH" else address
        if kind and key is not None and size >= 0 and not (ends and level != "SCRATCH" and address == 0):
            moments.append((start if ends else end, process, agent, kind, level, key, size))
    moments.sort(key=lambda moment: moment[0])
    live, totals = {}, {}
    for _, process, agent, kind, level, key, size in moments:
        known = live.pop((process, level, key), None)
        if known:
            place, bytes_ = known
            totals[place].append(totals[place][-1] - bytes_)
        if kind in ("ALLOC", "REALLOC"):
            place = (process, agent, level)
            live[process, level, key] = (place, size)
            totals.setdefault(place, [0]).append(totals.get(place, [0])[-1] + size)
    return totals


def check_lives(memtool, path, rows):
    wanted, found = sorted(lives(rows).values()), sorted(series(memtool, path))
    return [] if wanted == found else [f"{path.name}: live bytes {found}, by hand {wanted}"]


def check_code(memtool, path):
    """The innermost frame of each allocation's call stack, or call around it, and the innermost range of roctx."""
    db = sqlite3.connect(path)
    schema = schema_of(db)
    regions = [(tid, start, end, json.loads(extdata).get("message", name), name.startswith("roctx")) for tid, start, end, name, extdata
               in db.execute(REGIONS[schema] + " JOIN rocpd_string s ON s.id = r.name_id JOIN rocpd_event v ON v.id = r.event_id")]
    wanted = []
    for row, (_, tid, _, _, kind, _, _, end, address, _) in enumerate(db.execute(ROWS[schema])):
        around = sorted((r for r in regions if r[0] == tid and r[1] <= end <= r[2]), key=lambda r: r[1])
        ranges = [r[3] for r in around if r[4]]
        if kind in ("ALLOC", "REALLOC") and address is not None:
            called = stack_of(db, schema, row)
            wanted.append(((called or [around[-1][3] if around else "(no stack)"])[0], ranges[-1] if ranges else ""))
    _, out, _ = run(memtool, "events", "--frames", "all", "--format", "csv", path)
    found = []
    for row in csv.DictReader(out.decode().splitlines()):
        if row["action"] == "alloc":
            found.append((row["name"], row["labels"].partition("roctx=")[2]))
    return [] if sorted(wanted) == sorted(found) else [f"{path.name}: code {sorted(found)}, SQL says {sorted(wanted)}"]


def stack_of(db, schema, row):
    """The functions of a row's call stack, innermost first, as SQL (and in schema 3 its JSON functions) finds them."""
    event = db.execute("SELECT event_id FROM rocpd_memory_allocate LIMIT 1 OFFSET ?", [row]).fetchone()[0]
    if schema == 4:
        return [name for name, in db.execute("SELECT p.function FROM rocpd_call_stack c JOIN rocpd_info_pc p ON p.id = c.pc_id "
                                             "WHERE c.event_id = ? ORDER BY c.depth", [event])]
    return [name for name, in db.execute(
        "SELECT json_extract(f.value, '$.program_counter.function') FROM rocpd_event e, json_each(e.call_stack, '$.frames') f WHERE e.id = ?1 "
        "UNION ALL SELECT json_extract(line_info, '$.inlined.name') FROM rocpd_event WHERE id = ?1 AND json_extract(line_info, '$.inlined.name') "
        "IS NOT NULL UNION ALL SELECT json_extract(call_stack, '$.name') FROM rocpd_event WHERE id = ?1 AND json_extract(call_stack, '$.name') "
        "IS NOT NULL", [event])]


def check_ways(memtool, path, scratch):
    """A database in write-ahead mode, one through a pipe and one that is packed are read as the file itself."""
    _, wanted, _ = run(memtool, "events", "--format", "csv", path)
    ahead = scratch / path.name
    shutil.copyfile(path, ahead)
    db = sqlite3.connect(ahead)
    db.execute("PRAGMA journal_mode = WAL")
    db.close()
    packed = scratch / "packed.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    ways = {"write-ahead": run(memtool, "events", "--format", "csv", ahead)[1],
            "packed": run(memtool, "events", "--format", "csv", packed)[1],
            "pipe": subprocess.run([memtool, "events", "--format", "csv", "-"], input=path.read_bytes(), capture_output=True,
                                   check=False).stdout}
    return [f"{path.name}: {way}: other events" for way, found in ways.items() if found != wanted or not wanted]


def main():
    args = oracle.options(__doc__, flips=200, seed=1)
    faults = []
    for path in (args.testdata / "rocprof").glob("*.csv"):
        faults += check_lives(args.memtool, path, from_csv(path))
    databases = args.testdata / "rocpd"
    for name in ("schema3", "schema4", "two", "join"):
        faults += check_lives(args.memtool, databases / f"{name}.db", from_database(databases / f"{name}.db"))
    for name in ("schema3", "schema4"):
        faults += check_code(args.memtool, databases / f"{name}.db")
    with tempfile.TemporaryDirectory() as scratch:
        faults += check_ways(args.memtool, databases / "schema3.db", Path(scratch))
    for name in ("no_memory", "view"):
        status, out, errors = run(args.memtool, "top", databases / f"{name}.db")
        if status != 3 or out or errors.count("\n") > 2:
            faults.append(f"{name}: exit {status}: {errors}")
    faults += check_damage(args.memtool, databases / "schema4.db", args.flips, random.Random(args.seed))
    return oracle.verdict(faults)


if __name__ == "__main__":
    sys.exit(main())
