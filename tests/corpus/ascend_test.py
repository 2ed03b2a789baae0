#!/usr/bin/env python3
"""Tables of Ascend's profilers: figures as a script of its own computes them with Python's csv and sqlite3, and what damage does.

usage: ascend_test.py --memtool PATH --testdata testdata [--flips N] [--seed N]
"""
import csv
import json
import os
import random
import sqlite3
import sys
import tempfile
from pathlib import Path

import oracle
from histories import info, run, series
from nsys_test import check_damage

UNITS = {"KB": 1 << 10, "MB": 1 << 20}
SUM, LEVELS = "PTA+GE", {"APP": " APP", "Device": " device"}


def rows(path):
    """Dicts by title without its unit; amounts in bytes, times in ns."""
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            one = {}
            for title, text in row.items():
                if not title:
                    continue
                name, _, unit = title.partition("(")
                text = text.strip()
                if unit.rstrip(")") in UNITS and text:
                    one[name] = round(float(text) * UNITS[unit.rstrip(")")])
                elif unit == "us)" and text:
                    whole, _, part = text.partition(".")
                    one[name] = int(whole) * 1000 + int((part + "000")[:3])
                else:
                    one[name] = text
            yield one


def device(row):
    return (row.get("Device Type") or row.get("Device") or row.get("Device_id")).rpartition(":")[2]


def peak_and_end(changes, base=0):
    """`changes`: (time, begins, size); of one time the ends come first."""
    live = peak = base
    for _, _, size in sorted(changes):
        live += size
        peak = max(peak, live)
    return peak, live


def operators(path):
    """{ledger: (peak, end)} of a table whose totals all agree: what was there before is the first total less its tensor."""
    found = {}
    for row in rows(path):
        graph = row["Name"].startswith("cann::")
        found.setdefault((device(row), graph), []).append(row)
    result = {}
    for (number, graph), tensors in found.items():
        first = min(tensors, key=lambda row: row["Allocation Time"])
        changes = []
        for row in tensors:
            size = row["Size"]
            changes.append((row["Allocation Time"], 1, size))
            end = row.get("Release Time") or (row["Allocation Time"] + row["Duration"] if row.get("Duration") else None)
            end = max(end or 0, row.get("Active Release Time") or 0)
            if end:
                changes.append((end, 0, -size))
        base = first["Allocation Total Allocated"] - first["Size"]
        both = graph and (number, False) in found
        result[f"NPU:{number}" + (" GE" if both else "")] = peak_and_end(changes, base)
    return result


def totals(path):
    """{ledger: (peak, end)}: of each component its last total counts."""
    return replaced(samples(path, (SUM,), ""))


def samples(path, without, parts):
    """{ledger: [(time, component, total)]}; `parts`: what the ledger of the process's parts is called."""
    found = {}
    for row in rows(path):
        component = row.get("Component") or row.get("event")
        if component in without:
            continue
        total = row.get("Total Allocated")
        total = total if total not in ("", None) else row.get("Total Reserved", row.get("memory"))
        ledger = f"NPU:{device(row)}" + LEVELS.get(component, parts)
        found.setdefault(ledger, []).append((row.get("Timestamp", row.get("timestamp")), component, total))
    return found


def joined(folder):
    """A folder's tables, where the totals of PTA are told by its tensors."""
    found = {}
    for table in ("npu_module_mem.csv", "memory_record.csv"):
        for ledger, of_ledger in samples(folder / table, (SUM, "PTA"), " components").items():
            found.setdefault(ledger, []).extend(of_ledger)
    return operators(folder / "operator_memory.csv") | replaced(found)


def replaced(found):
    """{ledger: (peak, end)} of {ledger: [(time, component, total)]}: of each component its last total counts."""
    result = {}
    for ledger, samples in found.items():
        held, changes = {}, []
        for time, component, total in sorted(samples, key=lambda sample: sample[0]):
            changes.append((time, len(changes), total - held.get(component, 0)))
            held[component] = total
        if any(size for _, _, size in changes):
            result[ledger] = peak_and_end(changes)
    return result


def blocks(path):
    """{ledger: (peak, end)} of MindSpore's blocks: stamps are an order, and those below 0 are inside of other blocks."""
    changes = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            begin, end, size = (int(row[name]) for name in ("start_time_stamp", "end_time_stamp", "size"))
            if 0 <= begin <= end:
                changes.setdefault(row["pool_type"], []).append((begin, 1, size))
                changes[row["pool_type"]] += [(end, 0, -size)] if end < 2**63 - 1 else []
    return {pool: peak_and_end(of_pool) for pool, of_pool in changes.items()}


