#!/usr/bin/env python3
"""`memtool info` and `traces` of real compiled programs (HloProto), against a replay that is worked out here from the bytes.

usage: hlo_real.py --memtool PATH

Per program: bytes per category and in all, the heap's peak and the first point at which it is reached, and the
buffers that are live there with their sizes, operations and padding. The checks of sums: the categories add up to all, what
is live at a heap's peak fits its allocation without overlaps, and the peak of the memory is that of its heap and all else.
Files are those below hlo/ of the folders in the colon separated MEMTOOL_REFERENCE_DATA, and the programs inside of
the traces below xplane/. Without any: exit 77. Each program is also written as JSON, of which memtool must say the same.
"""
import argparse
import collections
import json
import math
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from xla_files import fields, of, programs, reference_files, varint

BITS = {1: 8, 2: 8, 3: 16, 4: 32, 5: 64, 6: 8, 7: 16, 8: 32, 9: 64, 10: 16, 11: 32, 12: 64, 15: 64, 16: 16, 18: 128,
        **dict.fromkeys((19, 20, 23, 24, 25, 28, 29, 33), 8), **dict.fromkeys((21, 22, 32), 4),
        **dict.fromkeys((26, 27), 2), **dict.fromkeys((30, 31), 1)}
TUPLE = 13
NAMES = dict(enumerate("PRED S8 S16 S32 S64 U8 U16 U32 U64 F16 F32 F64 TUPLE OPAQUE_TYPE C64 BF16 TOKEN C128".split(), 1))
ALLOC, FREE, SHARE = 0, 1, 2


def one(data):
    """-> the last value per field number"""
    return dict(fields(data))


def ints(data, wanted):
    values = []
    for value in of(data, wanted):
        if isinstance(value, int):
            values.append(value)
            continue
        at = 0
        while at < len(value):
            number, at = varint(value, at)
            values.append(number)
    return values


def unpadded(shape, index):
    """-> bytes of the elements of a part of a shape; None where it has none of its own"""
    for part in index:
        parts = of(shape, 4)
        if part >= len(parts):
            return None
        shape = parts[part]
    kind = one(shape).get(2, 0)
    if kind == TUPLE or kind not in BITS:
        return None
    return math.ceil(math.prod(ints(shape, 3)) * BITS[kind] / 8)


# Per message: field number -> name in JSON, and what it is. A list is of a field that repeats.
MESSAGES = {
    "proto": {1: ("hloModule", "module"), 3: ("bufferAssignment", "assignment")},
    "module": {1: ("name", str), 2: ("entryComputationName", str), 3: ("computations", ["computation"]),
               5: ("id", int), 17: ("stackFrameIndex", "frames")},
    "computation": {1: ("name", str), 2: ("instructions", ["instruction"]), 5: ("id", int)},
    "instruction": {1: ("name", str), 2: ("opcode", str), 3: ("shape", "shape"), 7: ("metadata", "metadata"),
                    35: ("id", int), 36: ("operandIds", [int])},
    "shape": {2: ("elementType", int), 3: ("dimensions", [int]), 4: ("tupleShapes", ["shape"])},
    "metadata": {1: ("opType", str), 2: ("opName", str), 3: ("sourceFile", str), 4: ("sourceLine", int),
                 15: ("stackFrameId", int)},
    "frames": {1: ("fileNames", [str]), 2: ("functionNames", [str]), 3: ("fileLocations", ["location"]),
               4: ("stackFrames", ["frame"])},
    "location": {1: ("fileNameId", int), 2: ("functionNameId", int), 3: ("line", int), 4: ("column", int)},
    "frame": {1: ("fileLocationId", int), 2: ("parentFrameId", int)},
    "assignment": {1: ("logicalBuffers", ["buffer"]), 3: ("bufferAllocations", ["allocation"]),
                   4: ("heapSimulatorTraces", ["trace"])},
    "buffer": {1: ("id", int), 2: ("size", int), 3: ("definedAt", "defined"), 4: ("color", int)},
    "defined": {2: ("instructionName", str), 3: ("shapeIndex", [int]), 4: ("instructionId", int)},
    "allocation": {1: ("index", int), 2: ("size", int), 3: ("isThreadLocal", bool), 5: ("isEntryComputationParameter", bool),
                   6: ("parameterNumber", int), 7: ("maybeLiveOut", bool), 8: ("color", int), 9: ("assigned", ["assigned"]),
                   11: ("isTuple", bool), 12: ("isConstant", bool)},
    "assigned": {1: ("logicalBufferId", int), 2: ("offset", int), 3: ("size", int)},
    "trace": {1: ("events", ["event"])},
    "event": {1: ("kind", int), 2: ("bufferId", int), 3: ("computationName", str), 4: ("instructionName", str),
              5: ("shareWithCanonicalId", int)},
}


