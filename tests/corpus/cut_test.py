#!/usr/bin/env python3
"""A cut answers as the whole file does: random ranges of snapshots.

usage: cut_test.py --memtool PATH [--generator gen_snapshot.py] [--files FOLDER]...

Snapshots are those that the generator makes and those in the folders, and with MEMTOOL_REFERENCE_DATA
the real ones there.

Per range: the cut is data and nothing else for Python's unpickler; an independent replay of it ends
at the sum of its blocks; and timeline, events, segments and top say inside the range what they say
of the whole file.
"""
import argparse
import io
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
from pathlib import Path

GENERATED = [("2500", "1"), ("4000", "2")]  # events, seed
RANGES = 3
# In a cut, what has no stack and began before the range counts as before the recording.
UNKNOWN = ("(before recording)", "(no stack)")


class DataOnly(pickle.Unpickler):
    def find_class(self, module, name):
        raise AssertionError(f"the cut imports {module}.{name}")


def check_replay(snapshot, device):
    """base + events = blocks, by requested bytes; the rule of PyTorch's viewer."""
    live, base = {}, 0
    trace = snapshot["device_traces"][device]
    for event in trace:
        if event["action"] == "alloc":
            live[event["addr"]] = event["size"]
        elif event["action"] == "free_completed":
            base += 0 if live.pop(event["addr"], None) is not None else event["size"]
    end = 0
    for segment in snapshot["segments"]:
        at = segment["address"]
        for block in segment["blocks"] if segment["device"] == device else []:
            assert block["address"] == at, "blocks do not follow each other"
            at += block["size"]
            if block["state"] != "inactive":
                end += block["requested_size"]
                base += 0 if block["address"] in live else block["requested_size"]
        assert segment["device"] != device or at == segment["address"] + segment["total_size"]
    change = {"alloc": 1, "free_completed": -1}
    assert base + sum(change.get(e["action"], 0) * e["size"] for e in trace) == end, "replay"


def first_difference(whole, cut):
    different = [pair for pair in zip(whole, cut) if pair[0] != pair[1]]
    return "{} became {}".format(*(different or [(len(whole), len(cut))])[0])


def has_holes(snapshot, device):
    """Whether two blocks are live at one address at one time: then a state cannot hold both."""
    freed, live = set(), set()
    for event in snapshot["device_traces"][device]:
        if event["action"] == "alloc":
            live.add(event["addr"])
        elif event["action"] == "free_completed" and event["addr"] not in live:
            freed.add(event["addr"])
        elif event["action"] == "free_completed":
            live.discard(event["addr"])
    return any(block["address"] in freed - live and block["state"] != "inactive"
               for segment in snapshot["segments"] for block in segment["blocks"]
               if "address" in block)