def memscope(path):
    """{ledger: (peak, end)}: an allocator's base is its first count less the call before it."""
    with open(path, newline="", encoding="utf-8") as file:
        calls = [row for row in csv.DictReader(file) if row["Event"] in ("MALLOC", "FREE") and row["Timestamp(ns)"].isdigit()]
    several, found, live = len({row["Process Id"] for row in calls}) > 1, {}, {}
    for row in sorted(calls, key=lambda row: (int(row["Timestamp(ns)"]), int(row["ID"]))):
        attributes = dict(part.split(":", 1) for part in row["Attr"].strip("{}").split(","))
        number = row["Device Id"] if row["Device Id"].isdigit() else None
        name = ("host" if number is None else f"NPU:{number}") + ("" if row["Event Type"] == "PTA" else f" {row['Event Type']}")
        name += f" (pid {row['Process Id']})" if several else ""
        size = int(attributes["size"])
        key = name, row["Ptr"]
        if row["Event"] == "MALLOC":
            live[key] = size
        else:
            size = -live.pop(key)
        base = int(attributes["used"]) - size if "used" in attributes else 0
        found.setdefault(name, (base, []))[1].append(size)
    result = {}
    for name, (base, changes) in found.items():
        totals = [base + sum(changes[:count]) for count in range(len(changes) + 1)]
        result[name] = max(totals), totals[-1]
    return result


def numbers(db, table, names):
    """{name: number} the other way round; empty where there is no such table."""
    try:
        return dict(db.execute(f"SELECT id, {names} FROM {table}"))
    except sqlite3.OperationalError:
        return {}


def rows_of(db, table):
    try:
        cursor = db.execute(f"SELECT * FROM {table}")
    except sqlite3.OperationalError:
        return []
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row)) for row in cursor]


def operations(db):
    """{(device, component): [(time, change, total, name)]} of NPU_OP_MEM."""
    texts, words = numbers(db, "STRING_IDS", "value"), numbers(db, "ENUM_MEMORY", "name")
    found = {}
    for row in sorted(rows_of(db, "NPU_OP_MEM"), key=lambda row: row["timestampNs"]):
        word, component = words.get(row["type"], texts.get(row["type"])), texts[row["component"]]
        if component != SUM:
            size = {"allocate": row["size"], "release": -row["size"]}[word]
            found.setdefault((row["deviceId"], component), []).append(
                (row["timestampNs"], size, row["totalAllocate"], texts[row["operatorName"]]))
    return found


def database(path):
    """{ledger: (peak, end)} of a database whose totals all agree."""
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    texts, words, modules = (numbers(db, *table) for table in (("STRING_IDS", "value"), ("ENUM_MEMORY", "name"), ("ENUM_MODULE", "name")))
    result, of_device = {}, {}
    tensors = {}
    for row in rows_of(db, "OP_MEMORY"):
        if row["streamPtr"] is not None:  # the others are those of NPU_OP_MEM
            tensors.setdefault(row["deviceId"], []).append(row)
    for device_, rows_ in tensors.items():
        changes = []
        for row in rows_:
            end = max(row["releaseTime"] or 0, row["activeReleaseTime"] or 0)
            changes += [(row["allocationTime"], 1, row["size"])] + ([(end, 0, -row["size"])] if end else [])
        first = min(rows_, key=lambda row: row["allocationTime"])
        of_device[device_] = 1
        result[f"NPU:{device_}"] = peak_and_end(changes, first["allocationTotalAllocated"] - first["size"])
    for (device_, component), changes in operations(db).items():
        base = changes[0][2] - changes[0][1]
        lives = [base] + [total for _, _, total, _ in changes]
        name = f"NPU:{device_}" + (f" {component}" if device_ in of_device else "")
        of_device[device_] = 1
        result[name] = max(lives), lives[-1]
    samples = []
    for row in rows_of(db, "MEMORY_RECORD"):
        component = texts[row["component"]]
        if component != SUM and not (row["deviceId"] in of_device and component in ("PTA", "GE")):
            samples.append((row["deviceId"], component, row["timestamp"], row["totalAllocated"]))
    module_rows = rows_of(db, "NPU_MODULE_MEM")
    samples += [(row["deviceId"], modules[row["moduleId"]], row["timestampNs"], row["totalReserved"]) for row in module_rows]
    with_app = {device_ for device_, component, _, _ in samples if component == "APP"}
    for row in rows_of(db, "NPU_MEM"):
        word = words.get(row["type"], texts.get(row["type"]))
        if word == "device" or row["deviceId"] not in with_app:
            samples.append((row["deviceId"], {"device": "Device", "app": "APP"}[word], row["timestampNs"], row["ddr"] + row["hbm"]))
    found = {}
    for device_, component, time, total in samples:
        level = LEVELS.get(component, " components" if device_ in of_device else "")
        found.setdefault(f"NPU:{device_}{level}", []).append((time, component, total))
    result.update(replaced(found))
    return result


