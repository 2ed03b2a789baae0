#!/usr/bin/env python3
"""Writes the beginnings of files of other tools, as far as memtool looks. usage: generate.py, in this folder"""
import json
import marshal


def write(name, data):
    with open(name, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


write("report1.nsys-rep", b"NVIDIA Tegra Profiler Report 1.\x0a\x0bLocal (CLI)\x12\x04\x08\x01\x20\x03\x00\x01")
write("unknown.nsys-rep", bytes(range(200, 256)) * 4)
write("train.prof", marshal.dumps({("train.py", 12, "step"): (1, 1, 0.25, 1.5, {}), ("~", 0, "<built-in>"): (3, 3, 0.1, 0.1, {})}, 2))
write("jeprof.heap", "heap_v2/524288\n  t*: 28: 56637 [0: 0]\n  t0: 28: 56637 [0: 0]\n@ 0x7f8e6a 0x55d1c2\n  t*: 1: 4096 [0: 0]\n")
write("worker.log", "\n2026-11-20 10:00:01 INFO compiling jit_train_step on /device:GPU:0\n"
                    "\x1b[32m2026-11-20 10:00:09 INFO done\x1b[0m\n")
write("op_stats.json", json.dumps([{"cols": [{"id": "rank", "label": "Rank", "type": "number"}], "rows": []}]))
