#!/usr/bin/env python3
"""Amounts that cannot be: sums beyond 64 bits, and snapshots that contradict themselves.

usage: amounts_test.py --memtool PATH --wire FOLDER

Sums: whatever a command shows of them, it says on stderr that they are clamped, and exits 4 with
--strict; commands that write refuse. Sums that fit, and columns that nobody asked for, are not
spoken of.

Snapshots: a block beyond its segment, overlaps and impossible sums are refused with their place;
and whatever numbers a snapshot has, no command shows a negative size.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MOST = 2**63 - 1
MIB = 1 << 20
AT = 0x7F0000000000
CLAMPED = b"memtool: some sums exceed the 64-bit range and are clamped to its end\n"
SEEDS = 150
# Differences, which have a sign.
SIGNED = re.compile(r"delta|slope|error|precision|offset|nanos|time|device|event|line|rank|gpu|pid|missing|short")


class Failure(Exception):
    pass


class Runner:
    def __init__(self, memtool, folder):
        self.memtool, self.folder, self.checks, self.failed = memtool, Path(folder), 0, 0

    def run(self, *command):
        return subprocess.run([self.memtool, *command], cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=60)

    def check(self, what, step):
        self.checks += 1
        try:
            step()
        except (Failure, ValueError, KeyError, subprocess.TimeoutExpired) as failure:
            self.failed += 1
            print(f"FAILED {what}: {type(failure).__name__}: {str(failure)[:300]}")

    def expect(self, command, code, stderr, stdout=None):
        """`stderr` is all of it as bytes, or a pattern."""
        def step():
            done = self.run(*command)
            fits = done.stderr == stderr if isinstance(stderr, bytes) else stderr.fullmatch(done.stderr.decode())
            if done.returncode != code or not fits:
                raise Failure(f"exit {done.returncode}, stderr {done.stderr!r}")
            if stdout is not None and done.stdout != stdout:
                raise Failure(f"stdout {done.stdout!r}")
        self.check(" ".join(command), step)


# --- sums


def profile(wire, samples):
    """Of (function, bytes); all stacks are one frame."""
    texts = ["", "space", "bytes", "a.py"]
    number = lambda text: texts.index(text) if text in texts else texts.append(text) or len(texts) - 1
    out = wire.bytes_field(wire.SAMPLE_TYPE, wire.int_field(1, 1) + wire.int_field(2, 2))
    names = sorted({name for name, _ in samples})
    for row, name in enumerate(names, 1):
        out += wire.bytes_field(wire.FUNCTION, wire.int_field(1, row) + wire.int_field(2, number(name)) +
                                wire.int_field(4, 3))
        out += wire.bytes_field(wire.LOCATION, wire.int_field(1, row) +
                                wire.bytes_field(4, wire.int_field(1, row) + wire.int_field(2, 1)))
    for name, value in samples:
        out += wire.bytes_field(wire.SAMPLE, wire.packed(1, [names.index(name) + 1]) + wire.packed(2, [value]))
    return out + b"".join(wire.bytes_field(wire.STRINGS, text.encode()) for text in texts)


def check_sums(runner, wire):
    half = 2**62
    files = {
        "over.pb": profile(wire, [("f", half), ("g", half), ("f", half), ("g", half)]),
        "fits.pb": profile(wire, [("f", half), ("g", half - 1)]),
        "half.pb": profile(wire, [("f", half)]),
        "over.csv": b"a,9000000000000000000\n" * 2,
        # Mebibytes in the form without a header would leave the range; bytes do not.
        "fits.csv": b"a,1000000000000\n" * 10,
    }
    for name, data in files.items():
        (runner.folder / name).write_bytes(data)
    shows = [["top"], ["top", "--format", "json"], ["top", "--cum"], ["tree"], ["peek", "."], ["traces"], ["dot"],
             ["info"], ["leaks"], ["convert", "--to", "json"]]
    for command in shows:
        names = ["over.pb"] * (3 if command == ["leaks"] else 1)
        if command[0] == "convert":
            runner.expect([*command, *names], 0, b"")  # samples are written as they are
            continue
        runner.expect([*command, *names], 0, CLAMPED)
        runner.expect([*command, "--strict", *names], 4, CLAMPED)
        if command[0] != "leaks":
            runner.expect([*command, "--strict", "fits.pb"], 0, b"")
    for command in (["top"], ["diff"], ["tree"], ["traces"]):
        runner.expect([*command, "--strict", "half.pb", "half.pb"], 4, CLAMPED)
    runner.expect(["diff", "--strict", "--normalize", "half.pb", "over.pb"], 4, CLAMPED)
    refused = re.compile(r"memtool: .*64-bit range.*\n")
    runner.expect(["convert", "--to", "folded", "over.pb"], 3, refused, b"")
    runner.expect(["merge", "half.pb", "half.pb"], 3, refused, b"")
    runner.expect(["convert", "--to", "pprof", "half.pb", "half.pb"], 3, refused, b"")
    runner.expect(["convert", "--to", "folded", "fits.pb"], 0, b"",
                  b"f 4611686018427387904\ng 4611686018427387903\n")
    runner.expect(["top", "--strict", "over.csv"], 4, CLAMPED)
    runner.expect(["top", "--strict", "fits.csv"], 0, b"")

    def exact(name, total):
        answer = json.loads(runner.run("top", "--format", "json", name).stdout)
        codes = [note["code"] for note in answer["diagnostics"] if note["severity"] != "note"]
        if answer["total"] != total or codes != (["clamped_sums"] if total == MOST and "over" in name else []):
            raise Failure(f"total {answer['total']}, diagnostics {codes}")
    runner.check("fits.pb", lambda: exact("fits.pb", MOST))
    runner.check("over.pb", lambda: exact("over.pb", MOST))
    runner.check("fits.csv", lambda: exact("fits.csv", 10 * 10**12))


# --- snapshots


def block(at, size, state="active_allocated", requested=None):
    return {"address": at, "size": size, "requested_size": size if requested is None else requested,
            "state": state, "frames": []}


def segment(at, size, blocks, **more):
    live = [one for one in blocks if one["state"] != "inactive"]
    sums = {"allocated_size": sum(one["size"] for one in live if one["state"] == "active_allocated"),
            "active_size": sum(one["size"] for one in live),
            "requested_size": sum(one["requested_size"] for one in live)}
    return {"device": 0, "address": at, "total_size": size, **sums, "stream": 0, "segment_type": "large",
            "blocks": blocks, **more}


def whole():
    """4 MiB of which 1 MiB is live, and 2 MiB that are free."""
    return {"segments": [
        segment(AT, 4 * MIB, [block(AT, MIB), block(AT + MIB, 3 * MIB, "inactive", 0)]),
        segment(AT + 8 * MIB, 2 * MIB, [block(AT + 8 * MIB, 2 * MIB, "inactive", 0)])],
        "device_traces": [[]]}


def contradictions():
    """(name, snapshot, what the error says)"""
    def changed(say, change):
        snapshot = whole()
        change(*snapshot["segments"])
        return say, snapshot
    yield changed("a block lies beyond its end", lambda a, b: a["blocks"][1].update(size=3 * MIB + 1))
    yield changed("a block lies beyond its end", lambda a, b: a["blocks"][1].update(size=MOST))
    yield changed("a block lies beyond its end", lambda a, b: a["blocks"][1].update(address=AT + 5 * MIB))
    yield changed("a block lies before it", lambda a, b: a["blocks"][0].update(address=AT - 512))
    yield changed("its blocks overlap, or are not in the order", lambda a, b: a["blocks"][1].update(
        address=AT + MIB - 512))
    yield changed("its blocks overlap, or are not in the order", lambda a, b: a["blocks"].reverse())
    yield changed("more of it is in use than it has", lambda a, b: a.update(active_size=5 * MIB))
    yield changed("more of it is allocated than is in use", lambda a, b: a.update(allocated_size=2 * MIB))
    yield changed("its blocks are more than it says is in use", lambda a, b: a.update(
        active_size=512, allocated_size=512, requested_size=512))
    yield changed("its free blocks are more than is not in use", lambda a, b: a.update(active_size=MIB + 512))
    yield changed(f"it overlaps with the segment at {AT:#x}", lambda a, b: (
        b.update(address=AT + 2 * MIB), b["blocks"][0].update(address=AT + 2 * MIB)))
    yield changed("it ends beyond the last address", lambda a, b: (
        b.update(address=2**64 - MIB), b["blocks"][0].update(address=2**64 - MIB)))


QUESTIONS = (["segments"], ["account"], ["oom"], ["info"], ["top"])


def check_contradictions(runner):
    (runner.folder / "whole.json").write_text(json.dumps(whole()))
    for command in QUESTIONS:
        if command != ["oom"]:
            runner.expect([*command, "--strict", "whole.json"], 0, b"")
    small = whole()
    small["segments"][0]["blocks"][0]["requested_size"] += 1
    (runner.folder / "small.json").write_text(json.dumps(small))
    for command in (["segments"], ["account"], ["info"]):
        runner.expect([*command, "--strict", "small.json"], 4, re.compile(
            r"memtool: read around 1 fault: segments with blocks that are smaller than what was asked for .*\n"))
    for row, (say, snapshot) in enumerate(contradictions()):
        name = f"contradiction{row}.json"
        (runner.folder / name).write_text(json.dumps(snapshot))
        line = re.compile(rf"memtool: {name}: byte \d+: segment at 0x[0-9a-f]+: contradicts itself: {say}.*\n")
        for command in QUESTIONS:
            runner.expect([*command, name], 3, line, b"")


def check_replay(runner):
    """Events that contradict each other or the state end in numbers that can be."""
    def event(action, at, size):
        return {"action": action, "addr": at, "size": size, "stream": 0, "frames": []}

    def expect(name, events, **wanted):
        snapshot = {"segments": whole()["segments"][1:], "device_traces": [events]}
        (runner.folder / name).write_text(json.dumps(snapshot))
        device = json.loads(runner.run("info", "--format", "json", name).stdout)["inputs"][0]["devices"][0]
        if found := {key: device[key] for key in wanted if device[key] != wanted[key]}:
            raise Failure(f"{found} instead of {wanted}")
    at = AT + 8 * MIB
    runner.check("a free of more than was allocated", lambda: expect(
        "free.json", [event("alloc", at, 512), event("free_completed", at, MIB)],
        size_changes=1, peak_bytes=512, end_bytes=0))
    # 8 MiB are mapped during the recording, of which the state knows nothing.
    runner.check("a state after the last event", lambda: expect(
        "later.json", [event("segment_alloc", AT, 8 * MIB)],
        reserved_base_bytes=0, reserved_peak_bytes=8 * MIB, reserved_end_bytes=2 * MIB))


def negatives(value, path=""):
    """The paths of negative amounts in a JSON answer."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from negatives(one, f"{path}.{key}")
    elif isinstance(value, list):
        for one in value:
            yield from negatives(one, path + "[]")
    elif isinstance(value, (int, float)) and value < 0 and not SIGNED.search(path.rsplit(".", 1)[-1]):
        yield f"{path} = {value}"


