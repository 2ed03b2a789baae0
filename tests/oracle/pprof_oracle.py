#!/usr/bin/env python3
"""Compares `memtool top` with `go tool pprof -top`, function by function.

usage: pprof_oracle.py --memtool PATH [--reference DIR]... [FILE...]

Also takes jax/*.prof and go-heap/* below every folder in the colon separated
MEMTOOL_REFERENCE_DATA, and a few generated profiles.  Without go: exit 77.
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "testdata" / "pprof"))
sys.dont_write_bytecode = True
import wire  # noqa: E402
from oracle_profiles import random_profile  # noqa: E402

NO_STACK = "(no stack)"
ROW = re.compile(r"^ *(\S+) +(?:\S+%) +(?:\S+%) +(\S+) +(?:\S+%)  (.*)$")
TOTAL = re.compile(r"^Showing nodes accounting for (\S+), +\S+% of (\S+) total$")
INLINE = re.compile(r" \((?:partial-)?inline\)$")


class Failure(Exception):
    pass


def run(command):
    env = dict(os.environ, TZ="UTC", LC_ALL="C.UTF-8")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    if done.returncode:
        raise Failure(f"{' '.join(command)}\n  exit {done.returncode}: "
                      + done.stderr.decode(errors="replace").strip())
    return done.stdout.decode(errors="replace")


def number(text):
    """`123B`, `-4`, `7ns`: a fixed unit keeps Go's floats whole below 2^53."""
    found = re.match(r"-?\d+", text)
    if not found or "." in text:
        raise Failure(f"not a whole number in pprof's output: {text}")
    return int(found[0])


def parse_top(text):
    """-> total, {name: [(flat, cum)...]} of what `-top` printed."""
    total, rows, body = None, defaultdict(list), False
    last = None
    for line in text.split("\n"):
        if total is None:
            found = TOTAL.match(line)
            total = number(found[2]) if found else None
        elif not body:
            body = line.split() == ["flat", "flat%", "sum%", "cum", "cum%"]
        elif found := ROW.match(line):
            last = [INLINE.sub("", found[3]), (number(found[1]), number(found[2]))]
            rows[last[0]].append(last[1])
        elif last and line:  # the rest of a name that holds a newline
            values = rows[last[0]].pop()
            if not rows[last[0]]:
                del rows[last[0]]
            last[0] = INLINE.sub("", f"{last[0]}\n{line}")
            rows[last[0]].append(values)
    if total is None or not body:
        raise Failure("cannot read pprof's output:\n" + text[:500])
    return total, {name: sorted(values) for name, values in rows.items()}


def facts(path):
    """Sample types, function names and string labels, read without either tool."""
    data = wire.unpacked_file(path.read_bytes())
    tables, strings = defaultdict(list), []
    for field, kind, value in wire.fields(data):
        if field == wire.STRINGS:
            strings.append(value.decode(errors="replace"))
        elif field in (wire.SAMPLE_TYPE, wire.SAMPLE, wire.FUNCTION):
            tables[field].append({})
            for f, _, v in wire.fields(value):
                tables[field][-1].setdefault(f, []).append(v)
    types = [tuple(strings[t.get(k, [0])[0]] for k in (1, 2)) for t in tables[wire.SAMPLE_TYPE]]
    names = {strings[f.get(2, [0])[0]] for f in tables[wire.FUNCTION]}
    labels = set()
    for sample in tables[wire.SAMPLE]:
        for raw in sample.get(3, ()):
            label = {f: v for f, _, v in wire.fields(raw)}
            if label.get(2):
                labels.add((strings[label.get(1, 0)], strings[label[2]]))
    return types, sorted(filter(plain, names)), sorted(l for l in labels if all(map(plain, l)))


def plain(text):
    """Can be an argument and a regular expression after escaping."""
    return text.isprintable() and text.strip() == text != "" and len(text) < 200 and "\ufffd" not in text


def filters(names, labels, rng):
    """Option lists to try besides none at all."""
    yield []
    pick = lambda: "^" + re.escape(rng.choice(names)) + "$"
    if names:
        a, b, c = pick(), pick(), pick()
        yield [("focus", a)]
        yield [("ignore", b)]
        yield [("focus", f"{a}|{c}"), ("ignore", b)]
        yield [("focus", re.escape(rng.choice(names)[:3]))]
    if labels:
        key, value = rng.choice(labels)
        # A comma separates expressions, and digits with a colon or a unit
        # would be taken as a range of numbers.
        value = re.escape(value.split(",")[0])
        if re.search("[A-Za-z_]{3}", value) and "=" not in key:
            yield [("tagfocus", f"{key}={value}")]
            yield [("tagfocus", value)] + ([("ignore", b)] if names else [])
        else:
            yield [("tagfocus", f"{key}=^{value}$")]


