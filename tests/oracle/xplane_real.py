#!/usr/bin/env python3
"""`memtool info` of real profiler traces (XSpace), against figures that are worked out here from the bytes.

usage: xplane_real.py --memtool PATH

Per allocator: capacity, highest and last sum in the order of absolute times, and how many changes from one event to the
next agree with the allocator's own count. In all: how many allocations have a Python function or a jitted one around them
on their own thread; memtool, which also follows work to other threads, must find at least as many.
Files are those below xplane/ of the folders in the colon separated MEMTOOL_REFERENCE_DATA. Without any: exit 77.
"""
import argparse
import collections
import json
import struct
import subprocess
import sys

from xla_files import fields, programs, reference_files, signed


def stat(data, names):
    key = value = None
    for number, part in fields(data):
        if number == 1:
            key = names.get(part)
        elif number == 2:
            value = struct.unpack("<d", part)[0]
        elif number in (3, 4):
            value = signed(part)
        elif number == 5:
            value = part.decode()
        elif number == 7:
            value = names.get(part)
    return key, value


def entry(data):
    key, value = 0, b""
    for number, part in fields(data):
        if number == 1:
            key = part
        elif number == 2:
            value = part
    return key, next((part.decode("utf-8", "replace") for number, part in fields(value) if number == 2), "")


def host_events(data):
    """-> (thread, begin in ps, duration in ps, name, stats) of the host's events"""
    for number, plane in fields(data):
        if number != 1:
            continue
        parts = list(fields(plane))
        if not any(number == 2 and part == b"/host:CPU" for number, part in parts):
            continue
        names = dict(entry(part) for number, part in parts if number == 4)
        stats = dict(entry(part) for number, part in parts if number == 5)
        for thread, line in enumerate(part for number, part in parts if number == 3):
            begin = sum(signed(part) for number, part in fields(line) if number == 3) * 1000
            for number, event in fields(line):
                if number == 4:
                    inside = list(fields(event))
                    one = {number: part for number, part in inside if number != 4}
                    yield (thread, begin + signed(one.get(2, 0)), signed(one.get(3, 0)), names.get(one.get(1, 0), ""),
                           dict(stat(part, stats) for number, part in inside if number == 4))


def compiled_sizes(data):
    """-> sizes of outputs and temporaries of the compiled programs in the file"""
    sizes = set()
    for proto in programs(data):
        for assignment in (part for number, part in fields(proto) if number == 3):
            for allocation in (part for number, part in fields(assignment) if number == 3):
                one = {number: part for number, part in fields(allocation) if number != 9}
                if not (one.get(5) or (not one.get(7) and (one.get(3) or one.get(12)))):
                    sizes.add(one.get(2, 0))
    return sizes


def ledgers_of(events):
    logs = collections.defaultdict(list)
    for _, time, _, name, stats in events:
        if name in ("MemoryAllocation", "MemoryDeallocation"):
            logs[stats["allocator_name"]].append((time, 1 if name == "MemoryAllocation" else -1, stats))
    wanted = {}
    for allocator, log in logs.items():
        log.sort(key=lambda each: each[0])
        first = log[0][2]
        in_use = [stats["bytes_allocated"] for _, _, stats in log]
        agreeing = sum(after[2]["bytes_allocated"] - before[2]["bytes_allocated"] == after[1] * after[2]["allocation_bytes"]
                       for before, after in zip(log, log[1:]))
        # What was in use before the first event counts too.
        start = in_use[0] - log[0][1] * first["allocation_bytes"]
        wanted[allocator] = {"capacity": first["bytes_allocated"] + first["bytes_reserved"] + first["bytes_available"],
                             "peak_bytes": max([start] + in_use), "end_bytes": in_use[-1], "events": len(log),
                             "agreeing_changes": agreeing}
    return wanted


def shares(events):
    """-> allocations, and those with a Python function or a jitted one around them on their thread"""
    by_thread = collections.defaultdict(list)
    for thread, begin, duration, name, _ in events:
        by_thread[thread].append((begin, -duration, name))
    count = told = 0
    for spans in by_thread.values():
        spans.sort()
        open_spans = []
        for begin, duration, name in spans:
            open_spans = [each for each in open_spans if each[0] >= begin]
            if name == "MemoryAllocation":
                count += 1
                told += any(each[1].startswith(("$", "PjitFunction(")) for each in open_spans)
            elif duration < 0:
                open_spans.append((begin - duration, name))
    return count, told


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True)
    args = parser.parse_args()
    files = reference_files("xplane/*.xplane.pb")
    failed = 0

    def ask(*words):
        out = subprocess.run([args.memtool, *words, "--format", "json"], capture_output=True, timeout=300, check=False)
        if out.returncode != 0:
            sys.exit(f"{words}: {out.returncode}: {out.stderr.decode()}")
        return json.loads(out.stdout)

    for file in files:
        events = list(host_events(file.read_bytes()))
        wanted = ledgers_of(events)
        info = ask("info", str(file))["inputs"][0]
        devices = {each["name"]: each for each in info["devices"]}
        shown = {each["name"]: {"capacity": each["capacity"], "peak_bytes": each["peak_bytes"],
                                "end_bytes": each["end_bytes"], "events": devices[each["name"]]["events"],
                                "agreeing_changes": devices[each["name"]]["agreeing_changes"]}
                 for each in info["ledgers"]}
        for name in sorted(wanted.keys() | shown.keys()):
            if wanted.get(name) != shown.get(name):
                failed += 1
                print(f"{file.name}: {name}:\n  wanted {wanted.get(name)}\n  shown  {shown.get(name)}")
        count, told = shares(events)
        rows = ask("events", "--stacks", "-n", "0", str(file))["rows"]
        allocations = [row for row in rows if row["action"] == "alloc"]
        found = sum(row["file"].endswith(".py") or "jit(" in (row["stack"] or "") for row in allocations)
        if len(allocations) != count or found < told:
            failed += 1
            print(f"{file.name}: {found} of {len(allocations)} allocations have code around them, wanted {told} of {count}")
        compiled = compiled_sizes(file.read_bytes())
        made = [stats for _, _, _, name, stats in events if name == "MemoryAllocation"]
        share = 100 * sum(stats["allocation_bytes"] for stats in made if stats["requested_bytes"] in compiled) / sum(
            stats["allocation_bytes"] for stats in made)
        joined = sum(float(value.rstrip("%")) for name, value in info["settings"].items() if value.endswith("%"))
        if abs(joined - share) > 0.16:  # three figures, rounded
            failed += 1
            print(f"{file.name}: {joined:.1f}% of the bytes belong to compiled programs, wanted {share:.1f}%")
        print(f"{file.name}: {share:.1f}% of the bytes are of compiled programs; {len(wanted)} allocators, {found} of {count} allocations with code ({told} on their own thread)")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
