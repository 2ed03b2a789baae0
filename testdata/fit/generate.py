#!/usr/bin/env python3
"""Writes recordings of one small training program at several context lengths, with sizes that grow by
known laws, run through the allocator of ../whatif/generate.py, which is no part of memtool.

usage: generate.py FOLDER

train_X.json: two steps at length X, from the first allocation. late_X.json: the second step alone.
branch_X.json: from length 512 on another code path. odd_X.json: sizes that grow by no law.
scratch_X.json: from length 512 on a reduction takes scratch.
expected.tsv: per file, the peaks of what was requested and of what was reserved.
The same bytes on every run.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "whatif"))
from generate import MIB, Allocator, frame  # noqa: E402

LAYERS = 3
WIDTH = 768
VOCABULARY = 20000
HEADS = 12


class Train:
    """A transformer's memory, x the context length; 4 bytes per element."""

    def __init__(self, x, branch=False, odd=False, scratch=False):
        self.x, self.branch, self.odd, self.scratch = x, branch, odd, scratch
        self.allocator = Allocator(seed=3)
        self.live, self.live_peak, self.reserved_peak = 0, 0, 0

    def take(self, size, function, line, *outer):
        frames = [frame(function, line)] + [frame(name, at) for name, at in outer] + [frame("main", 3)]
        block = self.allocator.malloc(max(int(size), 1), 0, (0, 0), frames)
        self.live += block.requested
        self.live_peak = max(self.live_peak, self.live)
        self.reserved_peak = max(self.reserved_peak, self.allocator.reserved)
        return block

    def give(self, block):
        self.live -= block.requested
        self.allocator.free(block, [])

    def setup(self):
        self.weights = [self.take(4 * VOCABULARY * WIDTH, "embedding", 11, ("build", 8))]
        for _ in range(LAYERS):
            self.weights.append(self.take(4 * 12 * WIDTH * WIDTH, "linear", 14, ("build", 9)))
        self.moments = []

    def layer(self):
        x, kept = self.x, []
        call = ("forward", 30)
        kept.append(self.take(4 * x * WIDTH, "norm", 21, call))
        queries = self.take(4 * 3 * x * WIDTH, "project", 22, call)
        scores = self.take(4 * HEADS * x * x, "softmax", 24, call)
        work = self.take(8 * MIB + 512, "matmul", 25, call)
        kept.append(self.take(4 * x * WIDTH, "attend", 26, call))
        self.give(work)
        kept += [queries, scores]
        if self.branch and x >= 512:
            self.give(self.take(4 * 7 * x * WIDTH, "blockwise", 28, call))
            self.give(self.take(4 * x * WIDTH, "blockwise", 29, call))
        if self.odd:
            kept.append(self.take(4 * WIDTH * x ** 1.5, "route", 33, call))
        kept.append(self.take(4 * 4 * x * WIDTH, "mlp", 35, call))
        return kept

    def step(self):
        layers = [self.layer() for _ in range(LAYERS)]
        loss = self.take(4 * self.x * VOCABULARY, "loss", 41)
        if self.scratch and self.x >= 512:
            self.give(self.take(3 * MIB, "mean", 43))
        grads = []
        for kept in reversed(layers):
            down = self.take(4 * self.x * WIDTH, "backward", 51)
            grads.append(self.take(4 * 12 * WIDTH * WIDTH, "grad", 52, ("backward", 53)))
            for block in reversed(kept):
                self.give(block)
            self.give(down)
        self.give(loss)
        if not self.moments:
            for weight in self.weights:
                self.moments.append(self.take(weight.requested, "optimizer", 61))
        for grad in grads:
            self.give(grad)


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    expected = []
    for kind, lengths in (("train", (256, 512, 1024, 2048, 4096)), ("late", (256, 512, 1024)), ("branch", (256, 512)),
                          ("odd", (256, 1024)), ("scratch", (256, 512, 1024))):
        for x in lengths:
            program = Train(x, branch=kind == "branch", odd=kind == "odd", scratch=kind == "scratch")
            program.setup()
            program.step()
            if kind == "late":
                program.allocator.trace.clear()
                program.live_peak, program.reserved_peak = program.live, program.allocator.reserved
            program.step()
            data = {"segments": program.allocator.snapshot(), "device_traces": [program.allocator.trace],
                    "allocator_settings": program.allocator.settings(), "external_annotations": []}
            with open(os.path.join(folder, f"{kind}_{x}.json"), "w", encoding="utf-8") as out:
                json.dump(data, out, separators=(",", ":"))
                out.write("\n")
            expected.append(f"{kind}_{x}\t{program.live_peak}\t{program.reserved_peak}\n")
    with open(os.path.join(folder, "expected.tsv"), "w", encoding="utf-8") as out:
        out.writelines(expected)


if __name__ == "__main__":
    main()
