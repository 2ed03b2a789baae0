#!/usr/bin/env python3
"""Writes inputs of any size for load.py, in little memory: the same arguments, the same bytes.

usage: load_inputs.py pprof|snapshot|csv ROWS OUT [--seed S]
       load_inputs.py snapshots FILES OUT-FOLDER

pprof     samples in blocks of 500,000 over one call tree, each block under a caller of its own, so
          that the number of distinct stacks grows with the number of samples
snapshot  events as the native pickler writes them: a list per captured stack, shared by an
          allocation and its two frees
csv       rows of MXNet's storage profiler
snapshots files of 2,000 events each, of one job
"""
import argparse
import random
import struct
import sys
import zlib
from pathlib import Path

import gen_pprof
from gen_pprof import bytes_field, int_field, varint

CHUNK = 1 << 20


def write_in_chunks(out, pieces):
    held, size = [], 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= CHUNK:
            out.write(b"".join(held))
            held, size = [], 0
    out.write(b"".join(held))


# --- pprof ---

BLOCK = 500_000
ROOT_ID = 2_000_000                # the caller of block k has the location ROOT_ID + k
PLACEHOLDER = varint(2_097_151 - 1)  # as long as every varint(ROOT_ID + k), larger than any of them


def pprof_block(tree, rng, sid):
    label = lambda k, v: bytes_field(3, int_field(1, sid(k)) + int_field(2, sid(v)))
    buffers = [label("kind", "buffer") + label("device", f"cuda:{k}") for k in range(gen_pprof.DEVICES)]
    leaves = [stack[:-1] + PLACEHOLDER for stack in tree.leaves]  # every stack ends with the root
    out = []
    for size in rng.choices(gen_pprof.SIZES, gen_pprof.WEIGHTS, k=BLOCK):
        stack = leaves[int(len(leaves) * rng.random())]
        count = 1 + int(rng.expovariate(0.7))
        values = varint(count) + varint((size + 4 * rng.randrange(64)) * count)
        body = (b"\x0a" + varint(len(stack)) + stack + b"\x12" + varint(len(values)) + values
                + buffers[rng.randrange(gen_pprof.DEVICES)])
        out.append(b"\x12" + varint(len(body)) + body)
    return out


