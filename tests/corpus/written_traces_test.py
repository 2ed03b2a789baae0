#!/usr/bin/env python3
"""Traces that memtool writes for Perfetto and chrome://tracing hold together.

usage: written_traces_test.py --memtool PATH --testdata DIR [--generator gen_snapshot.py]

For every history of testdata, with a decoder of its own: interned numbers are defined before they are used,
sequences begin with cleared state, slices of a track nest, tracks and their parents exist, times of a track do
not step back, and the counters end at, and rise to, what `memtool info` says. With a generator, one history
that is folded.
"""
import argparse
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from histories import info, inputs, run

CLEARED, NEEDED = 1, 2
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """-> [(number, value)]; values are numbers, floats or bytes."""
    at, found = 0, []
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif kind == 2:
            size, at = varint(data, at)
            if at + size > len(data):
                raise ValueError("a field is longer than what it is in")
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {kind}")
        found.append((key >> 3, value))
    return found


def one(message, number, default=None):
    return next((value for field, value in message if field == number), default)


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Sequence:
    """The interned data of one sequence of packets."""

    KINDS = {2: "event names", 3: "annotation names", 5: "functions", 6: "frames", 7: "callstacks",
             17: "mapping paths", 18: "source paths", 19: "mappings"}

    def __init__(self):
        self.known = {kind: {} for kind in self.KINDS}
        self.cleared = False

    def use(self, kind, iid):
        if iid not in self.known[kind]:
            raise ValueError(f"{self.KINDS[kind]}: {iid} is used before it is defined")

    def define(self, data):
        for kind, entry in fields(data):
            entry = fields(entry)
            iid = one(entry, 1)
            if not iid or iid in self.known[kind]:
                raise ValueError(f"{self.KINDS[kind]}: {iid} is defined twice or is 0")
            for field, target in {6: {2: 5, 3: 19, 5: 18}, 7: {2: 6}, 19: {7: 17}}.get(kind, {}).items():
                for number, value in entry:
                    if number == field:
                        self.use(target, value)
            if kind == 6:
                self.use(19, one(entry, 3))
            self.known[kind][iid] = entry


class Trace:
    def __init__(self, data):
        self.tracks, self.counters, self.open, self.last = {}, {}, {}, {}
        self.allocations, self.weight, self.slices, self.notes = 0, 0, 0, []
        self.sequences = {}
        for number, packet in fields(data):
            if number != 1:
                raise ValueError("a trace has packets only")
            self.packet(fields(packet))
        left = [uuid for uuid, depth in self.open.items() if depth]
        if left:
            raise ValueError(f"slices without an end on {left}")

    def packet(self, packet):
        sequence = self.sequences.setdefault(one(packet, 10), Sequence())
        flags = one(packet, 13, 0)
        if not sequence.cleared and not flags & CLEARED:
            raise ValueError("a sequence begins without cleared state")
        if not flags & NEEDED:
            raise ValueError("a packet that says not that it needs the state before it")
        sequence.cleared = True
        for number, value in packet:
            if number == 12:
                sequence.define(value)
        for number, value in packet:
            if number == 60:
                self.descriptor(fields(value))
            if number == 11:
                self.event(fields(value), one(packet, 8), sequence)

    def descriptor(self, track):
        uuid, parent = one(track, 1), one(track, 5)
        if uuid in self.tracks:
            raise ValueError(f"track {uuid} twice")
        if parent is not None and parent not in self.tracks:
            raise ValueError(f"track {uuid} has no parent")
        self.tracks[uuid] = {"name": one(track, 2).decode(), "parent": parent, "process": one(track, 3) is not None,
                             "counter": one(track, 8) is not None}

    def event(self, event, time, sequence):
        kind, uuid = one(event, 9), one(event, 11)
        if uuid not in self.tracks:
            raise ValueError(f"an event on track {uuid}, which is not there")
        if time < self.last.get(uuid, 0) and not self.tracks[uuid]["name"] == "marks":
            raise ValueError(f"time steps back on {self.tracks[uuid]['name']}")
        self.last[uuid] = time
        if self.tracks[uuid]["counter"] != (kind == COUNTER):
            raise ValueError("a counter's track has counters only")
        for number, value in event:
            if number == 10:
                sequence.use(2, value)
            if number == 4:
                sequence.use(3, one(fields(value), 1))
            if number == 56:
                sequence.use(7, value)
        if kind == COUNTER:
            self.counters.setdefault(uuid, []).append(signed(one(event, 30)))
        elif kind == BEGIN:
            self.open[uuid] = self.open.get(uuid, 0) + 1
            self.slices += 1
            if self.open[uuid] > 1:
                raise ValueError("slices of a lane overlap")
        elif kind == END:
            self.open[uuid] -= 1
            if self.open[uuid] < 0:
                raise ValueError("an end without a beginning")
        elif self.tracks[uuid]["name"] == "allocations":
            self.allocations += 1
            self.weight += one(event, 57, 0)
        elif self.tracks[uuid]["name"] == "memtool":
            self.notes = [one(fields(value), 6, b"").decode() for number, value in event if number == 4]

    def of_process(self):
        """{process: {counter: [values]}}"""
        found = {track["name"]: {} for track in self.tracks.values() if track["process"]}
        for uuid, values in self.counters.items():
            track = self.tracks[uuid]
            found[self.tracks[track["parent"]]["name"]][track["name"]] = values
        return found


