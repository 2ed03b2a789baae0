"""How time and memory grow with the input: some commands at three sizes, and the power law that fits."""
import math

import load
from measuring import in_turns, size_of

SIZES = (200_000, 2_000_000, 10_000_000)
# The kinds of load_inputs.py, and what runs on each.
COMMANDS = {
    "pprof": {"top": ["top", "-n", "20"], "diff": ["diff", "-n", "20"]},
    "snapshot": {"info": ["info"], "top --at peak": ["top", "--at", "peak", "-n", "20"]},
    "csv": {"top": ["top", "-n", "20"]},
}
WHAT = {"pprof": "samples of a pprof profile", "snapshot": "events of a PyTorch snapshot",
        "csv": "rows of an MXNet CSV file"}


def exponent(points):
    """k of y = a·x^k, by least squares between the logarithms; None where that is not defined."""
    points = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    mean_x = sum(x for x, _ in points) / len(points) if points else 0
    mean_y = sum(y for _, y in points) / len(points) if points else 0
    square = sum((x - mean_x) ** 2 for x, _ in points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / square if square else None


def fitted(points, measure):
    """-> {"all": exponent, "larger": of the two larger sizes}"""
    of = sorted((p["rows"], p[measure]) for p in points)
    return {"all": exponent(of), "larger": exponent(of[-2:])}


def run_kind(memtool, cache, kind, sizes, runs):
    """-> [{kind, command, points: [{rows, bytes, cpu, rss}], cpu, rss: exponents}]; sizes are run in turns"""
    first = {rows: load.make(cache, kind, rows) for rows in sizes}
    second = {rows: load.make(cache, kind, rows, seed=2) for rows in sizes} if "diff" in COMMANDS[kind] else {}
    for name, args in COMMANDS[kind].items():
        inputs = {rows: [str(first[rows])] + ([str(second[rows])] if name == "diff" else []) for rows in sizes}
        turns = in_turns([[memtool, *args, *inputs[rows]] for rows in sizes], runs)
        points = [{"rows": rows, "bytes": sum(map(size_of, inputs[rows])), "cpu": min(r["cpu"] for r in of),
                   "rss": max(r["rss"] for r in of)} for rows, of in zip(sizes, turns)]
        yield {"kind": kind, "command": name, "points": points,
               "cpu": fitted(points, "cpu"), "rss": fitted(points, "rss")}
    for path in [*first.values(), *second.values()]:
        if size_of(path) > load.KEEP:
            path.unlink()


def line(result):
    def said(measure, unit, digits):
        values = " ".join(f"{p[measure]:.{digits}f}" for p in result["points"])
        k = result[measure]["larger"]
        return f"{values} {unit}" + (f" (exponent {k:.2f})" if k is not None else "")
    sizes = " ".join(load.amount(p["rows"]) for p in result["points"])
    return f"{result['kind']} {result['command']}, {sizes}: {said('cpu', 's', 3)}, {said('rss', 'MiB', 0)}"
