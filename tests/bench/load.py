#!/usr/bin/env python3
"""Measures time and memory against the size of the input, and fits a line to each.

usage: load.py --memtool PATH --results FILE [--again] [--only pprof,snapshot,csv,snapshots] [--scale F]
       load.py --results FILE --report docs/load.md --plot docs/load.svg

One program runs at a time; CPU seconds and peak memory are the kernel's own (wait4), so that a
machine with other work disturbs them little. An input is made by load_inputs.py, measured, and
removed again when it is larger than 1 GB. Results are kept after each run: a second call goes on,
and with --again it measures everything once more; of several runs the least CPU time counts, since
other work on the machine only adds to it, and the largest memory.
"""
import argparse
import json
import os
import sys
from pathlib import Path

from load_plot import draw
from measuring import HERE, cached, default_cache, measure

KEEP = 1_000_000_000  # bytes: a larger input is removed once it is measured
M = 1_000_000
# kind: what a row is, the sizes, and per command the arguments and how often the input is read
KINDS = {
    "pprof": ("samples of a pprof profile", (M // 2, M, 2 * M, 5 * M, 10 * M), {
        "info": ["info"], "top": ["top", "-n", "20"], "buckets": ["buckets"], "diff": ["diff", "-n", "20"]}),
    "snapshot": ("events of a PyTorch snapshot", (M, 2 * M, 5 * M, 10 * M, 20 * M), {
        "info": ["info"], "top": ["top", "-n", "20"], "top --at peak": ["top", "--at", "peak", "-n", "20"],
        "buckets": ["buckets"]}),
    "csv": ("rows of an MXNet CSV file", (5 * M, 10 * M, 20 * M, 50 * M, 100 * M), {
        "info": ["info"], "top": ["top", "-n", "20"], "buckets": ["buckets"]}),
    "snapshots": ("snapshots of 2,000 events each, in one call", (250, 500, 1000, 2000), {
        "info": ["info"], "top": ["top", "-n", "20"], "oom": ["oom"], "leaks": ["leaks"]}),
}
SUFFIX = {"pprof": ".pb.gz", "snapshot": ".pickle", "csv": ".csv", "snapshots": ""}


def make(cache, kind, rows, seed=1):
    """In a process of its own: what that one holds must not be counted as ours."""
    return cached(cache, f"load-{kind}-{rows}-{seed}{SUFFIX[kind]}", lambda out: [
        sys.executable, "-B", str(HERE / "load_inputs.py"), kind, str(rows), out, "--seed", str(seed)])


def files_of(path):
    return [str(p) for p in sorted(path.iterdir())] if path.is_dir() else [str(path)]


def run_size(memtool, cache, kind, rows, done, keep, again):
    commands = {name: args for name, args in KINDS[kind][2].items() if again or f"{kind}/{rows}/{name}" not in done}
    if not commands:
        return
    paths = [make(cache, kind, rows)]
    if "diff" in commands:
        paths.append(make(cache, kind, rows, seed=2))
    files = files_of(paths[0])
    bytes_read = sum(os.path.getsize(f) for f in files)
    for name, args in commands.items():
        inputs = files + files_of(paths[1]) if name == "diff" else files
        result = measure([memtool, *args, *inputs])
        old = done.get(f"{kind}/{rows}/{name}", {"cpu": result["cpu"], "rss": 0, "runs": 0})
        done[f"{kind}/{rows}/{name}"] = {"cpu": min(old["cpu"], result["cpu"]), "rss": max(old["rss"], result["rss"]),
                                         "runs": old.get("runs", 1) + 1, "bytes": bytes_read}
        keep()
        print(f"{kind} {rows:,} {name}: {result['cpu']:.2f} s, {result['rss']:.0f} MiB", flush=True)
    for path in paths:
        if sum(os.path.getsize(f) for f in files_of(path)) > KEEP:
            path.unlink()


def fit(points):
    """-> (a, b, r², largest deviation from a + b·x as a share of the largest y)"""
    n = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    sxx = sum((x - mean_x) ** 2 for x, _ in points)
    b = sum((x - mean_x) * (y - mean_y) for x, y in points) / sxx
    a = mean_y - b * mean_x
    residual = sum((y - a - b * x) ** 2 for x, y in points)
    total = sum((y - mean_y) ** 2 for _, y in points)
    top = max(y for _, y in points)
    return a, b, 1 - residual / total if total else 1.0, max(abs(y - a - b * x) for x, y in points) / top


def series(done, kind):
    """-> {command: [(rows, cpu, rss)]} of what was measured"""
    _, sizes, commands = KINDS[kind]
    return {name: [(rows, done[key]["cpu"], done[key]["rss"]) for rows in sizes
                   if (key := f"{kind}/{rows}/{name}") in done] for name in commands}


def amount(rows):
    return f"{rows / M:g}M" if rows >= M // 2 else f"{rows:,}"


