#!/usr/bin/env python3
"""Metric files decoded a second time, by struct, zlib, csv and json: each tag has the same values; cut and damaged ones
give what stands before and behind.

usage: metrics_test.py --memtool PATH --testdata testdata/metrics
"""
import argparse
import csv
import json
import re
import struct
import sys
import tempfile
import zlib
from pathlib import Path

from histories import info, run

GIB = 1 << 30
# Of each tag that counts: what it is called, its unit, and where in it the device or stage stands.
TAGS = [
    (r"mem-reserved-bytes", "reserved", 1),
    (r"mem-allocated-bytes", "allocated", 1),
    (r"mem-max-allocated-bytes", "peak_allocated", 1),
    (r"memory/max_active\(GiB\)", "peak_allocated", GIB),
    (r"memory/max_reserved(?:\(GiB\)|_GiB_)", "peak_reserved", GIB),
    (r"memory/num_alloc_retries", "retries", 1),
    (r"memory/num_ooms", "ooms", 1),
    (r"perf/max_memory_allocated_gb", "peak_allocated", GIB),
    (r"perf/max_memory_reserved_gb", "peak_reserved", GIB),
    (r"perf/cpu_memory_used_gb", "host_used", GIB),
    (r"gpu\.process\.(\d+)\.memoryAllocatedBytes", "process", 1),
    (r"gpu\.(\d+)\.memoryAllocatedBytes", "used", 1),
    (r"DeviceStatsMonitor\.(\w+)/allocated_bytes\.all\.current", "allocated", 1),
    (r"DeviceStatsMonitor\.(\w+)/allocated_bytes\.all\.peak", "peak_allocated", 1),
    (r"DeviceStatsMonitor\.(\w+)/reserved_bytes\.all\.current", "reserved", 1),
    (r"DeviceStatsMonitor\.(\w+)/num_ooms", "ooms", 1),
]
# Values of the makers' own files and their sums, as TensorBoard's EventAccumulator and W&B's DataStore read them
# (../testdata/metrics/make_makers.py).
MAKERS = {
    "tensorboardx.tfevents": {
        "loss": (20, 7.195479400455952), "mem-allocated-bytes": (20, 399297740800.0), "mem-reserved-bytes": (20,
        442247413760.0), "mem-max-allocated-bytes": (20, 558345748480.0), "memory/max_reserved_GiB_": (20, 633.75),
        "memory/num_ooms": (20, 0.0)},
    "datastore.wandb": {
        "loss": (24, 7.5519163555070135), "_step": (24, 276.0), "_timestamp": (24, 42960000564.0),
        "perf/max_memory_allocated_gb": (24, 1457.25), "gpu.0.memoryAllocated": (8, 604.0),
        "gpu.0.memoryAllocatedBytes": (8, 532664025088.0), "gpu.process.0.memoryAllocatedBytes": (8, 515484155904.0),
        "proc.memory.rssMB": (8, 16386.0)},
}
FAULTS = []


def check(what, holds, more=""):
    if not holds:
        FAULTS.append(what)
        print(f"FAILED {what} {more}")


def fields(data):
    """(number, value) of a protobuf message"""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 0x7F) << shift
            shift += 7
            at += 1
            if data[at - 1] < 0x80:
                return value

    while at < len(data):
        tag = varint()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, varint()
        elif kind == 2:
            size = varint()
            yield tag >> 3, data[at:at + size]
            at += size
        else:
            size = {1: 8, 5: 4}[kind]
            yield tag >> 3, data[at:at + size]
            at += size


def tfevents(data):
    """(tag, step, value)"""
    at = 0
    while at < len(data):
        size, = struct.unpack_from("<Q", data, at)
        event = dict(fields(data[at + 12:at + 12 + size]))
        at += 16 + size
        for number, value in fields(event.get(5, b"")):
            parts = dict(fields(value))
            content = parts.get(2) or dict(fields(parts.get(8, b""))).get(4)
            if content is None:
                continue  # a text, a histogram
            yield parts[1].decode(), event.get(2, 0), struct.unpack("<f", content)[0]


def wandb(data):
    """(tag, step, value)"""
    at, record = 7, b""
    while at < len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        crc, size, kind = struct.unpack_from("<IHB", data, at)
        piece = data[at + 7:at + 7 + size]
        assert zlib.crc32(bytes([kind]) + piece) == crc
        at += 7 + size
        record = piece if kind in (1, 2) else record + piece
        if kind not in (1, 4):
            continue
        for number, value in fields(record):
            if number not in (2, 7):
                continue
            items = [dict(fields(item)) for field, item in fields(value) if field == {2: 1, 7: 3}[number]]
            values = {(item.get(1) or item[2]).decode(): json.loads(item[16]) for item in items}
            for tag, one in values.items():
                yield tag, values.get("_step"), one


def table(data):
    for row in csv.DictReader(data.decode().splitlines()):
        for tag, value in row.items():
            if value:
                yield tag, int(row["step"]), float(value)


def lines(data):
    for line in data.decode().splitlines():
        row = json.loads(line)
        for tag, value in row.items():
            yield tag, row["step"], value


