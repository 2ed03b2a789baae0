#!/usr/bin/env python3
"""Writes snapshots (JSON form) whose free memory is of every kind. usage: generate.py, in this folder"""
import json

MIB = 1 << 20


def segment(address, sizes, **more):
    """Blocks of these MiB, one after the other; a negative size is a free block."""
    blocks, at = [], address
    for size in sizes:
        live = size > 0
        size = abs(size) * MIB
        blocks.append({"address": at, "size": size, "requested_size": size if live else 0,
                       "state": "active_allocated" if live else "inactive", "frames": []})
        at += size
    used = sum(b["size"] for b in blocks if b["state"] != "inactive")
    return {"device": 0, "address": address, "total_size": at - address, "allocated_size": used,
            "active_size": used, "requested_size": used, "stream": 0, "segment_type": "large",
            "segment_pool_id": [0, 0], "is_expandable": False, "frames": [], "blocks": blocks, **more}


def event(action, address, size, **more):
    frames = [{"name": "forward", "filename": "model.py", "line": 7}]
    return {"action": action, "addr": address, "size": size, "stream": 0, "frames": frames, **more}


def write(name, segments, events=()):
    with open(name, "w") as file:
        json.dump({"segments": segments, "device_traces": [list(events)]}, file, indent=1)
        file.write("\n")


write("free.json", [
    segment(0x7F0000000000, [5, -80, 1, -14], is_expandable=True),
    segment(0x7F0100000000, [1, -4, 1, -2], is_expandable=True, segment_type="small"),
    segment(0x7F0200000000, [-40]),
    segment(0x7F0300000000, [-60, 1, -60]),
    segment(0x7F0400000000, [-30], segment_pool_id=[0, 1]),
    segment(0x7F0500000000, [10, -20], segment_pool_id=[2, 0]),
])
write("unlisted.json", [segment(0x7F0000000000, [5], total_size=20 * MIB)])

# What cannot be: a block of which more was asked for than it has, and sums that are not those of the blocks.
small, sums = segment(0x7F0000000000, [5, -14, 1]), segment(0x7F0100000000, [3, -16, 1])
small["blocks"][0]["requested_size"] = 1 << 40
sums["requested_size"] = 1 << 40
sums["blocks"][0]["state"] = "active_pending_free"
write("asked_too_much.json", [small, sums])
LIVE = [segment(0x7F0000000000, [5, -15])]
MOST = (1 << 63) - 1
write("beyond_range.json", LIVE, [
    event("alloc", 0x7F0000000000, 5 * MIB), event("alloc", 0x7F1000000000, MOST), event("alloc", 0x7F2000000000, MIB),
    event("segment_alloc", 0x7F1000000000, MOST), event("segment_free", 0x7F1000000000, MOST),
    event("free_completed", 0x7F1000000000, MOST), event("free_completed", 0x7F2000000000, MIB)])
write("holes.json", LIVE, [event("alloc", 0x7F0000000000, 5 * MIB), event("alloc", 0x7F0000A00000, 300 * MIB)])
write("free_beyond_range.json", LIVE, [
    event("alloc", 0x7F0000000000, 5 * MIB), event("oom", 0, 1 << 30, device_free=MOST)])