def straight(points):
    """A line's rise, its r² and its largest deviation; where nothing rises there is no r² to speak of."""
    low, high = min(y for _, y in points), max(y for _, y in points)
    if high < 1.1 * low:
        return "level", "–", f"{(high - low) / high:.0%}"
    _, b, r2, off = fit(points)
    return b, f"{r2:.4f}", f"{off:.1%}"


def report_kind(done, kind):
    what, sizes, _ = KINDS[kind]
    data = {name: points for name, points in series(done, kind).items() if len(points) > 2}
    sizes = [rows for rows in sizes if any(rows == p[0] for points in data.values() for p in points)]
    some = next(iter(data))
    in_file = {rows: done[f"{kind}/{rows}/{some}"]["bytes"] for rows in sizes}
    per, unit = (1, "file") if kind == "snapshots" else (M, "million")
    yield f"## {what[0].upper()}{what[1:]}\n"
    yield "| | " + " | ".join(amount(rows) for rows in sizes) + f" | a {unit} | r² | off by |"
    yield "|---|" + "---:|" * (len(sizes) + 3)
    yield "| input, MB | " + " | ".join(f"{in_file[rows] / 1e6:,.0f}" for rows in sizes) + " | | | |"
    for at, unit, digits in ((1, "s", 2), (2, "MiB", 0)):
        for name, points in data.items():
            cells = {p[0]: f"{p[at]:,.{digits}f}" for p in points}
            rise, r2, off = straight([(p[0] / per, p[at]) for p in points])
            shown = rise if isinstance(rise, str) else f"{rise:.4f}" if per == 1 else f"{rise:.{digits + 1}f}"
            yield (f"| `{name}`, {unit} | " + " | ".join(cells.get(rows, "") for rows in sizes)
                   + f" | {shown} | {r2} | {off} |")
    yield ""


HEAD = """# Time and memory against the size of the input

How both grow with the input. Each figure is CPU seconds (user and system) and the largest resident
memory, as the kernel counts them (`wait4`). The last columns are a line fitted to the row: its rise, r², and the
largest distance of a point from it, as a share of the largest figure. *Level*: the figure hardly depends on the size,
and the last column is its whole range.

![Time and memory against the size of the input](load.svg)

"""

FOOT = """## How it was measured

    tests/bench/load.py --memtool build/release/commands/memtool --results /tmp/load.json
    tests/bench/load.py --memtool build/release/commands/memtool --results /tmp/load.json --again
    tests/bench/load.py --results /tmp/load.json --report docs/load.md --plot docs/load.svg

The first command makes the inputs (`tests/bench/load_inputs.py`, fixed seeds) in `~/.cache/memtool-bench` and runs
`info`, `top -n 20`, `top --at peak -n 20`, `buckets`, `diff -n 20`, `oom` and `leaks` on them, one at a time; the
second measures everything once more: of several runs the least CPU time counts, since other work on a machine only
adds to it. `diff` reads two profiles of the size that is named. In a profile, every 500,000 samples have a caller
of their own, so that distinct stacks grow with samples; an MXNet file repeats its names, as training steps do.
"""


def report(done, path, machine):
    lines = [line for kind in KINDS if any(len(p) > 2 for p in series(done, kind).values())
             for line in report_kind(done, kind)]
    path.write_text(HEAD + "\n".join(lines) + "\n" + FOOT + (f"\n{machine}\n" if machine else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", help="the program to measure")
    parser.add_argument("--results", type=Path, required=True, help="where figures are kept, JSON")
    parser.add_argument("--again", action="store_true", help="measure everything once more")
    parser.add_argument("--only", default=",".join(KINDS), help="kinds, separated by commas")
    parser.add_argument("--scale", type=float, default=1, help="of all sizes, for a quick look")
    parser.add_argument("--cache", type=Path, default=default_cache(), help=f"inputs (default {default_cache()})")
    parser.add_argument("--report", type=Path, help="write the tables here")
    parser.add_argument("--plot", type=Path, help="write the picture here, SVG")
    parser.add_argument("--machine", default="", help="a line about the machine, for the report")
    args = parser.parse_args()
    done = json.loads(args.results.read_text()) if args.results.exists() else {}
    keep = lambda: args.results.write_text(json.dumps(done, indent=1))
    if args.memtool:
        memtool = str(Path(args.memtool).resolve())
        for kind in args.only.split(","):
            for rows in KINDS[kind][1]:
                run_size(memtool, args.cache, kind, int(rows * args.scale), done, keep, args.again)
    if args.report:
        report(done, args.report, args.machine)
    if args.plot:
        panels = [(KINDS[kind][0], M if kind != "snapshots" else 1, series(done, kind)) for kind in KINDS]
        args.plot.write_text(draw([p for p in panels if any(len(s) > 1 for s in p[2].values())]))


if __name__ == "__main__":
    sys.exit(main())