class Compared:
    def __init__(self, memtool, whole, cut, device, first, last, holes):
        self.memtool, self.whole, self.cut = memtool, whole, cut
        self.device, self.first, self.last, self.holes = device, first, last, holes

    def ask(self, path, *args):
        run = subprocess.run([self.memtool, args[0], "--format", "json", "--device",
                              str(self.device), *args[1:], path],
                             check=True, capture_output=True, text=True)
        return json.loads(run.stdout)

    def rows(self, path, *args):
        return self.ask(path, *args)["rows"]

    def placed(self, moment):
        """Whether all live blocks lie in known segments: files without segment events."""
        return self.ask(self.whole, "segments", "--at", f"event:{moment}")["unplaced_bytes"] == 0

    def timeline(self):
        whole = self.rows(self.whole, "timeline", "--from", f"event:{self.first}", "--to",
                          f"event:{self.last}")
        cut = self.rows(self.cut, "timeline", "--from", "event:0")
        for row in cut:
            row["event"] += self.first
        if not self.placed(self.last):
            for row in whole + cut:
                del row["reserved"]
        assert cut == whole, "timeline: " + first_difference(whole, cut)

    def events(self):
        whole = self.rows(self.whole, "events", "--from", str(self.first), "--to", str(self.last),
                          "--stacks")
        cut = self.rows(self.cut, "events", "--stacks")
        assert len(whole) == len(cut) == self.last - self.first + 1
        stack = ["name", "file", "line", "via", "stack", "frames"]
        for old, new in zip(whole, cut):
            inside = old["partner"] is None or self.first <= old["partner"] <= self.last
            assert old["id"] is None or old["id"].split("_")[0] == new["id"].split("_")[0]
            old["event"] -= self.first
            if old["partner"] is not None:
                old["partner"] -= self.first
            lost = ["id"] + ([] if inside else ["partner", "lived_events", "lived_us"])
            # A free without frames has those of its allocation, if that is present.
            lost += [] if inside or new["name"] != "(no stack)" else stack
            for key in lost:
                del old[key], new[key]
            assert old == new, f"event {old} became {new}"

    def segments(self):
        if self.holes or not self.placed(self.last):
            return
        whole = self.rows(self.whole, "segments", "--at", f"event:{self.last}", "--by", "line")
        cut = self.rows(self.cut, "segments", "--at", "end", "--by", "line")
        for row in whole + cut:
            # Of two stacks that hold the same, segments names the one that comes first in the file.
            # Fragmentation depends on the largest request that a recording shows, and a cut shows
            # fewer.
            del row["estimated"], row["holder"], row["request"], row["fragmented"]
        assert cut == whole, "segments at the end: " + first_difference(whole, cut)

    def segments_inside(self, moment):
        if self.holes or not self.placed(self.last):
            return
        whole = self.ask(self.whole, "segments", "--at", f"event:{moment}")
        cut = self.ask(self.cut, "segments", "--at", f"event:{moment - self.first}")
        for key in ["reserved", "unplaced_bytes"]:
            assert whole[key] == cut[key], f"{key} after event {moment}"
        place = [{(r["address"], r["size"], r["requested"], r["live_blocks"]) for r in s["rows"]}
                 for s in (whole, cut)]
        assert place[0] == place[1], f"segments after event {moment}"

    def top(self, moment):
        held = []
        for path, event in [(self.whole, moment), (self.cut, moment - self.first)]:
            rows = {row["name"]: row["flat"] for row in
                    self.rows(path, "top", "--by", "stack", "--at", f"event:{event}")}
            unknown = sum(rows.pop(name, 0) for name in UNKNOWN)
            held.append({**rows, **({UNKNOWN[0]: unknown} if unknown else {})})
        whole, cut = held
        assert sum(whole.values()) == sum(cut.values()), f"bytes live after event {moment}"
        if self.holes:
            return
        if moment == self.last:
            assert whole == cut, f"top at the end: {whole} became {cut}"
        # Who allocated what is freed in the range is forgotten, nothing else.
        for name in (set(whole) | set(cut)) - {UNKNOWN[0]}:
            assert cut.get(name, 0) <= whole.get(name, 0), f"{name} after event {moment}"


def check(memtool, whole, cut, snapshot, dice):
    counts = [len(trace) for trace in snapshot["device_traces"]]
    device = dice.choice([i for i, count in enumerate(counts) if count > 0])
    first, last = sorted(dice.randrange(counts[device]) for _ in range(2))
    subprocess.run([memtool, "cut", "--device", str(device), "--from", str(first), "--to",
                    str(last), "-o", cut, whole], check=True, capture_output=True)
    small = load(Path(cut))
    assert len(small["device_traces"][device]) == last - first + 1
    check_replay(small, device)
    holes = has_holes(snapshot, device)
    compared = Compared(memtool, whole, cut, device, first, last, holes)
    compared.timeline()
    compared.events()
    compared.segments()
    for moment in {first, last, dice.randint(first, last)}:
        compared.top(moment)
        compared.segments_inside(moment)


def load(path):
    try:
        return DataOnly(io.BytesIO(path.read_bytes())).load()
    except (pickle.UnpicklingError, EOFError):
        return None


def snapshots(options, folder):
    """Path and contents of every snapshot that has a history."""
    paths = []
    for events, seed in GENERATED if options.generator else []:
        paths.append(Path(folder) / f"{events}.pickle")
        subprocess.run([sys.executable, options.generator, events, paths[-1], "--seed", seed],
                       check=True, capture_output=True)
    for data in options.files + os.environ.get("MEMTOOL_REFERENCE_DATA", "").split(":"):
        paths += sorted(Path(data or folder).rglob("*.pickle")) if data else []
    for path in paths:
        snapshot = load(path)
        if isinstance(snapshot, dict) and any(snapshot.get("device_traces", [])):
            yield str(path), snapshot


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--generator")
    parser.add_argument("--files", action="append", default=[])
    options = parser.parse_args()
    dice = random.Random(7)
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        for whole, snapshot in snapshots(options, folder):
            for _ in range(RANGES):
                try:
                    check(options.memtool, whole, f"{folder}/cut", snapshot, dice)
                except AssertionError as wrong:
                    raise AssertionError(f"{whole}: {wrong}") from wrong
                done += 1
    print(f"{done} cuts answer as the whole files do")
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