def as_json(data, message="proto"):
    """-> the message as protobuf's JSON writes it; numbers as strings"""
    out = {}
    for number in dict.fromkeys(each for each, _ in fields(data)):
        if number not in MESSAGES[message]:
            continue
        name, kind = MESSAGES[message][number]
        one_kind = kind[0] if isinstance(kind, list) else kind
        values = ints(data, number) if one_kind is int else of(data, number)
        made = [str(each) if one_kind is int else bool(each) if one_kind is bool
                else each.decode("utf-8", "replace") if one_kind is str else as_json(each, one_kind) for each in values]
        out[name] = made if isinstance(kind, list) else made[-1]
        if (message, name) == ("event", "kind"):
            out[name] = ["ALLOC", "FREE", "SHARE_WITH"][int(out[name])]
        if name == "elementType":
            out[name] = NAMES.get(int(out[name]), int(out[name]))
    return out


class Program:
    def __init__(self, data):
        assignment = of(data, 3)[0]
        instructions = {}
        for computation in of(of(data, 1)[0], 3):
            for instruction in of(computation, 2):
                instructions[one(instruction).get(35, 0)] = instruction
        self.size, self.color, self.told, self.place = {}, {}, {}, {}
        for buffer in of(assignment, 1):
            facts = one(buffer)
            number, defined = facts.get(1, 0), facts.get(3, b"")
            self.size[number], self.color[number] = facts.get(2, 0), facts.get(4, 0)
            instruction = instructions[one(defined).get(4, 0)]
            name, metadata = one(instruction)[1].decode(), one(one(instruction).get(7, b""))
            plain = unpadded(one(instruction).get(3, b""), ints(defined, 3))
            padding = 0 if plain is None or plain > self.size[number] else self.size[number] - plain
            self.told[number] = (name, metadata.get(2, b"").decode(), padding)
        self.totals, self.allocations = collections.Counter(), []
        for allocation in of(assignment, 3):
            facts = one(allocation)
            category = ("parameter" if facts.get(5) else "output" if facts.get(7) else "thread-local" if facts.get(3)
                        else "constant" if facts.get(12) else "temporary")
            self.totals[category] += facts.get(2, 0)
            members = []
            for assigned in of(allocation, 9):
                parts = one(assigned)
                members.append(parts.get(1, 0))
                self.place[parts.get(1, 0)] = (len(self.allocations), parts.get(2, 0))
            self.allocations.append((category, facts.get(2, 0), facts.get(8, 0), members))
        self.traces = []
        for trace in of(assignment, 4):
            events = [one(event) for event in of(trace, 1)]
            self.traces.append([(each.get(1, 0), each.get(2, 0), each.get(5, 0)) for each in events])

    def heap_of(self, color):
        """The trace of the first temporary allocation that has one, by what its first event names; else the longest."""
        for row, (category, _, of_color, _) in enumerate(self.allocations):
            for trace in self.traces:
                if trace and category == "temporary" and of_color == color and self.place[trace[0][1]][0] == row:
                    return row, trace
        return None, max((each for each in self.traces if each and self.color[each[0][1]] == color), key=len, default=None)

    def replay(self, trace):
        """-> peak, events before it, ids whose memory is live there"""
        users, canonical, live, peak, best, at = collections.Counter(), {}, 0, 0, [], 0
        held = []
        for step, (kind, buffer, shared) in enumerate(trace):
            if kind == FREE:
                owner = canonical.pop(buffer)
                users[owner] -= 1
                if not users[owner]:
                    live -= self.size[owner]
                    held.remove(owner)
                continue
            owner = buffer if kind == ALLOC else canonical.get(shared, shared)
            canonical[buffer] = owner
            users[owner] += 1
            if users[owner] == 1:
                live += self.size[owner]
                held.append(owner)
            if live > peak:
                peak, best, at = live, list(held), step + 1
        return peak, at, best

    def expected(self, color):
        """-> rows at the peak of a memory; peak of its heap, at which point, of how many"""
        rows = collections.Counter()
        arena, trace = self.heap_of(color)
        for row, (category, size, of_color, members) in enumerate(self.allocations):
            if of_color == color and row != arena and size:
                name, scope, padding = self.told[max(members, key=lambda each: self.size[each])] if members else ("", "", 0)
                rows[(category, size, name, scope, padding)] += 1
        if trace is None:
            return rows, None
        peak, point, held = self.replay(trace)
        for number in held:
            if self.size[number]:
                rows[("temporary", self.size[number], *self.told[number])] += 1
        if arena is not None:
            spans = sorted((self.place[each][1], self.place[each][1] + self.size[each]) for each in held)
            fits = all(a[1] <= b[0] for a, b in zip(spans, spans[1:])) and spans[-1][1] <= self.allocations[arena][1]
            if not fits or peak > self.allocations[arena][1]:
                raise AssertionError("what is live at the peak overlaps or does not fit its allocation")
        return rows, (peak, f"{point} of {len(trace)}")


