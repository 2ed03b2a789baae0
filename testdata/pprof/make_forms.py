#!/usr/bin/env python3
"""Writes forms/: one rich profile in many legal encodings.

A reader that understands the format must give the same answer for all.
"""
import shutil
import subprocess
import zlib
from pathlib import Path

import wire

OUT = Path(__file__).resolve().parent / "forms"

PROFILE = {
    "types": [("allocations", "count"), ("requested", "bytes"), ("space", "bytes")],
    # Not the last one, which is what readers take without the field.
    "default": "requested",
    "mappings": [
        (1, 0x400000, 0x480000, 0, "/opt/train/bin/train", "9f2c41d0aa", (1, 1, 1, 1)),
        (2, 0x7f0000000000, 0x7f0000200000, 0x1000, "/usr/lib/libruntime.so.3", "00ff17", (1, 0, 0, 0)),
    ],
    "functions": [
        (1, "main", "main", "/src/train/main.cc", 10),
        (2, "train::Step(int)", "_ZN5train4StepEi", "/src/train/step.cc", 40),
        (3, "load", "load", "/src/train/loader.cc", 7),
        (4, "load", "load", "/src/weights/loader.cc", 19),      # same name, other file
        (5, "AlignedAlloc", "AlignedAlloc", "/src/base/alloc.h", 3),
        (6, "visit", "visit", "/src/train/tree.cc", 100),
        (7, "Größe", "Größe", "/src/train/größe.cc", 1),
        (8, "nameless file", "nameless file", "", 0),
    ],
    "locations": [
        (1, 1, 0x400010, [(1, 14)]),
        (2, 1, 0x400120, [(2, 44)]),
        (3, 1, 0x400200, [(5, 5), (3, 9), (2, 47)]),            # inlined, innermost first
        (4, 1, 0x400310, [(4, 23)]),
        (5, 1, 0x400400, [(6, 104)]),
        (6, 1, 0x400410, [(6, 108)]),
        (7, 2, 0x7f0000000abc, []),                             # address only
        (8, 0, 0, [(7, 2)]),
        (9, 1, 0x400520, [(8, 0)]),
    ],
    "samples": [
        ((3, 1), [3, 300, 384], [("device", "cuda:0"), ("kind", "buffer")]),
        ((4, 2, 1), [10, 40960, 40960], [("device", "cuda:1"), ("kind", "buffer")]),
        ((4, 2, 1), [1, 8, 512], [("device", "cuda:0"), ("kind", "buffer"), ("bytes", 8, "bytes")]),
        ((5, 6, 5, 6, 5, 1), [7, 7000, 7168], [("depth", 5, "")]),  # recursion, label without unit
        ((7, 2, 1), [2, 1 << 33, 1 << 33], []),
        ((), [1, 77, 128], [("kind", "no stack")]),
        ((8, 1), [-4, -4096, -4096], [("kind", "buffer"), ("latency", -5, "milliseconds")]),
        ((9, 1), [1, 0, 512], [("device", "cuda:0"), ("device", "cuda:1")]),
        ((2, 1), [0, 0, 0], []),
    ],
    "comments": ["made by hand", "second comment", "drittens"],
    "period_type": ("space", "bytes"),
    "period": 524288,
    "time": 1_700_000_000_123_456_789,
    "duration": 2_500_000_000,
}


def main():
    if OUT.exists():
        for old in OUT.glob("*.pb*"):
            old.unlink()
    write = lambda name, data: wire.save(OUT / name, data)
    style = wire.Style
    packed = wire.encode(PROFILE)
    write("packed.pb", packed)
    write("unpacked.pb", wire.encode(PROFILE, style("unpacked")))
    write("mixed_split_packed.pb", wire.encode(PROFILE, style("split")))
    # Ids are 64 bits wide and say nothing about how many there are.
    write("sparse_ids.pb", wire.encode(PROFILE, style(
        location_id=lambda i: (1 << 64) - i * i * 1_000_003,
        function_id=lambda i: (1 << 40) + i * 65_537,
        mapping_id=lambda i: (1 << 63) + i)))
    # Strings first and samples last, as a writer that knows all in advance.
    write("reversed_order.pb", wire.encode(PROFILE, style(
        order=[6, 14, 13, 12, 11, 10, 9, 8, 7, 5, 4, 3, 1, 2], backwards=True)))
    # The other extreme: nothing about a sample is known when it comes by.
    write("types_last.pb", wire.encode(PROFILE, style(
        order=[2, 4, 3, 5, 13, 14, 12, 11, 10, 9, 8, 7, 6, 1])))
    write("unknown_fields.pb", wire.encode(PROFILE, style(unknown=True)))
    write("nonminimal_varints.pb", wire.encode(PROFILE, style(pad=3)))

    write("packed.pb.gz", wire.gz(packed))
    cut = len(packed) // 3  # in the middle of a message, so members cannot be read one by one
    write("two_members.pb.gz", wire.gz(packed[:cut]) + wire.gz(packed[cut:]))
    write("gzip_in_gzip.pb.gz", wire.gz(wire.gz(packed)))
    write("packed.pb.zz", zlib.compress(packed, 9))
    if shutil.which("zstd"):
        done = subprocess.run(["zstd", "-q", "-19", "-c"], input=packed, stdout=subprocess.PIPE, check=True)
        write("packed.pb.zst", done.stdout)
    else:
        print("packed.pb.zst not written: no zstd program")


if __name__ == "__main__":
    main()
