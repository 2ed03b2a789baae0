#!/usr/bin/env python3
"""Writes snapshots (JSON form) with what producers write since 2026. usage: generate.py, in this folder"""
import json

MIB = 1 << 20
BASE = 0x7F0000000000
CUDA = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "expandable_segments": False}


def frames(name, file, line):
    return [{"name": name, "filename": file, "line": line}]


def event(action, at, size, stack=(), **more):
    return {"action": action, "addr": BASE + at * MIB, "size": size * MIB, "stream": 0,
            "frames": list(stack), **more}


def segment(blocks, **more):
    """`blocks`: (MiB, state, frames), one after the other."""
    listed, at = [], BASE
    for size, state, stack in blocks:
        used = state != "inactive"
        listed.append({"address": at, "size": size * MIB, "requested_size": size * MIB if used else 0,
                       "state": state, "frames": list(stack)})
        at += size * MIB
    active = sum(b["size"] for b in listed if b["state"] != "inactive")
    live = sum(b["size"] for b in listed if b["state"] == "active_allocated")
    return {"device": 0, "address": BASE, "total_size": at - BASE, "allocated_size": live,
            "active_size": active, "requested_size": active, "stream": 0, "segment_type": "large",
            "segment_pool_id": [0, 0], "is_expandable": False, "frames": [], "blocks": listed, **more}


def write(name, segments, traces, **more):
    for trace in traces:
        for number, entry in enumerate(trace):
            entry["time_us"] = 1_000_000 + number
    with open(name, "w") as file:
        json.dump({"segments": segments, "device_traces": traces, **more}, file, indent=1)
        file.write("\n")


MAIN = frames("main", "train.py", 10)
FORWARD = frames("forward", "model.py", 20)
LOSS = frames("loss", "model.py", 31)

# What a program says of its tensors, and of its allocations.
write("annotated.json", [segment([(4, "active_allocated", MAIN), (2, "active_allocated", LOSS), (14, "inactive", ())])],
      [[event("segment_alloc", 0, 20),
        event("alloc", 0, 4, MAIN, user_metadata='{"layer":"fc1","step":3,"frozen":false}'),
        event("annotate", 0, 0, MAIN, user_metadata="weight"),
        event("alloc", 4, 2, FORWARD, user_metadata=""),
        event("annotate", 4, 0, FORWARD, user_metadata="saved for backward"),
        event("annotate", 4, 0, LOSS, user_metadata="relu"),
        event("alloc", 6, 1, FORWARD, user_metadata="{not JSON", internal_metadata="prefix block"),
        event("free_requested", 6, 1, internal_metadata="prefix block"),
        event("free_completed", 6, 1, internal_metadata="prefix block"),
        event("free_requested", 4, 2),
        event("free_completed", 4, 2),
        event("alloc", 4, 2, LOSS)]],
      allocator_settings=CUDA, external_annotations=[])

# skip_actions=["free_completed"]: 3 of 9 MiB wait for a stream at the end.
write("requests.json", [segment([(4, "active_allocated", MAIN), (3, "active_pending_free", LOSS), (13, "inactive", ())])],
      [[event("segment_alloc", 0, 20),
        event("alloc", 0, 4, MAIN),
        event("alloc", 4, 2, FORWARD),
        event("free_requested", 4, 2),
        event("alloc", 4, 3, FORWARD),
        event("free_requested", 4, 3),
        event("alloc", 4, 3, LOSS),
        event("free_requested", 4, 3)]],
      allocator_settings=CUDA)

# Allocators of other devices: the settings tell.
SMALL = [segment([(4, "active_allocated", MAIN), (16, "inactive", ())])]
ONE = [event("segment_alloc", 0, 20), event("alloc", 0, 4, MAIN),
       {"action": "oom", "device_free": 8 * MIB, "size": 20 * MIB, "stream": 0, "frames": LOSS}]
write("xpu.json", SMALL, [ONE],
      allocator_settings={"PYTORCH_ALLOC_CONF": "", "expandable_segments": False})
write("npu.json", SMALL, [ONE],
      allocator_settings={"PYTORCH_NPU_ALLOC_CONF": "", "max_split_size": -1, "expandable_segments": False})

# Others are told by the code that allocates, or by settings that name their device.
write("npu_old.json", [segment([(8, "active_allocated", frames("empty_cache", "site-packages/torch_npu/npu/memory.py", 5))])],
      [[event("alloc", 0, 8, frames("empty_cache", "site-packages/torch_npu/npu/memory.py", 5))]])
write("npu_as_cuda.json", [segment([(8, "active_allocated", frames("c10_npu::NPUCachingAllocator::malloc(int)", "??", 0))])],
      [[event("alloc", 0, 8, frames("c10_npu::NPUCachingAllocator::malloc(int)", "??", 0))]], allocator_settings=CUDA)
write("supa.json", SMALL, [ONE],
      allocator_settings={"max_split_size": -1, "pinned_use_supa_host_register": False, "release_lock_on_supamalloc": False})


# Pinned host memory of no device; and two settings that should not be on together.
write("host.json", SMALL, [ONE],
      host_segments=[segment([(2, "active_allocated", FORWARD)], device=-1)], host_traces=[[]],
      allocator_settings={**CUDA, "max_split_size": 67108864, "expandable_segments": True})
