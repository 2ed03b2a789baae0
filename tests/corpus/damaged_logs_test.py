#!/usr/bin/env python3
"""Damaged and malformed capture logs: what is whole is read, the rest is said; a file that is no log
ends with exit code 3.

usage: damaged_logs_test.py --memtool PATH --testdata testdata --replay PATH
"""
import argparse
import json
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path


def base(make):
    """Definitions that the cases use: attribute set 1 is of device memory, 2 of frees, 3 of handles."""
    chunk = make.Chunk(0)
    chunk.define(0x07, 1, 4711, make.text("main"))
    chunk.define(0x08, 1, 0, 0, 0, 1, make.text("device"))
    chunk.define(0x08, 2, 0, 0, 0, 0, make.text("free"))
    chunk.define(0x08, 3, 2, 4, 0, 1, make.text("vmm"))
    for number in (1, 2, 3):
        chunk.define(0x09, number, 1, number, 0, 0, 0, 0)
    chunk.compact(100, 1, 0x1000, 512, 0)
    return chunk


def log(make, chunk, events, sealed=True):
    body = chunk.bytes(0, sealed)
    return make.header(4096 + len(body), events, 0) + body


def cases(make):
    """-> name, bytes, exit status of info, code of a diagnostic (status 0) or a part of stderr."""
    def after(*records, events=2):
        chunk = base(make)
        for record in records:
            chunk.data += record
        return log(make, chunk, events)

    long = b"\x80" * 10 + b"\x01"  # a varint of 11 bytes
    rows = {
        "unknown_tag": b"\x7f", "never_written_tag": b"\x00", "event_2d": b"\x2d\x00\x00",
        "varint": b"\xa8" + long, "text_too_long": b"\x0a\x05" + make.varint(5000),
        "text_past_end": b"\x0a\x05\x40abc", "id_zero": make.record(0x07, 0, 1, make.text("x")),
        "id_twice": make.record(0x07, 1, 1, make.text("x")),
        "kind": make.record(0x08, 9, 0, 9, 0, 1, make.text("x")),
        "space": make.record(0x08, 9, 256, 0, 0, 1, make.text("x")),
        "device": make.record(0x08, 9, 0, 0, 0, 1 << 20, make.text("x")),
        "huge_size": b"\xbc\x00\x01\x00" + make.varint((1 << 62) + 1) + b"\x00",
        "frame_twice": make.record(0x03, 1, 0, 0) * 2,
        "stack_twice": make.record(0x06, 1, 0, 0) * 2,
        "map_cut": b"\x24\x00\x03\x01",
    }
    for name, record in rows.items():
        yield name, after(record), 0, "lost_records"
    far = make.varint((1 << 64) - 1)
    good = make.varint(1)
    fine = {
        "attributes_unknown": (b"\xbc\x01\x63" + make.zigzag(9) + good * 2, "lost_definitions"),
        "size_max": (b"\xbc\x01\x01" + make.zigzag(9) + make.varint(1 << 62) + b"\x00", None),
        "key_wraps": (b"\xe8\x01\x02" + far, "unknown_frees"),
        "time_wraps": (b"\xe8" + far + b"\x02" + make.zigzag(5), "unknown_frees"),
        "free_twice": ((b"\xe8\x01\x02\x00") * 2, "unknown_frees"),
        "release_of_nothing": (make.record(0x22, 1, 3, 77), "unknown_frees"),
        "unmap_everything": (make.record(0x25, 1, 3, 0, (1 << 64) - 1), None),
        "map_of_nothing": (make.record(0x24, 1, 3, 77, 1, 2, 3), None),
        "refused_unknown": (make.record(0x21, 1, 2, 9, 1), "refused_frees"),
        "refused_twice": (b"\xe8\x01\x02\x00" + make.record(0x21, 1, 2, 0x1000, 1) * 2,
                          "refused_frees"),
        "frame_of_itself": (make.record(0x03, 1, 1, 0) + make.record(0x06, 1, 1, 1), None),
        "python_of_itself": (make.record(0x05, 1, 1, 1, 1, 1), None),
        "address_reused": (b"\xbc\x01\x01\x00" + good + b"\x00", "reused_addresses"),
        "context_zero": (make.record(0x29, 1, 1, 0, 0), None),
        "oom_of_all": (make.record(0x20, 1, 1, 0, (1 << 64) - 1, 2, 0), None),
        "handle_twice": (b"\xbc\x01\x03\x00" + good + b"\x00" + b"\xb4\x01\x00" + good + b"\x00", None),
    }
    for name, (records, code) in fine.items():
        yield name, after(records, events=1 if name.endswith("of_itself") else 2), 0, code
    yield "empty", log(make, make.Chunk(0), 0), 0, None
    yield "open", log(make, base(make), 1, sealed=False), 0, None
    yield "more_promised", log(make, base(make), 9), 0, "lost_events"
    whole = log(make, base(make), 1)
    yield "header_cut", whole[:839], 3, "ends inside its header"
    yield "magic_only", whole[:8], 3, "ends inside its header"

    def patched(at, *values, form="<I"):
        data = bytearray(whole)
        struct.pack_into(form, data, at, *values)
        return bytes(data)
    yield "version", patched(8, 2), 3, "of version 2"
    yield "byte_order", patched(12, 0x04030201), 3, "byte order"
    yield "header_bytes", patched(16, 8192), 3, "sizes"
    yield "chunk_bytes", patched(20, 1 << 30), 3, "sizes"
    yield "committed_far", patched(24, 1 << 62, form="<Q"), 0, "truncated"
    yield "committed_0", patched(24, 0, form="<Q"), 0, "lost_events"
    yield "chunk_magic", patched(4096, 1), 0, "lost_chunk"
    yield "used", patched(4096 + 8, 1 << 31), 0, "lost_chunk"
    yield "crc", patched(4096 + 12, 1), 0, "lost_chunk"
    yield "cut", whole[:-3], 0, "truncated"