def unit_of(unit):
    return {"bytes": "b", "nanoseconds": "ns", "microseconds": "us", "milliseconds": "ms",
            "seconds": "s"}.get(unit, "minimum")


def pprof_top(path, kind, options):
    return parse_top(run(
        ["go", "tool", "pprof", "-symbolize=none", "-top", "-nodefraction=0", "-nodecount=0",
         f"-unit={unit_of(kind[1])}", f"-sample_index={kind[0]}"]
        + [f"-{name}={value}" for name, value in options] + [str(path)]))


def memtool_top(memtool, path, kind, options):
    """memtool's answer in pprof's terms: a size of -1 counts as -1 byte there."""
    command = [memtool, "top", "--frames", "all", "--by", "function", "--format", "json", "-n", "0",
               "--sample-index", kind[0]]
    for name, value in options:
        command += [f"--{name}", value]
    answer = json.loads(run(command + [str(path)]))
    rows = defaultdict(list)
    for row in answer["rows"]:
        flat = row["flat"] - row.get("unknown", 0)
        cum = row["cum"] - row.get("unknown_cum", 0)
        # pprof has no row for these, and none for zeros.
        if row["name"] != NO_STACK and (flat or cum):
            rows[row["name"]].append((flat, cum))
    told = sum(row["flat"] for row in answer["rows"])
    if told != answer["total"]:
        raise Failure(f"memtool's rows sum to {told}, its total says {answer['total']}")
    unknown = sum(row.get("unknown", 0) for row in answer["rows"])
    if unknown != answer.get("unknown", 0):
        raise Failure(f"memtool's rows hold {unknown} unknown sizes, its total says {answer.get('unknown', 0)}")
    return answer["total_abs"], {name: sorted(values) for name, values in rows.items()}


def differences(ours, theirs):
    out = []
    if ours[0] != theirs[0]:
        out.append(f"total of absolute values: memtool {ours[0]}, pprof {theirs[0]}")
    for name in sorted(ours[1].keys() | theirs[1].keys()):
        a, b = ours[1].get(name, []), theirs[1].get(name, [])
        if a != b:
            show = lambda v: " ".join(f"flat={f} cum={c}" for f, c in v) or "no row"
            out.append(f"{name[:100]!r}: memtool {show(a)}, pprof {show(b)}")
    return out


def check(path, memtool):
    """-> number of comparisons; raises Failure at the first that differs."""
    types, names, labels = facts(path)
    rng = random.Random(path.name)
    done = 0
    for kind in types:
        for options in filters(names, labels, rng):
            what = f"{kind[0]} " + " ".join(f"--{n} {v}" for n, v in options)
            theirs = pprof_top(path, kind, options)
            done += 1
            if memtool is None:
                continue
            lines = differences(memtool_top(memtool, path, kind, options), theirs)
            if lines:
                more = [f"… and {len(lines) - 20} more"] if len(lines) > 20 else []
                raise Failure("\n    ".join([what] + lines[:20] + more))
    return done


def inputs(args, scratch):
    folders = args.reference + [d for d in os.environ.get("MEMTOOL_REFERENCE_DATA", "").split(":") if d]
    found = [Path(f) for f in args.files]
    for folder in map(Path, folders):
        found += sorted(folder.glob("jax/*.prof"))
        found += sorted(f for f in folder.glob("go-heap/*") if f.is_file())
    for seed in (1, 2):
        made = Path(scratch) / f"generated{seed}.pb.gz"
        made.write_bytes(wire.gz(wire.encode(random_profile(seed))))
        found.append(made)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", help="the program; without it only pprof's output is read")
    parser.add_argument("--reference", action="append", default=[], metavar="DIR",
                        help="folder with jax/ and go-heap/ (repeatable)")
    parser.add_argument("files", nargs="*")
    args = parser.parse_args()
    if not shutil.which("go"):
        print("SKIPPED: go is not installed")
        return 77
    failed = total = 0
    with tempfile.TemporaryDirectory() as scratch:
        paths = inputs(args, scratch)
        for path in paths:
            try:
                count = check(path, args.memtool)
                total += count
                print(f"ok    {path.name}: {count} comparisons")
            except Failure as failure:
                failed += 1
                print(f"DIFF  {path}\n    {failure}")
    how = "" if args.memtool else " (pprof's side only: no --memtool)"
    print(f"{len(paths)} files, {total} comparisons, {failed} files differ{how}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
