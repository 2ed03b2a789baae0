"""Figures of a result in words: goals and whether they are met, round units, short command lines."""
import math
from pathlib import Path

SAID = {"cpu": "CPU", "wall": "wall", "rss_mib": "MiB", "mb_s": "MB/s"}

MOST_WORDS = 12  # of a command line; a job has many files


def reached(result):
    """-> per kind of goal what was measured, as goals state it"""
    return {"cpu": result["cpu"]["ratio"], "wall": result["wall"]["ratio"], "rss_mib": result["rss"]["memtool"],
            "mb_s": result.get("mb_s")}


def verdicts(result):
    """-> {kind: True where the goal is met}; nothing for what could not be measured"""
    if "error" in result:
        return {}
    have = reached(result)
    return {kind: have[kind] >= goal if kind == "mb_s" else have[kind] <= goal
            for kind, goal in result.get("goal", {}).items() if have[kind] is not None}


def significant(value, digits):
    """1234.5 -> 1,235; 0.08312 -> 0.0831: whole parts are never rounded away."""
    if not value:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{places}f}"


def seconds(value):
    return f"{value * 1000:.1f} ms" if value < 0.0995 else f"{significant(value, 3)} s"


def times(value):
    return "–" if value is None else significant(value, 3) + "×"


def goal_value(kind, goal):
    if kind in ("cpu", "wall"):
        whole = round(1 / goal)
        return f"1/{whole}" if goal < 0.5 and abs(1 / goal - whole) < 1e-9 else f"{goal:g}"
    return f"{goal:,g}"


def goal_words(result, missed="missed"):
    """One per goal, such as "CPU 0.85 met"."""
    have = verdicts(result)
    return [f"{SAID[kind]} {goal_value(kind, goal)} " + {True: "met", False: missed, None: "not measured"}[have.get(kind)]
            for kind, goal in result.get("goal", {}).items()]


def short(command, files):
    """A command line to read: no folders, inputs by their short names; files: {path: short name}"""
    words = [files.get(word) or (Path(word).name if "/" in word else word) for word in command]
    return " ".join([*words[:MOST_WORDS // 2], "…"] if len(words) > MOST_WORDS else words)


def show(result):
    """-> the lines that bench.py prints of a case"""
    yield (f"\n{result['case']}: {result['short']}, against {result['peer']}; "
           f"least of {result['runs']} runs each, in turns")
    yield f"  {'':8}{'memtool':>12}{'peer':>12}{'ratio':>10}"
    have = verdicts(result)
    for name, kind, unit in (("cpu", "cpu", "s"), ("wall", "wall", "s"), ("rss", "rss_mib", "MiB")):
        m = result[name]
        text = seconds if unit == "s" else lambda value: f"{value:,.0f} MiB"
        goal = "".join(f"   goal {goal_value(kind, g)}: {'met' if have.get(kind) else 'missed'}"
                       for k, g in result["goal"].items() if k == kind)
        yield f"  {name:8}{text(m['memtool']):>12}{text(m['peer']):>12}{times(m['ratio']):>10}{goal}"
    if result.get("mb_s"):
        goal = result["goal"].get("mb_s")
        said = f"   goal {goal:,g}: {'met' if have['mb_s'] else 'missed'}" if goal else ""
        yield f"  {'speed':8}{result['mb_s']:,.0f} MB/s {result['rate']}{said}"
    small = [side for side in ("memtool", "peer") if result["rss"][side] <= result["rss_floor"] * 1.05]
    if small:
        yield f"  memory of {' and '.join(small)} is at most this: what this script itself holds hides less"
