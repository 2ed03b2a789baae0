#!/usr/bin/env python3
"""Writes recordings of a caching allocator (allocator.py) that is written for the purpose: plain lists and
searches from end to end, after the description of PyTorch's rules and not after memtool's model, so
that both can be wrong only where the description is.

usage: generate.py FOLDER [--events N] [--only NAME] [--skip N]
       generate.py FILE.pickle --steady --events N      one large recording, for measuring

Each file is a snapshot as JSON: trace, final state, settings. manifest.tsv says per file what was true
in the run: the card's limit, how often the driver refused, whether and where it ended in a failure.
The same bytes on every run.
"""

import argparse
import json
import os
import pickle
import random

from allocator import MIB, Allocator, OutOfMemory


def frame(name, line, file="model.py"):
    return {"name": name, "filename": file, "line": line}


STACKS = [[frame("forward", 10), frame("step", 40), frame("main", 3)],
          [frame("attention", 22), frame("forward", 12), frame("step", 40), frame("main", 3)],
          [frame("backward", 51), frame("main", 4)],
          [frame("optimizer", 60), frame("main", 5)],
          [frame("loader", 70, "data.py")]]
EMPTY = [frame("empty_cache", 222, "torch/cuda/memory.py"), frame("main", 9)]


class Program:
    """Random requests with the habits of training: layers that come and go in order, sizes that
    repeat, a few that differ."""

    def __init__(self, allocator, seed, events, streams=(0,), delays=False, empties=False, pools=(), largest=96 * MIB,
                 most=None, crowd=60):
        self.allocator, self.random, self.events = allocator, random.Random(seed), events
        self.streams, self.delays, self.empties, self.pools = streams, delays, empties, pools
        self.most, self.crowd = most, crowd
        pick = self.random
        self.sizes = [pick.choice([
            pick.randrange(1, 5000), pick.randrange(1, MIB), MIB, MIB + 1, pick.randrange(MIB, 10 * MIB),
            10 * MIB, 10 * MIB - 512, pick.randrange(10 * MIB, largest), 20 * MIB, 21 * MIB,
            pick.randrange(2, 48) * MIB + 512]) for _ in range(24)]
        self.live, self.waiting = [], []

    def run(self):
        pick = self.random
        while len(self.allocator.trace) < self.events:
            for block in [b for b in self.waiting if b.state != "pending"]:
                self.waiting.remove(block)
            if self.waiting and pick.random() < 0.2:
                self.allocator.finish(self.waiting.pop(0))
            total = sum(b.size for b in self.live)
            grow = 0.58 if len(self.live) < self.crowd else 0.35
            if self.most is not None and total > self.most:
                grow = 0.1
            if not self.live or pick.random() < grow:
                self.allocate()
            elif pick.random() < 0.012 and self.empties:
                self.allocator.empty_cache(EMPTY)
            else:
                self.release()

    def allocate(self):
        pick = self.random
        size = pick.choice(self.sizes) if pick.random() < 0.9 else pick.randrange(1, 40 * MIB)
        owner = pick.choice(self.pools) if self.pools and pick.random() < 0.3 else (0, 0)
        self.live.append(self.allocator.malloc(size, pick.choice(self.streams), owner, pick.choice(STACKS)))

    def release(self):
        pick = self.random
        row = len(self.live) - 1 if pick.random() < 0.4 else pick.randrange(len(self.live))
        block = self.live.pop(row)
        later = self.delays and pick.random() < 0.3
        self.allocator.free(block, [], later)
        if later:
            self.waiting.append(block)


def fragments(allocator, real):
    """A failure. Not `real`: what is live and what is wanted would fit, but every segment keeps a
    little of what is live."""
    whole = [allocator.malloc(60 * MIB, 0, (0, 0), STACKS[i % 2]) for i in range(6)]
    for block in whole:
        allocator.free(block)
    most = [allocator.malloc(40 * MIB, 0, (0, 0), STACKS[i % 2]) for i in range(6)]
    for i in range(6):
        allocator.malloc(12 * MIB, 0, (0, 0), STACKS[2 + i % 2])
    if not real:
        for block in most:
            allocator.free(block)
    allocator.malloc(150 * MIB, 0, (0, 0), STACKS[0])


