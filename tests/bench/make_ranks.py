#!/usr/bin/env python3
"""Writes what a job of many ranks leaves behind: a PyTorch memory snapshot per rank, and beside the
folder a JSON file with what is true of them.

usage: make_ranks.py RANKS OUT [--stages 4] [--leak RANK:MIB] [--missing RANK] [--cut-off RANK]
       [--empty RANK] [--copied FROM:TO] [--oom RANK,RANK,...] [--layout NAME] [--events 200]

Ranks are in pipeline stages, RANKS / STAGES in a row, of different numbers of layers, with the
embedding on the first and the loss on the last. All sizes are multiples of 2 MiB, so that sums can
be checked by hand. The first rank of --oom runs out 4.2 s before the second, each further one 0.3 s
later. With --distinct only so many files are made, the others are hard links to them: many ranks in
little time and space. Standard library only; the same bytes on every run.
"""
import argparse
import json
import os
import pickle
import random
from pathlib import Path

MIB = 1 << 20
START_US = 1_760_000_000_000_000
OOM_AFTER_US, OOM_GAP_US, OOM_NEXT_US = 60_000_000, 4_200_000, 300_000
ADDRESS = 0x7F00_0000_0000
LEAK = ("collect", "/app/metrics.py", 31)


def host(rank, node_size):
    return f"gpu-{rank // node_size:02}"


# Where rank r of step n lies; o: it ran out of memory, g: ranks per node.
LAYOUTS = {
    "torchtitan": lambda r, n, o, g: f"memory_snapshot/iteration_{n}{'_exit' if o else ''}/rank{r}_memory_snapshot.pickle",
    "replicas": lambda r, n, o, g: f"memory_snapshot/iteration_{n}/replica_{r // g}/rank{r % g}_memory_snapshot.pickle",
    "flat": lambda r, n, o, g: f"memory_snapshot_rank{r}_step{n}.pickle",
    "step-first": lambda r, n, o, g: f"step_{n}_rank_{r:05}.pickle",
    "policy": lambda r, n, o, g: f"policy_rank_{r}_training_step_{n}_0.pickle",
    "lone-r": lambda r, n, o, g: f"prof_memsnap_r{r}.pkl",
    "megatron": lambda r, n, o, g: f"{'oom_' if o else ''}rank-{r}_snapshot.pickle",
    "bridge": lambda r, n, o, g: f"memory_trace_{r}.pickle",
    "slime": lambda r, n, o, g: f"memory_snapshot_train_time1760000000.5_pid{4000 + r}_rank_{r}_snapshot.pickle",
    "verl": lambda r, n, o, g: f"20260301-12{r % 2:02}/actor_rank{r}_pid{4000 + r}.pickle",
    "nemo": lambda r, n, o, g: f"memory_snapshot-rank{r}.pickle",
    "composer": lambda r, n, o, g: f"torch_traces/rank{r}.{n}.memory_snapshot.pickle",
    "nodes": lambda r, n, o, g: f"node_{r // g}/local_rank_{r % g}/snapshot.pickle",
    "folders": lambda r, n, o, g: f"{r}/snapshot.pickle",
    "hosts": lambda r, n, o, g: f"{host(r, g)}_Mar_01_12_{r % g:02}_59.pickle",
}


class Rank:
    """One process: what it allocates, as the recorder tells of it."""

    def __init__(self, device, start):
        self.device, self.now = device, start
        self.trace, self.frames, self.free_of, self.blocks = [], {}, {}, {}
        self.top = ADDRESS + (device << 36)
        self.live = self.peak = 0

    def stack(self, *frames):
        """Innermost first; a fresh list, as the recorder makes it, of shared frames."""
        made = []
        for name, filename, line in frames:
            key = (name, filename, line)
            made.append(self.frames.setdefault(key, {"name": name, "filename": filename, "line": line}))
        return made

    def event(self, action, address, size, stack):
        self.now += 7
        self.trace.append({"action": action, "addr": address, "size": size, "stream": 0,
                           "time_us": self.now, "frames": stack})

    def alloc(self, size, *frames):
        stack = self.stack(*frames)
        if self.free_of.get(size):
            address = self.free_of[size].pop()
        else:
            address, self.top = self.top, self.top + size
            self.event("segment_alloc", address, size, stack)
        self.event("alloc", address, size, stack)
        self.blocks[address] = (size, stack)
        self.live += size
        self.peak = max(self.peak, self.live)
        return address

    def free(self, address):
        size, stack = self.blocks[address]
        self.event("free_requested", address, size, stack)
        self.event("free_completed", address, size, stack)
        self.blocks[address] = (size, None)
        self.free_of.setdefault(size, []).append(address)
        self.live -= size

    def oom(self, size, device_free, time, *frames):
        self.trace.append({"action": "oom", "addr": device_free, "device_free": device_free, "size": size,
                           "stream": 0, "time_us": time, "frames": self.stack(*frames)})

    def snapshot(self):
        segments = []
        for address, (size, stack) in sorted(self.blocks.items()):
            used = size if stack is not None else 0
            segments.append({
                "device": self.device, "address": address, "total_size": size, "allocated_size": used,
                "active_size": used, "requested_size": used, "stream": 0, "segment_type": "large",
                "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
                "blocks": [{"address": address, "size": size, "requested_size": used,
                            "state": "active_allocated" if used else "inactive",
                            "frames": stack or []}]})
        return {"segments": segments, "device_traces": [[] for _ in range(self.device)] + [self.trace],
                "allocator_settings": {}, "external_annotations": []}


