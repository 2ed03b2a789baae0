#!/usr/bin/env python3
"""A big MXNet storage profile (CSV) in the form that MXNet writes, for timing.

usage: make_mxnet.py ROWS OUT [--seed S]

Five thousand names over two devices, sizes from bytes to 64 MiB. Same arguments, same bytes.
"""
import argparse
import random
from pathlib import Path

KINDS = ["in_arg", "aux_state", "arg_grad", "temp_space", "optimizer_state"]
HEADER = '"Attribute Name","Requested Size","Device","Actual Size","Reuse?"\n'
NAMES = 5000
AT_ONCE = 50_000


def rows(count, seed):
    rng = random.Random(seed)
    names = [f"resnet_stage{i % 4 + 1}_conv{i % 53}_{('fwd', 'bwd', 'bn')[i % 3]}:{KINDS[i % 5]}:weight{i}"
             for i in range(NAMES)]
    for i in range(count):
        requested = 1 + int(2 ** (rng.random() * 26))
        actual = -(-requested // 4096) * 4096
        yield f'"{names[int(rng.random() * NAMES)]}","{requested}","{i & 1}","{actual}","{int(i % 7 == 0)}"\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=3)
    args = parser.parse_args()
    with args.out.open("w") as out:
        out.write(HEADER)
        block = []
        for row in rows(args.rows, args.seed):
            block.append(row)
            if len(block) == AT_ONCE:
                out.write("".join(block))
                block.clear()
        out.write("".join(block))


if __name__ == "__main__":
    main()