def scenarios(events):
    mixed = dict(streams=(0, 140737488355328, 96), delays=True, empties=True)
    yield "default", Allocator(seed=1), lambda a: Program(a, 11, events, empties=True).run()
    yield "streams", Allocator(seed=2), lambda a: Program(a, 12, events, **mixed).run()
    yield "expandable", Allocator(expandable=True, seed=3), lambda a: Program(a, 13, events, **mixed).run()
    yield "split_32", Allocator(max_split=32 * MIB, seed=4), lambda a: Program(a, 14, events, **mixed).run()
    yield "powers_4", Allocator(divisions=4, seed=5), lambda a: Program(a, 15, events, **mixed).run()
    yield "powers_64", Allocator(divisions=64, seed=6), lambda a: Program(a, 16, events, empties=True).run()
    yield "pools", Allocator(seed=7), lambda a: Program(a, 17, events, pools=((0, 1), (3, 0)), **mixed).run()
    yield "pools_expandable", Allocator(expandable=True, seed=8), lambda a: Program(
        a, 18, events, pools=((0, 1),), **mixed).run()
    limit = 900 * MIB
    most = dict(most=620 * MIB)
    yield "pressure", Allocator(limit=limit, seed=9), lambda a: Program(a, 19, events, **most).run()
    yield "pressure_streams", Allocator(limit=limit, seed=10), lambda a: Program(a, 20, events, **mixed, **most).run()
    yield "pressure_expandable", Allocator(limit=800 * MIB, expandable=True, seed=11), lambda a: Program(
        a, 21, events, streams=(0, 96), **most).run()
    yield "pressure_split", Allocator(limit=limit, max_split=32 * MIB, seed=12), lambda a: Program(
        a, 22, events, **most).run()
    yield "oom_fragmented", Allocator(limit=420 * MIB, seed=13), lambda a: fragments(a, False)
    yield "oom_real", Allocator(limit=420 * MIB, seed=14), lambda a: fragments(a, True)


def others(events):
    """Allocators that the model is not of: with --only alone. torch_npu's pads requests."""
    yield "npu", Allocator(seed=1, padding=32, platform="NPU"), lambda a: Program(a, 11, events, empties=True).run()


def steady(events):
    """A step over and over: once no step makes a new segment, all are the same."""
    allocator = Allocator(seed=15)
    step = []
    made = True
    while made:
        del allocator.trace[:]
        program = Program(allocator, 30, 8000, streams=(0, 96), crowd=900, largest=24 * MIB)
        program.run()
        for block in reversed(program.live):
            allocator.free(block)
        step = list(allocator.trace)
        made = any(entry["action"].startswith("segment") for entry in step)
    trace, clock = [], 1700000000000000
    while len(trace) < events:
        for entry in step:
            clock += 7
            trace.append(dict(entry, time_us=clock))
    return allocator, trace


def guarded(run):
    def inner(allocator):
        try:
            run(allocator)
        except OutOfMemory:
            pass
    return inner


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--events", type=int, default=3000)
    parser.add_argument("--only")
    parser.add_argument("--skip", type=int, default=0, help="leave out the first events, as a full ring does")
    parser.add_argument("--steady", action="store_true")
    options = parser.parse_args()
    if options.steady:
        allocator, trace = steady(options.events)
        with open(options.folder, "wb") as out:
            pickle.dump({"segments": allocator.snapshot(), "device_traces": [trace],
                         "allocator_settings": allocator.settings(), "external_annotations": []}, out)
        return
    os.makedirs(options.folder, exist_ok=True)
    lines = []
    for name, allocator, run in [*scenarios(options.events), *(others(options.events) if options.only else ())]:
        if options.only and name != options.only:
            continue
        guarded(run)(allocator)
        data = {"segments": allocator.snapshot(), "device_traces": [allocator.trace[options.skip:]],
                "allocator_settings": allocator.settings(), "external_annotations": []}
        with open(os.path.join(options.folder, name + ".json"), "w", encoding="utf-8") as out:
            json.dump(data, out, separators=(",", ":"))
            out.write("\n")
        failed = [i for i, e in enumerate(allocator.trace) if e["action"] == "oom"]
        lines.append(f"{name}\t{allocator.limit or 0}\t{allocator.retries}\t{failed[0] if failed else -1}\n")
    if not options.only:
        with open(os.path.join(options.folder, "manifest.tsv"), "w", encoding="utf-8") as out:
            out.writelines(lines)


if __name__ == "__main__":
    main()
