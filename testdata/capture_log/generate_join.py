#!/usr/bin/env python3
"""Writes join/: a log of the driver's calls and a snapshot of PyTorch's allocator of the same made-up process.
README.md says what is in them."""
import pickle
from pathlib import Path

from generate import START, Chunk, header, text

MIB = 1 << 20
MS = 1_000_000
SEGMENT, NCCL, BLAS, OWN, LATE = 0x7F0000000000, 0x7F0002000000, 0x7F0003000000, 0x7F0004000000, 0x7F0005000000
GROWING = 0x7E0000000000  # addresses of an expandable segment


def log():
    c = Chunk(0)
    libraries = ["bin/python3.11", "lib/libc10_cuda.so", "lib/libnccl.so.2", "lib/libcublas.so.12", "lib/libown.so"]
    for number, path in enumerate(libraries, 1):
        c.define(0x01, number, number << 20, 1 << 16, 0, number << 20, text(f"/nonexistent/{path}"),
                 text(bytes([number])))
        c.frame(number, 0 if number == 1 else 1, (number << 20) + 0x10)
    c.define(0x04, 1, 0x30B, 10, text("Trainer.setup"), text("train.py"), text(b"\x80\x00"))
    c.define(0x05, 1, 0, 1, 1, 1)
    for stack in range(2, 6):
        c.define(0x06, stack, stack, 1)
    c.define(0x07, 1, 4711, text("main"))
    c.define(0x08, 1, 0, 0, 0, 1, text("device"))
    c.define(0x08, 2, 1, 2, 0, 0, text("pinned"))
    c.define(0x08, 3, 2, 4, 0, 1, text("vmm"))
    c.define(0x08, 4, 0, 0, 0, 0, text("free"))
    for number in range(1, 5):
        c.define(0x09, number, 1, number, 0x77, 0, 0, 0)
    c.compact(1 * MS, 1, SEGMENT, 20 * MIB, 2)
    c.compact(2 * MS, 1, NCCL, 4 * MIB, 3)
    c.compact(3 * MS, 1, BLAS, 8 * MIB, 4)
    c.compact(4 * MS, 1, OWN, 1 * MIB, 5)
    c.compact(5 * MS, 3, 0x101, 2 * MIB, 2)
    c.event(0x24, 5 * MS + 1, 3, 0x101, GROWING, 2 * MIB, 0)
    c.compact(6 * MS, 3, 0x102, 2 * MIB, 2)
    c.event(0x24, 6 * MS + 1, 3, 0x102, GROWING + 2 * MIB, 2 * MIB, 0)
    c.compact(7 * MS, 3, 0x103, 2 * MIB, 5)
    c.event(0x24, 7 * MS + 1, 3, 0x103, 0x7D0000000000, 2 * MIB, 0)
    c.compact(8 * MS, 2, 0x9000000, 3 * MIB, 5)
    c.compact(20 * MS, 1, LATE, 2 * MIB, 2)
    c.compact(21 * MS, 4, NCCL)
    c.compact(22 * MS, 4, SEGMENT)
    c.event(0x2F, 23 * MS)
    data = c.bytes(0)
    return header(4096 + len(data), 11, 0) + data


def block(address, size, state="active_allocated"):
    frames = [{"filename": "model.py", "name": "forward", "line": 5}]
    return {"address": address, "size": size, "requested_size": size, "state": state, "frames": frames}


def segment(address, size, blocks, expandable=False):
    live = sum(b["size"] for b in blocks if b["state"] == "active_allocated")
    return {"device": 0, "address": address, "total_size": size, "allocated_size": live, "active_size": live,
            "requested_size": live, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
            "is_expandable": expandable, "frames": [], "blocks": blocks}


def snapshot():
    def event(action, address, size, time):
        return {"action": action, "addr": address, "size": size, "stream": 0, "frames": [],
                "time_us": START // 1000 + time}
    free = block(SEGMENT + 16 * MIB, 4 * MIB, "inactive")
    segments = [
        segment(SEGMENT, 20 * MIB, [block(SEGMENT, 16 * MIB), free]),
        segment(GROWING, 4 * MIB, [block(GROWING, 4 * MIB)], expandable=True),
        segment(0x7C0000000000, 2 * MIB, [block(0x7C0000000000, 2 * MIB)]),  # from before the log
    ]
    trace = [event("segment_alloc", SEGMENT, 20 * MIB, 1010), event("alloc", SEGMENT, 16 * MIB, 1020),
             event("segment_map", GROWING, 2 * MIB, 5010), event("segment_map", GROWING + 2 * MIB, 2 * MIB, 6010),
             event("alloc", GROWING, 4 * MIB, 10000)]
    return {"segments": segments, "device_traces": [trace], "allocator_settings": {}}


if __name__ == "__main__":
    folder = Path(__file__).parent / "join"
    folder.mkdir(exist_ok=True)
    (folder / "log.mtcap").write_bytes(log())
    (folder / "snapshot.pickle").write_bytes(pickle.dumps(snapshot(), protocol=4))
