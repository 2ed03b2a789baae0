#!/usr/bin/env python3
"""A big profile in the form of a JAX device memory profile, for timing.

usage: gen_pprof.py N OUT [--seed S] [--changed F] [--raw]

N samples over a call tree: 10 to 60 frames deep, few thousand functions, eight
devices, sizes from scalars to hundreds of MB. Same arguments, same bytes. With
--changed, that fraction of the samples is gone, grown or moved to another stack:
the second half of a diff.
"""
import argparse
import gzip
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "testdata" / "pprof"))
sys.dont_write_bytecode = True
from wire import bytes_field, int_field, varint  # noqa: E402

FOLDERS = ["jax/_src", "jax/_src/interpreters", "jax/_src/numpy", "flax/core", "flax/linen/module",
           "optax/transforms", "orbax/checkpoint", "project/models", "project/data", "project/train"]
FIRST = ["apply", "bind", "call", "compile", "dense", "device_put", "dot", "embed", "encode", "gather",
         "grad", "init", "lower", "mask", "norm", "pad", "project", "reduce", "scan", "shard", "slice",
         "softmax", "step", "transpose", "update", "vmap", "wrap"]
LAST = ["", "_array", "_attention", "_batch", "_block", "_body", "_cache", "_fn", "_head", "_impl",
        "_inner", "_layer", "_loss", "_mlp", "_params", "_state", "_tree", "_weights"]
SIZES = [4, 16, 256, 1024, 4096, 32768, 1 << 18, 1 << 20, 1 << 22, 1 << 25, 1 << 28]
WEIGHTS = [28, 20, 15, 11, 9, 7, 5, 3, 2, 1, 0.2]
DEVICES = 8


class Tree:
    """Call stacks as packed location ids, innermost first: a child is one id in
    front of its parent's bytes, so no stack is ever encoded twice."""

    def __init__(self, rng, functions, nodes):
        self.rng, self.functions = rng, functions
        self.locations, self.callees = {}, {}
        self.packed, self.depth, self.function = [varint(self.location(1, 1))], [1], [1]
        tips = [0]
        while len(self.packed) < nodes:
            # Mostly branch off anywhere, sometimes continue from a tip: few long common roots, many
            # leaves, as in real profiles.
            at = rng.randrange(len(self.packed)) if rng.random() < 0.7 else rng.choice(tips)
            goal = min(60, max(self.depth[at] + 1, round(rng.gauss(32, 10))))
            while self.depth[at] < goal and len(self.packed) < nodes:
                at = self.child(at)
            tips.append(at)
        self.leaves = [p for p, d in zip(self.packed, self.depth) if d >= 10]

    def location(self, function, line):
        return self.locations.setdefault((function, line), len(self.locations) + 1)

    def child(self, at):
        rng, caller = self.rng, self.function[at]
        if caller not in self.callees:
            self.callees[caller] = [(rng.randint(1, self.functions), rng.randint(1, 2000))
                                    for _ in range(rng.choice((1, 1, 2, 2, 3, 5, 9)))]
        choice = self.callees[caller]
        function, line = choice[int(len(choice) * rng.random() ** 2)]
        self.packed.append(varint(self.location(function, line)) + self.packed[at])
        self.depth.append(self.depth[at] + 1)
        self.function.append(function)
        return len(self.packed) - 1


def generate(n, seed=1, changed=0.0):
    """-> the profile's bytes, in JAX's order of fields."""
    rng, change = random.Random(seed), random.Random(seed + 1)
    strings = {}
    sid = lambda s: strings.setdefault(s, len(strings))
    sid("")
    out = [bytes_field(1, int_field(1, sid(t)) + int_field(2, sid(u)))
           for t, u in (("allocations", "count"), ("space", "bytes"))]
    label = lambda k, v: bytes_field(3, int_field(1, sid(k)) + int_field(2, sid(v)))
    executable, buffer = label("kind", "executable"), label("kind", "buffer")
    buffers = [buffer + label("device", f"cuda:{k}") for k in range(DEVICES)]

    functions = min(4000, 400 + n // 20)
    table = []
    for i in range(1, functions + 1):
        name = sid(rng.choice(FIRST) + rng.choice(LAST))
        file = sid(f"/usr/lib/python3/dist-packages/{rng.choice(FOLDERS)}/file{rng.randrange(150):03}.py")
        table.append(bytes_field(5, int_field(1, i) + int_field(2, name) + int_field(3, name)
                                 + int_field(4, file) + int_field(5, rng.randint(1, 2000))))
    tree = Tree(rng, functions, max(200, min(n // 2, 400_000)))
    leaves, count_of = tree.leaves, len(tree.leaves)

    for size in rng.choices(SIZES, WEIGHTS, k=n):
        stack = leaves[int(count_of * rng.random())]
        size += 4 * rng.randrange(64)
        count = 1 + int(rng.expovariate(0.7))
        labels = executable if rng.random() < 0.04 else buffers[rng.randrange(DEVICES)]
        if changed and change.random() < changed:
            how = change.random()
            if how < 0.3:
                continue
            if how < 0.7:
                count += change.randint(1, 4)
            else:
                stack = leaves[change.randrange(count_of)]
        values = varint(count) + varint(size * count)
        body = b"\x0a" + varint(len(stack)) + stack + b"\x12" + varint(len(values)) + values + labels
        out.append(b"\x12" + varint(len(body)) + body)
    out += [bytes_field(4, int_field(1, i) + bytes_field(4, int_field(1, f) + int_field(2, line)))
            for (f, line), i in tree.locations.items()]
    out += table
    out += [bytes_field(6, s.encode()) for s in strings]
    return b"".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("n", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--changed", type=float, default=0.0)
    parser.add_argument("--raw", action="store_true", help="no gzip")
    args = parser.parse_args()
    data = generate(args.n, args.seed, args.changed)
    args.out.write_bytes(data if args.raw else gzip.compress(data, 6, mtime=0))


if __name__ == "__main__":
    main()