def with_history(seed):
    """A snapshot some of whose numbers were drawn again."""
    numbers = random.Random(seed)
    snapshot = whole()
    snapshot["device_traces"] = [[
        {"action": "segment_alloc", "addr": AT, "size": 4 * MIB, "stream": 0, "frames": []},
        {"action": "alloc", "addr": AT, "size": MIB, "stream": 0, "frames": []},
        {"action": "alloc", "addr": AT + MIB, "size": MIB, "stream": 0, "frames": []},
        {"action": "free_requested", "addr": AT + MIB, "size": MIB, "stream": 0, "frames": []},
        {"action": "free_completed", "addr": AT + MIB, "size": MIB, "stream": 0, "frames": []},
        {"action": "oom", "size": 8 * MIB, "device_free": MIB, "stream": 0, "frames": []}]]
    places = []

    def walk(value):
        if isinstance(value, dict):
            places.extend((value, key) for key, one in value.items()
                          if isinstance(one, int) and key not in ("device", "stream"))
        for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(one)
    walk(snapshot)
    for table, key in numbers.sample(places, numbers.randint(1, 3)):
        near = table[key] + numbers.choice([-MIB, -512, -1, 1, 512, MIB])
        table[key] = max(numbers.choice([0, 1, 512, near, near, 2 * table[key], 2**62, MOST]), 0)
    return snapshot


