#!/usr/bin/env python3
"""Writes recordings of a small training program, step after step, run through the allocator of
../whatif/allocator.py, which is no part of memtool.

usage: generate.py FOLDER [--steps N]

base.json: the program, with marks. plain.json: the same without marks. new.json: after a change: a
wider MLP, one more buffer in each layer, no loss scaling, a list that grows; lines have moved.
micro.json: gradients over three batches, a random extra allocation now and then, no marks.
fused.json: an optimizer that allocates in its first step only, no marks. other.json: another program.
expected.json: per file how many steps there are, and of each its peak.
The same bytes on every run.
"""

import argparse
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "whatif"))
from generate import MIB, Allocator  # noqa: E402

LAYERS = 4
TORCH = "/usr/lib/python3.11/site-packages/torch/"
MODULE = TORCH + "nn/modules/module.py"


class Train:
    def __init__(self, new=False, batches=1, noise=0.0, fused=False, moved=0):
        self.new, self.batches, self.noise, self.fused, self.moved = new, batches, noise, fused, moved
        self.allocator = Allocator(seed=5)
        self.random = random.Random(11)
        self.live, self.peak, self.peaks, self.marks, self.history = 0, 0, [], [], []

    def python(self, *frames):
        return [{"name": name, "filename": file, "line": line + self.moved} for name, line, file in frames]

    def take(self, size, frames):
        block = self.allocator.malloc(max(int(size), 1), 0, (0, 0), frames)
        self.live += block.requested
        self.peak = max(self.peak, self.live)
        if self.noise and self.random.random() < self.noise:
            self.give(self.take(512, self.python(("log", 70, "train.py"), ("main", 3, "train.py"))))
        return block

    def give(self, block):
        self.live -= block.requested
        self.allocator.free(block, [])

    def forward(self, name, line):
        return self.python((name, line, "model.py"), ("forward", 30, "model.py"), ("_call_impl", 1750, MODULE),
                           ("train_step", 12, "train.py"), ("main", 3, "train.py"))

    @staticmethod
    def backward(operation):
        return [{"name": f"torch::autograd::generated::{operation}Backward0::apply(std::vector<at::Tensor>&&)",
                 "filename": "Functions.cpp", "line": 9},
                {"name": "torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)",
                 "filename": "engine.cpp", "line": 3}]

    def optimizer(self, line):
        return self.python(("step", line, TORCH + "optim/adamw.py"), ("wrapper", 91, TORCH + "optim/optimizer.py"),
                           ("train_step", 19, "train.py"), ("main", 3, "train.py"))

    def setup(self):
        self.weights = [self.take(3 * MIB, self.python(("linear", 14, "model.py"), ("build", 9, "model.py"),
                                                       ("main", 2, "train.py"))) for _ in range(LAYERS * 2)]
        self.state = []

    def batch(self):
        kept = []
        for _ in range(LAYERS):
            kept.append(self.take(MIB, self.forward("norm", 21)))
            kept.append(self.take(3 * MIB, self.forward("project", 22)))
            work = self.take(8 * MIB + 512, self.forward("matmul", 25))
            kept.append(self.take(2 * MIB, self.forward("attend", 26)))
            self.give(work)
            if self.new:
                kept.append(self.take(MIB // 2, self.forward("rotary", 27)))
            kept.append(self.take((6 if self.new else 4) * MIB, self.forward("mlp", 28)))
        if not self.new:
            kept.append(self.take(4, self.forward("scale_loss", 35)))
        for at in range(LAYERS):
            down = self.take(MIB, self.backward("Mm"))
            if len(self.gradients) < LAYERS:
                self.gradients.append(self.take(3 * MIB, self.backward("Addmm")))
            self.give(self.take(2 * MIB, self.backward("Softmax")))
            for block in kept[-(len(kept) // (LAYERS - at)):]:
                self.give(kept.pop())
            self.give(down)
        for block in kept:
            self.give(block)

    def step(self, number):
        self.peak = 0
        self.mark("START", f"ProfilerStep#{number}")
        self.gradients = []
        for _ in range(self.batches):
            self.batch()
        if not self.state:
            for weight in self.weights:
                self.state.append(self.take(weight.requested, self.optimizer(40)))
                self.state.append(self.take(weight.requested, self.optimizer(41)))
        if not self.fused:
            for weight in self.weights:
                first = self.take(weight.requested, self.optimizer(50))
                self.give(self.take(weight.requested, self.optimizer(52)))
                self.give(first)
        for gradient in self.gradients:
            self.give(gradient)
        if self.new:
            self.history.append(self.take(MIB // 4, self.python(("log", 77, "train.py"), ("main", 3, "train.py"))))
        self.mark("END", f"ProfilerStep#{number}")
        self.peaks.append(self.peak)

    def mark(self, stage, name):
        times = [event["time_us"] for event in self.allocator.trace[-1:]]
        self.marks.append({"stage": stage, "name": name, "device": 0, "time_us": times[0] if times else 0})


class Other(Train):
    """Nothing of the names above."""

    def forward(self, name, line):
        return self.python(("encode_" + name, line, "unet.py"), ("forward", 8, "unet.py"), ("loop", 4, "sample.py"))

    def python(self, *frames):
        return super().python(*((name + "_2", line, "sample.py") for name, line, _ in frames))

    @staticmethod
    def backward(operation):
        return Train.backward("Native" + operation)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    expected = {}
    for name, program in (("base", Train()), ("plain", Train()), ("new", Train(new=True, moved=7)),
                          ("micro", Train(batches=3, noise=0.001)), ("fused", Train(fused=True)),
                          ("other", Other())):
        program.setup()
        for number in range(args.steps):
            program.step(number)
        marks = program.marks if name in ("base", "new") else []
        data = {"segments": program.allocator.snapshot(), "device_traces": [program.allocator.trace],
                "allocator_settings": program.allocator.settings(), "external_annotations": marks}
        with open(os.path.join(args.folder, f"{name}.json"), "w", encoding="utf-8") as out:
            json.dump(data, out, separators=(",", ":"))
            out.write("\n")
        expected[name] = program.peaks
    with open(os.path.join(args.folder, "expected.json"), "w", encoding="utf-8") as out:
        json.dump(expected, out)
        out.write("\n")


if __name__ == "__main__":
    main()
