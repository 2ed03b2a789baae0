#!/usr/bin/env python3
"""Writes a large PyTorch-like memory snapshot: the shape of real ones, the same bytes on every run.

usage: gen_snapshot.py EVENTS OUT [--form py|native|json] [--seed S]

As in real files, each captured stack is a list of its own, its frames are shared dicts, and a list is
shared only between an allocation, its free pair and the block that lives on.
"""
import argparse
import json
import pickle
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "testdata" / "torch"))

STACKS, DEPTH, FRAMES, LIVE = 240, (25, 60), 650, 1200  # as seen in real files


def make(events, seed):
    rng = random.Random(seed)
    frames = [{"name": f"op{i % 97}", "filename": f"/app/{'model' if i % 3 else 'torch/nn'}/mod{i % 40}.py", "line": i}
              for i in range(FRAMES)]
    stacks = [rng.sample(frames, rng.randint(*DEPTH)) for _ in range(STACKS)]
    trace, live, free, now, top = [], [], [], 1_700_000_000_000_000, 0x7F00_0000_0000

    def event(action, addr, size, stack):
        nonlocal now
        now += rng.randint(1, 40)
        trace.append({"action": action, "addr": addr, "size": size, "stream": 0, "time_us": now,
                      "compile_context": "N/A", "user_metadata": "", "frames": stack})

    while len(trace) < events:
        if len(live) < LIVE and (rng.random() < 0.55 or not live):
            if free:
                addr = free.pop()
            else:
                addr, top = top, top + (1 << 21)
            stack = list(rng.choice(stacks))  # a fresh list, as the recorder makes it
            size = rng.choice((512, 4096, 65536, 1 << 20)) + rng.randrange(100)
            event("alloc", addr, size, stack)
            live.append((addr, size, stack))
        else:
            addr, size, stack = live.pop(rng.randrange(len(live)))
            event("free_requested", addr, size, stack)
            event("free_completed", addr, size, stack)
            free.append(addr)
    blocks = [{"address": a, "size": 1 << 21, "requested_size": s, "state": "active_allocated", "frames": f}
              for a, s, f in sorted(live, key=lambda item: item[0])]
    segments = [{"device": 0, "address": b["address"], "total_size": 1 << 21, "allocated_size": 1 << 21,
                 "active_size": 1 << 21, "requested_size": b["requested_size"], "stream": 0,
                 "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
                 "blocks": [b]} for b in blocks]
    return {"segments": segments, "device_traces": [trace], "allocator_settings": {}, "external_annotations": []}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("events", type=int)
    parser.add_argument("out")
    parser.add_argument("--form", choices=("py", "native", "json"), default="py",
                        help="a pickle by Python (default), a pickle by PyTorch's own writer, or JSON")
    parser.add_argument("--seed", type=int, default=20240607)
    args = parser.parse_args()
    snapshot = make(args.events, args.seed)
    with open(args.out, "wb") as out:
        if args.form == "py":
            pickle.dump(snapshot, out, protocol=4)
        elif args.form == "json":
            out.write(json.dumps(snapshot).encode())
        else:
            from make_snapshots import native_pickle
            out.write(native_pickle(snapshot))


if __name__ == "__main__":
    main()