def check_seed(seed, memtool, folder):
    """-> its runner, and how many of the commands answered"""
    runner, read = Runner(memtool, folder), 0
    name = f"seed{seed}.json"
    (runner.folder / name).write_text(json.dumps(with_history(seed)))
    for command in (["segments"], ["account"], ["oom"], ["info"], ["timeline"],
                    ["segments", "--at", "peak"], ["account", "--at", "peak"]):
        def step(command=command):
            nonlocal read
            done = runner.run(*command, "--format", "json", name)
            if done.returncode == 3 and not done.stdout and done.stderr.count(b"\n") == 1:
                return
            if done.returncode != 0:
                raise Failure(f"exit {done.returncode}: {done.stderr!r}")
            read += 1
            if found := list(negatives(json.loads(done.stdout))):
                raise Failure(", ".join(found))
        runner.check(f"{' '.join(command)} of seed {seed}", step)
    return runner, read


def check_no_negative(runner):
    read = 0
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for own, answered in pool.map(lambda seed: check_seed(seed, runner.memtool, runner.folder), range(SEEDS)):
            runner.checks += own.checks
            runner.failed += own.failed
            read += answered
    if read < SEEDS:
        runner.check("seeds", lambda: (_ for _ in ()).throw(Failure(f"only {read} answers")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--wire", required=True)
    args = parser.parse_args()
    sys.path.insert(0, args.wire)
    import wire
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(args.memtool, folder)
        check_sums(runner, wire)
        check_contradictions(runner)
        check_replay(runner)
        check_no_negative(runner)
    print(f"{runner.checks} checks, {runner.failed} failed")
    return 1 if runner.failed else 0


if __name__ == "__main__":
    sys.exit(main())