def said_by(points):
    """What memtool should say: sorted (quantity, place, step, value)"""
    said = []
    for tag, step, value in points:
        for pattern, quantity, unit in TAGS:
            match = re.fullmatch(pattern, tag)
            if match:
                where = match.group(1) if match.groups() else ""
                said.append((quantity, where, step, round(value * unit)))
                break
    return sorted(said, key=str)


def says(memtool, path):
    found = []
    for statement in info(memtool, path)["statements"]:
        stage = re.fullmatch(r"(?:step (\d+))?(?:, )?(\w*)", statement["stage"] or "")
        device = (statement["device"] or "").removeprefix("device ")
        step = int(stage.group(1)) if stage.group(1) else None
        found.append((statement["quantity"], device or stage.group(2), step, statement["value"]))
        check(f"{path.name}: the value is within its bounds", statement["low"] <= statement["value"] <= statement["high"])
    return sorted(found, key=str)


def levels(said, quantity, where=None):
    return [value for name, place, _, value in said if name == quantity and where in (None, place)]


def check_same(memtool, folder):
    for name, decode, quantity in [("megatron.tfevents", tfevents, "allocated"), ("titan.tfevents", tfevents, "peak_allocated"),
                                   ("tensorboardx.tfevents", tfevents, "allocated"), ("datastore.wandb", wandb, "process"),
                                   ("run.wandb", wandb, "process"), ("metrics.csv", table, "allocated"),
                                   ("metrics.jsonl", lines, "peak_allocated")]:
        path = folder / name
        points = list(decode(path.read_bytes()))
        wanted = said_by(points)
        check(f"{name}: every value of every tag", says(memtool, path) == wanted, f"{says(memtool, path)} {wanted}")
        # What is live follows the level.
        for device in info(memtool, path)["devices"]:
            where = str(device["device"]) if quantity == "process" else None
            # In the order of the file.
            held = [value for tag, step, value in points for q, w, s, value in said_by([(tag, step, value)])
                    if q == quantity and where in (None, w)]
            check(f"{name}: peak and end", (device["peak_bytes"], device["end_bytes"]) == (max(held), held[-1]))


def check_makers(folder):
    """The decoders above read what the makers' own readers do."""
    for name, decode in (("tensorboardx.tfevents", tfevents), ("datastore.wandb", wandb)):
        found = {}
        for tag, _, value in decode((folder / name).read_bytes()):
            found.setdefault(tag, []).append(value)
        check(f"{name}: tags and values", {tag: (len(values), sum(values)) for tag, values in found.items()} == MAKERS[name], found.keys())


def check_trainer(memtool, folder):
    said = json.loads((folder / "all_results.json").read_text())
    device = next(d for d in info(memtool, folder / "all_results.json")["devices"] if d["device"] == 0)
    held = peak = said["before_init_mem_gpu"]
    for stage in ("init", "train", "eval"):
        held += said[f"{stage}_mem_gpu_alloc_delta"]
        peak = max(peak, held + said[f"{stage}_mem_gpu_peaked_delta"])
    check("all_results.json: peak and end", (device["peak_bytes"], device["end_bytes"]) == (peak, held))


def check_profile(memtool, folder):
    path = folder / "memory_profile.json"
    one = json.loads(path.read_text())["memoryProfilePerAllocator"]["GPU_0_bfc"]
    held = [int(m["aggregationStats"]["stackReservedBytes"]) + int(m["aggregationStats"]["heapAllocatedBytes"])
            for m in one["sampledTimelineSnapshots"]]
    device = info(memtool, path)["devices"][0]
    check("memory_profile.json: peak and end", (device["peak_bytes"], device["end_bytes"]) == (max(held), held[-1]))


def codes(memtool, path):
    code, out, _ = run(memtool, "info", "--format", "json", path)
    return {note["code"] for note in json.loads(out)["diagnostics"]} if code == 0 else set()


def check_damage(memtool, folder, scratch):
    """A byte changed in a record: it alone is missing, and that is said."""
    for name, decode in (("megatron.tfevents", tfevents), ("run.wandb", wandb)):
        data = (folder / name).read_bytes()
        whole = says(memtool, folder / name)
        path = scratch / name
        for at in range(len(data) // 2, len(data) // 2 + 400, 7):
            changed = bytearray(data)
            changed[at] ^= 0x10
            path.write_bytes(changed)
            left = says(memtool, path)
            check(f"{name}: byte {at} changed: no other values", all(one in whole for one in left))
            check(f"{name}: byte {at} changed: it is said", left == whole or codes(memtool, path) & {"damaged_record", "lost_record", "damaged_block"})
        for size in range(len(data) - 300, len(data), 11):
            path.write_bytes(data[:size])
            left = says(memtool, path)
            check(f"{name}: cut at {size}: no other values", all(one in whole for one in left))
        check(f"{name}: a cut is said", "cut" in codes(memtool, path))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--testdata", required=True, type=Path)
    args = parser.parse_args()
    check_same(args.memtool, args.testdata)
    check_makers(args.testdata)
    check_trainer(args.memtool, args.testdata)
    check_profile(args.memtool, args.testdata)
    with tempfile.TemporaryDirectory() as scratch:
        check_damage(args.memtool, args.testdata, Path(scratch))
    sys.exit(1 if FAULTS else 0)


main()