def check(ask, path, data):
    """-> differences between what memtool shows and what the bytes say, number of rows compared"""
    program = Program(data)
    wrong = []

    def same(what, wanted, shown):
        if wanted != shown:
            wrong.append(f"{what}: wanted {wanted}, shown {shown}")

    info = ask("info", path)["inputs"][0]
    for category in ("parameter", "output", "thread-local", "constant", "temporary"):
        same(category, program.totals[category], int(info["settings"][f"{category} bytes"]))
    total = sum(size for _, size, _, _ in program.allocations)
    same("total", total, int(info["settings"]["total bytes"]))
    same("sum of the categories", total, sum(program.totals.values()))
    rows = ask("traces", "--at", "peak", "-n", "0", path)["rows"]
    shown = collections.Counter()
    operations = {}
    for row in rows:
        labels = dict(re.findall(r"(\S+)=(\S+)", row["labels"]))
        name = labels.get("instruction", "")
        shown[(labels["category"], name, int(labels.get("padding", 0)))] += row["value"]
        operations[name] = row["stack"].split(";")[-1]
    colors = sorted({color for _, _, color, _ in program.allocations})
    wanted = collections.Counter()
    for color, ledger in zip(colors, info["ledgers"]):
        expected, heap = program.expected(color)
        same(f"peak of memory {color}", sum(size * count for (_, size, *_), count in expected.items()), ledger["peak_bytes"])
        if heap:
            same("peak of the heap", str(heap[0]), info["settings"][f"{ledger['name']} heap peak bytes"])
            same("point of the peak", heap[1], info["settings"][f"{ledger['name']} heap peak point"])
        for (category, size, name, scope, padding), count in expected.items():
            wanted[(category, name, padding)] += size * count
            if scope and not scope.endswith(operations.get(name, "(not shown)")):
                wrong.append(f"{name}: {scope} is shown as {operations.get(name)}")
    if len(colors) == 1:  # peaks of several memories are at different points
        same("buffers", wanted, shown)
    return wrong, len(rows)


def told(answer):
    """What is said of a program, whatever file it is in."""
    one_input = {key: value for key, value in answer["inputs"][0].items()
                 if key not in ("path", "format_display", "unpacked_bytes")}
    return one_input, [row for row in answer["rows"] if "property" not in row]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True)
    args = parser.parse_args()

    def ask(*words):
        out = subprocess.run([args.memtool, *words, "--format", "json"], capture_output=True, timeout=300, check=False)
        if out.returncode != 0:
            sys.exit(f"{words}: {out.returncode}: {out.stderr.decode()}")
        return json.loads(out.stdout)

    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for file in reference_files("hlo/*.hlo_proto.pb", "hlo/*.hlo.pb", "xplane/*.xplane.pb"):
            data = file.read_bytes()
            found = programs(data) if file.name.endswith(".xplane.pb") else [data]
            rows = without = 0
            for number, proto in enumerate(found):
                if not of(proto, 3) or not of(of(proto, 3)[0], 3):
                    without += 1
                    continue
                path = Path(folder) / f"{number}.hlo_proto.pb"
                path.write_bytes(proto)
                wrong, compared = check(ask, str(path), proto)
                other = Path(folder) / f"{number}.json"
                other.write_text(json.dumps(as_json(proto), indent=1))
                for words in (["info"], ["traces", "--at", "peak", "-n", "0"], ["segments"]):
                    if told(ask(*words, str(path))) != told(ask(*words, str(other))):
                        wrong.append(f"{words[0]} of the program as JSON differs")
                rows += compared
                failed += bool(wrong)
                for each in wrong:
                    print(f"{file.name}: program {number}: {each}"[:2000])
            print(f"{file.name}: {len(found)} programs, {without} without buffers, {rows} rows at their peaks")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
