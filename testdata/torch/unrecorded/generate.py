#!/usr/bin/env python3
"""Writes snapshots (JSON form) of processes that recorded little or nothing. usage: generate.py, in this folder"""
import json

MIB = 1 << 20


def frames(*stack):
    return [{"name": name, "filename": file, "line": line} for name, file, line in stack]


def segment(device, at, blocks):
    """`blocks`: (MiB, state, frames), one after the other."""
    base = 0x7F0000000000 + at * MIB
    listed, address = [], base
    for size, state, stack in blocks:
        used = state != "inactive"
        listed.append({"address": address, "size": size * MIB, "requested_size": size * MIB if used else 0,
                       "state": state, "frames": stack})
        address += size * MIB
    live = sum(block["size"] for block in listed if block["state"] != "inactive")
    return {"device": device, "address": base, "total_size": address - base, "allocated_size": live,
            "active_size": live, "requested_size": live, "stream": 0, "segment_type": "large",
            "segment_pool_id": [0, 0], "is_expandable": False, "frames": [], "blocks": listed}


def write(name, segments, traces, **more):
    with open(name, "w") as file:
        json.dump({"segments": segments, "device_traces": traces, **more}, file, indent=1)
        file.write("\n")


def conf(name):
    return {"allocator_settings": {f"PYTORCH_{name}_ALLOC_CONF": "", "max_split_size": -1, "expandable_segments": False}}


LIVE, FREE = "active_allocated", "inactive"
PLAIN = [segment(0, 0, [(24, LIVE, []), (8, FREE, [])]), segment(1, 100, [(20, LIVE, [])])]
write("nothing.json", PLAIN, [[], []], **conf("CUDA"))
write("nothing_npu.json", PLAIN[:1], [[]], **conf("NPU"))

LOAD = frames(("load", "weights.py", 7), ("main", "serve.py", 30))
CACHE = frames(("grow", "cache.py", 41), ("main", "serve.py", 33))
BLOCKS = [segment(0, 0, [(40, LIVE, LOAD), (12, LIVE, LOAD), (4, LIVE, CACHE), (8, FREE, [])])]
# What torch.cuda.memory._record_memory_history(True) kept before there was max_entries: the newest event.
write("ring_of_one.json", BLOCKS, [[{"action": "free_completed", "addr": 0x7F0000000000 + 56 * MIB, "size": 8 * MIB,
                                     "stream": 0, "frames": CACHE}]], **conf("CUDA"))
# Stacks without a ring.
write("stacks_only.json", BLOCKS, [[]], **conf("CUDA"))
# Twenty segments alike.
write("alike.json", [segment(0, 32 * i, [(20, LIVE, LOAD)]) for i in range(20)] +
      [segment(0, 32 * 20, [(4, LIVE, CACHE), (16, FREE, [])])], [[]], **conf("CUDA"))