def check_series(memtool, path):
    """Live bytes after each change are the totals that the database has beside it, and what is live at the end is by operator
    what was not released."""
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    (changes,) = operations(db).values()
    wanted = [changes[0][2] - changes[0][1]] + [total for _, _, total, _ in changes]
    faults = [] if series(memtool, path) == [wanted] else [f"{path.name}: live bytes {series(memtool, path)}, the totals say {wanted}"]
    live = {}
    for _, size, _, name in changes:
        live[name] = live.get(name, 0) + size
    _, out, _ = run(memtool, "top", "--at", "end", "--format", "json", path)
    found = {row["name"]: row["flat"] for row in json.loads(out)["rows"]}
    found.pop("(before recording)", None)
    live = {name: size for name, size in live.items() if size}
    return faults + ([] if found == live else [f"{path.name}: at the end {found}, SQL says {live}"])


def check_hidden(memtool):
    """Behind 64 KiB of another table it is named, and read when it is asked for."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "late.db"
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE other (text)")
        db.execute("INSERT INTO other VALUES (zeroblob(100000))")
        for number in range(40):  # the schema no longer fits into the first page
            db.execute(f"CREATE TABLE other{number} ({', '.join(f'column{n}' for n in range(20))})")
        db.execute("CREATE TABLE NPU_INFO (id, name)")
        db.execute("CREATE TABLE NPU_OP_MEM (operatorName, addr, type, size, timestampNs, component, deviceId)")
        db.execute("INSERT INTO NPU_OP_MEM VALUES (1, 4096, 5, 512, 1000, 2, 0)")
        db.commit()
        db.close()
        status, _, errors = run(memtool, "info", path)
        read, out, _ = run(memtool, "info", "--format", "json", "--input-format", "ascend-db", path)
    if status != 3 or "--input-format ascend-db" not in errors:
        return [f"late tables: exit {status}: {errors}"]
    peak = json.loads(out)["inputs"][0]["devices"][0]["peak_bytes"] if read == 0 else None
    return [] if peak == 512 else [f"late tables: exit {read}, peak {peak}"]


def check(memtool, path, wanted):
    said = info(memtool, path)
    found = {one["name"]: (one["peak_bytes"], one["end_bytes"]) for one in said["devices"]}
    faults = [] if found == wanted else [f"{path.name}: {found}, Python says {wanted}"]
    for one in said["devices"]:
        if one["checked_changes"] != one["agreeing_changes"]:
            faults.append(f"{path.name}: {one['name']}: {one['checked_changes'] - one['agreeing_changes']} totals disagree")
    return faults


def main():
    args = oracle.options(__doc__, flips=150, seed=1)
    faults, looked = [], 0
    folders = [args.testdata / "ascend", args.testdata / "ascend_db"]
    folders += [Path(folder) / "ascend" for folder in os.environ.get("MEMTOOL_REFERENCE_DATA", "").split(":") if folder]
    skipped = {"late.csv", "unsorted.csv", "spreadsheet.csv", "static_op_mem.csv", "no_memory.db", "view.db", "damaged.db"}
    for path in sorted(path for folder in folders for path in [*folder.glob("*.csv"), *folder.glob("*.db")]):
        if path.name in skipped:
            continue
        looked += 1
        decode = (database if path.suffix == ".db" else
                  blocks if path.name == "memory_block.csv" else
                  memscope if path.name.startswith(("memscope", "leaks")) else
                  operators if "operator_memory" in path.name else totals)
        faults += check(args.memtool, path, decode(path))
        if "msprof" in path.name and path.suffix == ".db":
            faults += check_series(args.memtool, path)
    for folder in sorted(args.testdata.glob("ascend/job/*/ASCEND_PROFILER_OUTPUT")):
        looked += 1
        faults += check(args.memtool, folder, joined(folder))
    faults += check_hidden(args.memtool)
    faults += check_damage(args.memtool, args.testdata / "ascend_db" / "totals.db", args.flips, random.Random(args.seed))
    return oracle.verdict(faults, looked, least=12)


if __name__ == "__main__":
    sys.exit(main())
