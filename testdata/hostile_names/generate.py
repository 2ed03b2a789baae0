#!/usr/bin/env python3
"""Writes recordings whose names attack every sink: a snapshot, an MXNet log and a capture log.

The names are those of ../pprof/hostile/names.pb.gz that the format can hold. usage: generate.py"""
import importlib.util
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def load(path):
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem + "_of_" + path.parent.name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.path.pop(0)
    return module


NAMES = load(HERE.parent / "pprof" / "make_hostile.py").NAMES
TEXTS = [name for name in NAMES if isinstance(name, str)]
BASE = 0x7F0000000000
SLOT = 2 << 20


def at(k):
    return TEXTS[k % len(TEXTS)]


def snapshot():
    """Text k is allocated at event 2k with 1000 + k bytes; every third is freed at once."""
    trace, blocks = [], []
    for k, name in enumerate(TEXTS):
        frames = [{"name": name, "filename": at(k + 1), "line": k}, {"name": "root", "filename": "root.py", "line": 1}]
        more = {"stream": 0, "frames": frames, "compile_context": at(k + 2), "user_metadata": at(k + 3)}
        trace.append({"action": "alloc", "addr": BASE + k * SLOT, "size": 1000 + k, **more})
        if k % 3 == 0:
            trace.append({"action": "free_completed", "addr": BASE + k * SLOT, "size": 1000 + k, **more})
        live = k % 3 != 0
        blocks.append({"device": 0, "address": BASE + k * SLOT, "total_size": SLOT, "allocated_size": SLOT if live else 0,
                       "active_size": SLOT if live else 0, "requested_size": 1000 + k if live else 0, "stream": 0,
                       "segment_type": "large", "segment_pool_id": [0, 0], "is_expandable": False, "frames": frames,
                       "blocks": [{"address": BASE + k * SLOT, "size": SLOT, "requested_size": 1000 + k if live else 0,
                                   "state": "active_allocated" if live else "inactive", "frames": frames}]})
    for number, entry in enumerate(trace):
        entry["time_us"] = 1_000_000 + number
    marks = [{"stage": stage, "name": at(5 * k), "device": 0, "time_us": 1_000_000 + 9 * k + (stage == "END")}
             for k in range(8) for stage in ("START", "END")]
    return {"segments": blocks, "device_traces": [trace], "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": TEXTS[6]},
            "external_annotations": marks}


def log():
    """A line cannot hold another line."""
    lines = [name.encode() if isinstance(name, str) else name for name in NAMES]
    lines = [name for name in lines if b"\n" not in name and b"\r" not in name and b"\0" not in name]
    return b"".join(b"[mem] Allocate %d bytes GPU memory (in_arg:%s).\n" % (100_000 + k, name) for k, name in enumerate(lines))


def capture_log():
    """Name k, from 1, is a function that asks for 2000 + k bytes, in a file of the next name; every ninth a mark."""
    made = load(HERE.parent / "capture_log" / "generate.py")
    chunk = made.Chunk(1000)
    chunk.define(0x07, 1, 4711, made.text(TEXTS[8]))
    chunk.define(0x08, 1, 0, 0, 0, 1, made.text("device"))
    chunk.define(0x0A, 1, made.text(TEXTS[6]))
    chunk.define(0x09, 1, 1, 1, 0x77, 0, 0, 0)
    for k, name in enumerate(NAMES, 1):
        chunk.define(0x04, k, 0x30B, 10, made.text(name), made.text(NAMES[k % len(NAMES)]), made.text(made.LINES))
        chunk.define(0x05, k, 0, k, 0, 1)
        chunk.define(0x06, k, 0, k)
    time = 2000
    for k in range(1, len(NAMES) + 1):
        chunk.compact(time, 1, 0x7000000 + 0x10000 * k, 2000 + k, k)
        time += 1000
        if k % 9 == 0:
            chunk.event(0x2B, time, 1, made.zigzag(k), made.text(NAMES[k - 1]))
            time += 1000
    chunk.event(0x2F, time)
    body = chunk.bytes(0)
    return made.header(4096 + len(body), 0, 0) + body


def host_log():
    """A log without events, of a host whose name colours the terminal and turns text around."""
    made = load(HERE.parent / "capture_log" / "generate.py")
    chunk = made.Chunk(1000)
    chunk.event(0x2F, 2000)
    body = chunk.bytes(0)
    host = "\x1b[31mnode\n\u202e7".encode()
    return (made.header(4096 + len(body), 0, 0) + body).replace(b"host1".ljust(64, b"\0"), host.ljust(64, b"\0"))


def main():
    (HERE / "snapshot.json").write_text(json.dumps(snapshot(), indent=0) + "\n")
    (HERE / "mxnet.log").write_bytes(log())
    (HERE / "log.mtcap").write_bytes(capture_log())
    (HERE / "host.mtcap").write_bytes(host_log())


if __name__ == "__main__":
    main()
