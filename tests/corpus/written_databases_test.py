#!/usr/bin/env python3
"""Databases that memtool writes say what its own answers say.

usage: written_databases_test.py --memtool PATH --testdata DIR
"""
import json
import sqlite3
import sys
import tempfile

import oracle
from histories import info, inputs, run


def totals(memtool, path):
    """{sample type: total} of `memtool top`, for every type of the input."""
    found = {}
    code, out, _ = run(memtool, "top", "--format", "json", "--frames", "all", "--by", "stack", path)
    if code == 0:
        answer = json.loads(out)
        found[answer["sample_type"]] = answer["total"]
    return found


def check_pools(db, devices, path):
    faults = []
    pools = db.execute("SELECT id, name, peak_bytes, end_bytes, events, reserved_peak_bytes FROM pools ORDER BY id")
    for (pool, *row), device in zip(pools.fetchall(), devices):
        wanted = [device[key] for key in ("name", "peak_bytes", "end_bytes", "events", "reserved_peak_bytes")]
        if row != wanted:
            faults.append(f"{path}: pools: {row}, info says {wanted}")
        live = db.execute("SELECT coalesce(sum(size), 0) FROM live_at_peak WHERE pool_id = ?", (pool,)).fetchone()[0]
        adjusts = db.execute("SELECT count(*) FROM events WHERE pool_id = ? AND action = 'adjust'", (pool,)).fetchone()[0]
        if live != device["peak_bytes"] and not adjusts:
            faults.append(f"{path}: {device['name']}: live at peak {live}, info says {device['peak_bytes']}")
        last = db.execute("SELECT live_bytes FROM events WHERE pool_id = ? ORDER BY number DESC LIMIT 1", (pool,)).fetchone()
        if last and last[0] != device["end_bytes"]:
            faults.append(f"{path}: {device['name']}: ends at {last[0]}, info says {device['end_bytes']}")
    return faults


def check(memtool, path, said, file):
    for device in said.get("devices") or []:
        if device["events"] < 2 and None not in (device["start_bytes"], device["end_bytes"]):
            # What was not recorded has no peak: written is what is there.
            device["peak_bytes"] = max(device["start_bytes"], device["end_bytes"])
            device["reserved_peak_bytes"] = max(device["reserved_base_bytes"], device["reserved_end_bytes"])
    code, _, errors = run(memtool, "convert", "--to", "sqlite", "-o", file, path)
    if any(device["peak_bytes"] is None for device in said.get("devices") or []):  # beyond 64 bits: never written
        refused = code == 3 and "exceed the 64-bit range" in str(errors)
        return [] if refused else [f"{path}: exit {code} of an unknown total: {errors}"]
    if code != 0:
        return [f"{path}: exit {code}: {errors}"]
    faults = []
    db = sqlite3.connect(file)
    if db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
        faults.append(f"{path}: not intact")
    for kind, total in totals(memtool, path).items():
        found = db.execute("SELECT coalesce(sum(value), 0) FROM sample_rows WHERE type = ? AND NOT unknown_size", (kind,)).fetchone()[0]
        if found != total:
            faults.append(f"{path}: {kind} sums to {found}, top says {total}")
    faults += check_pools(db, said.get("devices") or [], path)
    for view in ("stack_frames", "stack_text", "label_text", "live_at_peak"):
        db.execute(f"SELECT count(*) FROM {view}").fetchone()
    # Every reference leads somewhere.
    for table, column, target in (("samples", "stack_id", "stacks"), ("stacks", "location_id", "locations"),
                                  ("frames", "function_id", "functions"), ("locations", "mapping_id", "mappings"),
                                  ("events", "pool_id", "pools"), ("blocks", "segment_id", "segments")):
        lost = db.execute(f"SELECT count(*) FROM {table} WHERE {column} NOT NULL AND {column} NOT IN "
                          f"(SELECT id FROM {target})").fetchone()[0]
        if lost and target != "stacks":  # a stack without frames has no row
            faults.append(f"{path}: {lost} of {table}.{column} lead nowhere")
    db.close()
    return faults


def main():
    args = oracle.options(__doc__)
    faults, files = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for path in inputs(args.testdata):
            said = info(args.memtool, path)
            if said is not None:
                files += 1
                faults += check(args.memtool, path, said, f"{folder}/out.sqlite")
    return oracle.verdict(faults, files, least=30)


if __name__ == "__main__":
    sys.exit(main())
