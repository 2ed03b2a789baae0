"""A program with a caching allocator of its own, recorded by the shim while it writes the snapshot that PyTorch would:
`memtool account` must find every segment in the log and name the rest."""
import json
import pickle
import sys
from pathlib import Path

from harness import same

MIB = 1 << 20

PROGRAM = '''
import ctypes, json, pickle, time
cuda = ctypes.CDLL("libcuda.so.1")
pointer, size_t, offset = ctypes.c_ulonglong, ctypes.c_size_t, ctypes.c_ulonglong
MIB = 1 << 20
segments, trace, beside = [], [], 0

def check(status):
    assert status == 0, status

def alloc(size):
    out = pointer()
    check(cuda.cuMemAlloc_v2(ctypes.byref(out), size_t(size)))
    return out.value

def log(action, address, size):
    trace.append({"action": action, "addr": address, "size": size, "stream": 0, "frames": [],
                  "time_us": time.time_ns() // 1000})

def keep(address, size, live, expandable=False):
    blocks = [{"address": address, "size": live, "requested_size": live - 12, "state": "active_allocated", "frames": []},
              {"address": address + live, "size": size - live, "requested_size": 0, "state": "inactive", "frames": []}]
    segments.append({"device": 0, "address": address, "total_size": size, "allocated_size": live, "active_size": live,
                     "requested_size": live - 12, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
                     "is_expandable": expandable, "frames": [], "blocks": blocks})
    log("segment_alloc", address, size)
    log("alloc", address, live - 12)

def new_segment(size, live):
    keep(alloc(size), size, live)

def growing_segment(parts):
    base = pointer()
    check(cuda.cuMemAddressReserve(ctypes.byref(base), size_t(64 * MIB), size_t(0), pointer(0), offset(0)))
    properties = (ctypes.c_int * 16)(1, 0, 1, 0)  # pinned, on device 0
    for part in range(parts):
        handle = pointer()
        check(cuda.cuMemCreate(ctypes.byref(handle), size_t(2 * MIB), properties, offset(0)))
        check(cuda.cuMemMap(pointer(base.value + part * 2 * MIB), size_t(2 * MIB), size_t(0), handle, offset(0)))
    keep(base.value, parts * 2 * MIB, MIB, expandable=True)

def communicator():
    global beside
    alloc(3 * MIB)
    beside += 3 * MIB

def own_table():
    global beside
    alloc(5 * MIB + 512)
    beside += 5 * MIB + 512

def main():
    context = ctypes.c_void_p()
    check(cuda.cuInit(0))
    check(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
    new_segment(20 * MIB, 7 * MIB)
    communicator()
    growing_segment(3)
    own_table()
    gone = alloc(9 * MIB)
    check(cuda.cuMemFree_v2(pointer(gone)))
    new_segment(2 * MIB, 512)
    with open("snapshot.pickle", "wb") as file:
        pickle.dump({"segments": segments, "device_traces": [trace], "allocator_settings": {}}, file)
    with open("beside.json", "w") as file:
        json.dump(beside, file)
    time.sleep(0.05)
    alloc(11 * MIB)  # after the snapshot: not beside it

main()
'''


def test_join(env):
    (env.folder / "libcuda.so.1").symlink_to(env.programs / "driver" / "libcuda.so.1")
    script = env.folder / "program.py"
    script.write_text(PROGRAM)
    env.run("/usr/bin/python3" if Path("/usr/bin/python3").exists() else sys.executable, script)
    snapshot = env.folder / "snapshot.pickle"
    report = json.loads(env.ask("account", "--format", "json", env.log(), snapshot))
    steps = {row["step"]: row["bytes"] for row in report["rows"]}
    segments = pickle.loads(snapshot.read_bytes())["segments"]
    same(sum(each["total_size"] for each in segments), steps["reserved"], "reserved")
    same(json.loads((env.folder / "beside.json").read_text()), steps["recorded"], "beside the framework")
    same(sum(size for step, size in steps.items() if step.startswith("bucket:") and size is not None),
         steps["recorded"] + steps["requested"], "buckets of both")
    joined = [each["message"] for each in report["diagnostics"] if each["code"] == "joined"]
    same(1, len(joined), "one note")
    assert "not in the log" not in joined[0], joined
    # Only what lives outside the allocator is named, by the program's own functions.
    rows = json.loads(env.ask("top", "--format", "json", env.log(), snapshot))["rows"]
    below = {row["name"]: row["cum"] for row in rows}
    same((3 * MIB, 5 * MIB + 512), (below.get("communicator"), below.get("own_table")), "functions")
    assert not below.get("new_segment") and not below.get("growing_segment"), below