def chrome(data):
    """The same from JSON, and that complete events of a thread do not overlap."""
    names, found, lanes = {}, {}, {}
    for event in json.loads(data)["traceEvents"]:
        if event["ph"] == "M" and event["name"] == "process_name":
            names[event["pid"]] = event["args"]["name"]
        elif event["ph"] == "C":
            found.setdefault(names[event["pid"]], {}).setdefault(event["name"], []).append(event["args"]["bytes"])
        elif event["ph"] == "X":
            lane = (event["pid"], event["tid"])
            if round(event["ts"], 3) + 1e-3 < lanes.get(lane, 0):
                raise ValueError("slices of a thread overlap")
            lanes[lane] = event["ts"] + event["dur"]
        elif event["ph"] not in "Mi":
            raise ValueError(f"an event {event['ph']}")
    return found


def compare(found, devices, path, form):
    faults = []
    if len(found) != len(devices):
        faults.append(f"{path}: {form}: {sorted(found)} for {[d['name'] for d in devices]}")
    for counters, device in zip(found.values(), devices):
        wanted = [("in use", "peak_bytes", "end_bytes")]
        if "reserved" in counters:
            wanted.append(("reserved", "reserved_peak_bytes", "reserved_end_bytes"))
        elif device["reserved_peak_bytes"]:
            faults.append(f"{path}: {form}: no reserved bytes")
        for name, peak, end in wanted:
            values = counters[name]
            if (max(values), values[-1]) != (device[peak], device[end]):
                faults.append(f"{path}: {form}: {name} {max(values)}, {values[-1]}; info says {device[peak]}, {device[end]}")
        categories = [values for name, values in counters.items() if name.startswith("category ")]
        if categories and sum(values[-1] for values in categories) != counters["in use"][-1]:
            faults.append(f"{path}: {form}: categories sum to {sum(v[-1] for v in categories)}")
    return faults


def check(memtool, path, devices):
    faults = []
    for device in devices:
        if device["events"] < 2 and None not in (device["start_bytes"], device["end_bytes"]):
            # What was not recorded has no peak: written is what is there.
            device["peak_bytes"] = max(device["start_bytes"], device["end_bytes"])
            device["reserved_peak_bytes"] = max(device["reserved_base_bytes"], device["reserved_end_bytes"])
    for form, decode in (("perfetto", lambda data: Trace(data).of_process()), ("chrome", chrome)):
        code, out, errors = run(memtool, "convert", "--to", form, path)
        if any(device["peak_bytes"] is None for device in devices):  # a total beyond 64 bits is never written
            if code != 3 or "exceed the 64-bit range" not in str(errors):
                faults.append(f"{path}: {form}: exit {code} of an unknown total: {errors}")
            continue
        if code != 0:
            faults.append(f"{path}: {form}: exit {code}: {errors}")
            continue
        try:
            faults += compare(decode(out), devices, path, form)
        except (ValueError, KeyError, IndexError) as error:
            faults.append(f"{path}: {form}: {error!r}")
    return faults


def check_folded(memtool, generator):
    """More changes than a trace has room for: peak and end stay, and it is said."""
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        snapshot = f"{folder}/large.pickle"
        subprocess.run([sys.executable, generator, "2000000", snapshot, "--seed", "1"], check=True, capture_output=True)
        devices = info(memtool, snapshot)["devices"]
        for form, decode in (("perfetto", lambda data: Trace(data).of_process()), ("chrome", chrome)):
            code, out, errors = run(memtool, "convert", "--to", form, snapshot)
            faults += compare(decode(out), devices, "2,000,000 events", form)
            if code or len(out) > 300e6:
                faults.append(f"2,000,000 events: {form}: exit {code}, {len(out)} bytes")
            print(f"2,000,000 events: {form}: {len(out) / 1e6:.0f} MB; {errors.strip()}")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--testdata", required=True, type=Path)
    parser.add_argument("--generator", help="also write a large history that is folded")
    args = parser.parse_args()
    faults, histories = [], 0
    for path in inputs(args.testdata):
        said = info(args.memtool, path)
        if said and said.get("devices"):
            histories += 1
            faults += check(args.memtool, path, said["devices"])
    if args.generator:
        faults += check_folded(args.memtool, args.generator)
    for fault in faults:
        print(fault)
    print(f"{histories} histories, {len(faults)} faults")
    return 1 if faults or histories < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