def pprof_pieces(rows, seed):
    rng, strings = random.Random(seed), {"": 0}
    sid = lambda text: strings.setdefault(text, len(strings))
    for kind, unit in (("allocations", "count"), ("space", "bytes")):
        yield bytes_field(1, int_field(1, sid(kind)) + int_field(2, sid(unit)))
    tree = gen_pprof.Tree(rng, 4000, 100_000)
    block = pprof_block(tree, rng, sid)
    whole = b"".join(block)
    blocks = -(-rows // BLOCK)
    for k in range(blocks):
        part = whole if rows >= (k + 1) * BLOCK else b"".join(block[:rows - k * BLOCK])
        yield part.replace(PLACEHOLDER, varint(ROOT_ID + k))
    functions = [(1, "start", "app/main.py")]
    functions += [(i, rng.choice(gen_pprof.FIRST) + rng.choice(gen_pprof.LAST),
                   f"app/{rng.choice(gen_pprof.FOLDERS)}/file{rng.randrange(150):03}.py") for i in range(2, 4001)]
    functions += [(4001 + k, f"phase_{k}", "app/main.py") for k in range(blocks)]
    for (function, line), i in tree.locations.items():
        yield bytes_field(4, int_field(1, i) + bytes_field(4, int_field(1, function) + int_field(2, line)))
    for k in range(blocks):
        yield bytes_field(4, int_field(1, ROOT_ID + k) + bytes_field(4, int_field(1, 4001 + k) + int_field(2, k + 1)))
    for i, name, file in functions:
        yield bytes_field(5, int_field(1, i) + int_field(2, sid(name)) + int_field(4, sid(file)))
    for text in strings:
        yield bytes_field(6, text.encode())


def gzipped(pieces):
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    for piece in pieces:
        yield packer.compress(piece)
    yield packer.flush()


# --- snapshots ---

KEYS = ("action", "addr", "size", "stream", "time_us", "frames", "alloc", "free_requested", "free_completed",
        "name", "filename", "line")
FRAMES, STACKS, DEPTH, LIVE = 650, 240, (25, 60), 1200  # as gen_snapshot.py has them


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def number(value):
    return b"J" + struct.pack("<i", value) if value < 1 << 31 else b"\x8a\x08" + struct.pack("<q", value)


def put(index):
    return b"q" + bytes([index]) if index < 256 else b"r" + struct.pack("<I", index)


def get(index):
    return b"h" + bytes([index]) if index < 256 else b"j" + struct.pack("<I", index)


def values(value):
    """A value without shared parts; bytes are written as they are."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bool):
        return b"\x88" if value else b"\x89"
    if isinstance(value, int):
        return number(value)
    if isinstance(value, tuple):
        return b"".join(map(values, value)) + b"\x86"
    if isinstance(value, list):
        return b"](" + b"".join(map(values, value)) + b"e"
    return b"}(" + b"".join(text(k) + values(v) for k, v in value.items()) + b"u"


def snapshot_pieces(events, seed):
    rng = random.Random(seed)
    memo = {key: i for i, key in enumerate(KEYS)}
    key = {k: get(i) for k, i in memo.items()}
    # What all events share stands first, in lists that no reader knows: each event is then made alike.
    yield b"\x80\x02}(" + text("shared") + b"](]("
    yield b"".join(text(k) + put(i) for k, i in memo.items()) + b"e]("
    first = len(memo)
    for i in range(FRAMES):
        yield (b"}(" + key["name"] + text(f"op{i % 97}") + key["filename"]
               + text(f"/app/{'model' if i % 3 else 'torch/nn'}/mod{i % 40}.py") + key["line"] + number(i) + b"u"
               + put(first + i))
    shape = random.Random(20240607)  # the stacks are the same in all files of a job
    stacks = [b"](" + b"".join(get(first + f) for f in shape.sample(range(FRAMES), shape.randint(*DEPTH))) + b"e"
              for _ in range(STACKS)]
    lists = first + FRAMES  # memo entries are counted on from here

    yield b"ee" + text("device_traces") + b"](]("
    live, free, top, now, written = [], [], 0x7F00_0000_0000, 1_700_000_000_000_000, 0
    head = {a: b"}(" + key["action"] + key[a] + key["addr"] + b"\x8a\x08" for a in KEYS[6:9]}
    between = key["size"] + b"J"
    middle = key["stream"] + b"K\x00" + key["time_us"] + b"\x8a\x08"
    end = key["frames"]
    pack = struct.Struct("<q").pack
    pack_size = struct.Struct("<i").pack
    rand = rng.random
    while written < events:
        if len(live) < LIVE and (not live or rand() < 0.55):
            if free:
                addr = free.pop()
            else:
                addr, top = top, top + (1 << 21)
            size = (512, 4096, 65536, 1 << 20)[int(rand() * 4)] + int(rand() * 100)
            now += 1 + int(rand() * 40)
            known = pack(addr) + between + pack_size(size) + middle
            yield b"".join((head["alloc"], known, pack(now), end, stacks[int(rand() * STACKS)], put(lists), b"u"))
            live.append((addr, size, known, get(lists)))
            lists += 1
            written += 1
        else:
            at = int(rand() * len(live))
            live[at], live[-1] = live[-1], live[at]
            addr, _, known, shared = live.pop()
            now += 2 + int(rand() * 40)
            yield b"".join((head["free_requested"], known, pack(now - 1), end, shared, b"u",
                            head["free_completed"], known, pack(now), end, shared, b"u"))
            free.append(addr)
            written += 2
    segments = [{"device": 0, "address": addr, "total_size": 1 << 21, "allocated_size": 1 << 21,
                 "active_size": 1 << 21, "requested_size": size, "stream": 0, "segment_type": "large",
                 "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
                 "blocks": [{"address": addr, "size": 1 << 21, "requested_size": size,
                             "state": "active_allocated", "frames": shared}]}
                for addr, size, _, shared in sorted(live)]
    yield (b"ee" + text("segments") + values(segments) + text("allocator_settings") + b"}(u"
           + text("external_annotations") + b"](eu.")


# --- MXNet's CSV ---

def csv_pieces(rows, seed):
    rng, block = random.Random(seed), 200_000
    kinds, ops = ("in_arg", "aux_state", "arg_grad", "temp_space", "optimizer_state"), ("fwd", "bwd", "bn")
    names = [f"resnet50_v1_stage{i % 4 + 1}_conv{i % 53}_{ops[i % 3]}:{kinds[i % 5]}:"
             f"{('weight', 'bias', f'data{i % 900}')[i % 3]}" for i in range(5000)]
    yield b'"Attribute Name","Requested Size","Device","Actual Size","Reuse?"\n'
    lines = []
    for i in range(min(rows, block)):
        requested = 1 + int(2 ** (rng.random() * 26))
        lines.append(f'"{names[int(rng.random() * 5000)]}","{requested}","{i & 1}",'
                     f'"{-(-requested // 4096) * 4096}","{int(i % 7 == 0)}"\n'.encode())
    whole = b"".join(lines)
    for _ in range(rows // block):
        yield whole
    yield b"".join(lines[:rows % block])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=("pprof", "snapshot", "csv", "snapshots"))
    parser.add_argument("rows", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.kind == "snapshots":
        args.out.mkdir()
        for i in range(args.rows):
            with open(args.out / f"rank{i:05}.pickle", "wb") as out:
                write_in_chunks(out, snapshot_pieces(2000, args.seed + i))
        return
    makers = {"pprof": lambda *a: gzipped(pprof_pieces(*a)), "snapshot": snapshot_pieces, "csv": csv_pieces}
    with open(args.out, "wb") as out:
        write_in_chunks(out, makers[args.kind](args.rows, args.seed))


if __name__ == "__main__":
    sys.exit(main())