MAIN, STEP = ("main", "/app/train.py", 12), ("train_step", "/app/train.py", 40)


def run(rank, args, truth):
    """The process of one rank; what is true of it goes to `truth`."""
    # A link stands for the first rank of its stage that has a file of its own.
    stage, layers = truth["stage"], truth["layers"]
    # No two start in the same microsecond: equal content means a copy.
    start = START_US + rank + 10_000 * random.Random(f"{args.seed}/{rank}").randrange(100)
    process = Rank(truth["device"], start)
    init = [("__init__", "/app/model.py", 20), MAIN]
    for _ in range(layers):
        process.alloc(64 * MIB, ("linear", "/app/layers.py", 5), *init)
        process.alloc(32 * MIB, ("attention", "/app/layers.py", 25), *init)
    if stage == 0:
        process.alloc(500 * MIB, ("embedding", "/app/layers.py", 50), *init)
    for _ in range(layers):
        process.alloc(192 * MIB, ("adam_state", "/app/optim.py", 9), ("step", "/app/optim.py", 30), MAIN)
    leak = truth["leak_mib"]
    # Each step makes 3 events per activation and gradient; the leak is spread over all steps.
    steps = max(2, (args.events - len(process.trace)) // (9 * layers + 4))
    for step in range(steps):
        if leak:
            part = leak // 2 // steps * 2
            part += leak - part * steps if step == 0 else 0
            if part:
                process.alloc(part * MIB, LEAK, STEP, MAIN)
        kept = []
        for _ in range(layers):
            kept.append(process.alloc(48 * MIB, ("forward", "/app/layers.py", 12), STEP, MAIN))
            kept.append(process.alloc(16 * MIB, ("softmax", "/app/layers.py", 33), STEP, MAIN))
        if stage == args.stages - 1:
            kept.append(process.alloc(700 * MIB, ("cross_entropy", "/app/loss.py", 8), STEP, MAIN))
        gradients = []
        for address in reversed(kept):
            process.free(address)
        for _ in range(layers):
            gradients.append(process.alloc(32 * MIB, ("all_reduce", "/app/parallel.py", 77), STEP, MAIN))
        for address in gradients:
            process.free(address)
    if truth["oom_us"] is not None:
        process.oom(truth["asked"], truth["free"], truth["oom_us"],
                    ("forward", "/app/layers.py", 12), STEP, MAIN)
    truth.update(peak=process.peak, end=process.live, events=len(process.trace), steps=steps)
    return pickle.dumps(process.snapshot(), protocol=4)


def plan(args):
    """What is to be true of each rank."""
    rng = random.Random(args.seed)
    layers = [args.layers + stage % 3 for stage in range(args.stages)]
    rng.shuffle(layers)
    ranks = []
    for rank in range(args.ranks):
        stage = rank * args.stages // args.ranks
        oom = args.oom.index(rank) if rank in args.oom else None
        time = None
        if oom is not None:
            time = START_US + OOM_AFTER_US + (OOM_GAP_US + (oom - 1) * OOM_NEXT_US if oom else 0)
        ranks.append({
            "rank": rank, "stage": stage, "layers": layers[stage],
            "device": 0 if args.distinct else rank % args.node_size,
            "leak_mib": args.leak[1] if args.leak and args.leak[0] == rank else 0,
            "oom_us": time, "asked": 1024 * MIB if oom is not None else None,
            "free": (100 + 2 * rank) * MIB if oom is not None else None,
            "path": LAYOUTS[args.layout](rank, args.step, oom is not None and args.exit_folder, args.node_size),
            "problem": None})
    return ranks


def write(args, out, ranks):
    made = {}  # (stage, which of its files) -> (path, truth)
    per_stage = max(1, args.distinct // args.stages)
    data_of = {}
    for truth in ranks:
        rank, path = truth["rank"], out / truth["path"]
        if rank == args.missing:
            truth["problem"] = "missing"
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        plain = not truth["leak_mib"] and truth["oom_us"] is None
        special = rank in (args.cut_off, args.empty, *(args.copied or ()))
        link = (truth["stage"], rank % per_stage)
        if args.distinct and plain and not special and link in made:
            source, same = made[link]
            os.link(source, path)
            truth.update({key: same[key] for key in ("peak", "end", "events", "steps")})
            continue
        data = run(rank, args, truth)
        if args.copied and rank == args.copied[0]:
            data_of[rank] = data
        if args.copied and rank == args.copied[1]:
            data = data_of[args.copied[0]]
            truth["problem"] = f"copy of rank {args.copied[0]}"
        if rank == args.cut_off:
            data, truth["problem"] = data[:len(data) * 2 // 3], "cut off"
        if rank == args.empty:
            data, truth["problem"] = b"", "empty"
        path.write_bytes(data)
        if args.distinct and plain and not special:
            made[link] = (path, truth)


def summary(args, ranks):
    leak = args.leak and {"rank": args.leak[0], "bytes": args.leak[1] * MIB, "function": LEAK[0], "file": LEAK[1]}
    of_oom = [ranks[rank] for rank in args.oom]
    first = None
    if of_oom:
        gap = (of_oom[1]["oom_us"] - of_oom[0]["oom_us"]) / 1e6 if len(of_oom) > 1 else None
        first = {"rank": of_oom[0]["rank"], "time_us": of_oom[0]["oom_us"], "before_next_s": gap}
    return {"ranks": args.ranks, "step": args.step, "stages": args.stages, "layout": args.layout,
            "per_stage": args.ranks // args.stages, "node_size": args.node_size, "outlier": leak,
            "missing": [] if args.missing is None else [args.missing], "cut_off": args.cut_off,
            "empty": args.empty, "copied": args.copied, "first_oom": first,
            "oom": [{"rank": r["rank"], "time_us": r["oom_us"], "asked": r["asked"], "free": r["free"]} for r in of_oom],
            "rows": ranks}


def pair(text):
    first, second = text.split(":")
    return int(first), int(second)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ranks", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--layout", choices=sorted(LAYOUTS), default="torchtitan")
    parser.add_argument("--stages", type=int, default=4)
    parser.add_argument("--layers", type=int, default=4, help="of the smallest stage; others have up to two more")
    parser.add_argument("--node-size", type=int, default=8)
    parser.add_argument("--step", type=int, default=10)
    parser.add_argument("--events", type=int, default=200, help="about so many per rank (20000: a real ring)")
    parser.add_argument("--leak", type=pair, metavar="RANK:MIB", help="even MiB")
    parser.add_argument("--missing", type=int)
    parser.add_argument("--cut-off", type=int)
    parser.add_argument("--empty", type=int)
    parser.add_argument("--copied", type=pair, metavar="FROM:TO", help="FROM below TO")
    parser.add_argument("--oom", type=lambda text: [int(part) for part in text.split(",")], default=[])
    parser.add_argument("--exit-folder", action="store_true", help="ranks without memory write where trainers put that")
    parser.add_argument("--distinct", type=int, default=0, help="so many files, the others are links to them")
    parser.add_argument("--seed", type=int, default=17)
    args = parser.parse_args()
    if args.ranks % args.stages:
        parser.error("the number of ranks is no multiple of the stages")
    if args.out.exists():
        parser.error(f"{args.out} is there already")
    if args.leak and args.leak[1] % 2:
        parser.error("--leak takes an even number of MiB")
    if args.copied and args.copied[0] >= args.copied[1]:
        parser.error("--copied takes the lower rank first")
    ranks = plan(args)
    write(args, args.out, ranks)
    truth = args.out.with_name(args.out.name + ".truth.json")
    truth.write_text(json.dumps(summary(args, ranks), indent=1) + "\n")
    print(truth)


if __name__ == "__main__":
    main()