def check(memtool, path, status, want):
    done = subprocess.run([memtool, "info", "--format", "json", str(path)], capture_output=True,
                          text=True, timeout=20)
    if done.returncode != status:
        return f"exit {done.returncode}: {done.stderr}"
    if status:
        return None if want in done.stderr and not done.stdout else f"stderr {done.stderr!r}"
    notes = json.loads(done.stdout)["diagnostics"]
    codes = {row["code"] for row in notes}
    if want and want not in codes:
        return f"no {want} in {codes}"
    damaged = codes & {"lost_chunk", "lost_records", "truncated", "lost_events", "lost_definitions"}
    if damaged and want not in damaged or (damaged and not want):
        return f"unexpected {damaged}"
    strict = subprocess.run([memtool, "info", "--strict", str(path)], capture_output=True,
                            timeout=20)
    if strict.returncode != (4 if damaged else 0):
        return f"--strict: exit {strict.returncode}"
    for command in (["top", "--at", "peak"], ["top"], ["raw"], ["account"], ["traces"]):
        done = subprocess.run([memtool, *command, str(path)], capture_output=True, timeout=20)
        if done.returncode not in (0, 1, 3):
            return f"{command}: exit {done.returncode}: {done.stderr[:200]!r}"
    return None


def mutants(testdata, folder):
    """Bytes changed at random in the open chunk, which no checksum protects."""
    data = bytearray((testdata / "capture_log" / "small" / "log.mtcap").read_bytes())
    struct.pack_into("<2I", data, 4096 + 65536 + 8, 0, 0)
    chance = random.Random(5)
    for n in range(300):
        changed = bytearray(data)
        for _ in range(chance.randint(1, 4)):
            changed[chance.randrange(4096 + 65536 + 32, len(data))] = chance.randrange(256)
        path = folder / f"mutant{n}.mtcap"
        path.write_bytes(changed)
        yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--testdata", required=True, type=Path)
    parser.add_argument("--replay", required=True)
    args = parser.parse_args()
    sys.path.insert(0, str(args.testdata / "capture_log"))
    sys.dont_write_bytecode = True
    import generate
    failed = files = 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        paths = []
        for name, data, status, want in cases(generate):
            path = folder / f"{name}.mtcap"
            path.write_bytes(data)
            paths.append(path)
            files += 1
            if (why := check(args.memtool, path, status, want)) is not None:
                failed += 1
                print(f"{name}: {why}")
        paths += mutants(args.testdata, folder)
        done = subprocess.run([args.replay, "capture_log", *map(str, paths)], capture_output=True, text=True)
        if done.returncode:
            failed += 1
            print(f"replay: exit {done.returncode}: {done.stderr[-2000:]}")
    print(f"{files} files, {failed} failures")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
