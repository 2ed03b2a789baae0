"""Two builds of memtool on the same inputs: is the new one slower, beyond noise, or does it execute more?"""
from measuring import in_turns, instructions

LEAST_NOISE = 0.02
CHANGED = 0.02  # of instructions, which depend on nothing else that the machine does
GREW = 0.05  # of peak memory


def apart(some, others):
    """How far the least of two halves lie apart, as a share of the lesser."""
    if not some or not others:
        return 0.0
    low, high = sorted((min(some), min(others)))
    return high / low - 1 if low else 0.0


def noise(runs):
    """What one build differs from itself by: every other run beside the others (which also had the other place in
    their turn), and the earlier half beside the later one."""
    half = len(runs) // 2
    return max(apart(runs[::2], runs[1::2]), apart(runs[:half], runs[half:]))


def verdict(old, new):
    """CPU seconds of both builds' runs -> {old, new, change, noise, verdict}"""
    a, b = min(old), min(new)
    change = b / a - 1 if a else 0.0
    limit = max(LEAST_NOISE, noise(old), noise(new))
    said = "slower" if change > limit else "faster" if change < -limit else "within noise"
    return {"old": a, "new": b, "change": change, "noise": limit, "verdict": said}


def memory_verdict(old, new):
    a, b = max(old), max(new)
    change = b / a - 1 if a else 0.0
    return {"old": a, "new": b, "change": change, "verdict": "grew" if change > GREW else ""}


def compare_case(case, old, new, files, runs):
    command = case.ours(*files)
    turns = in_turns([[build, *command[1:]] for build in (old, new)], max(runs, case.runs))
    of = lambda name: ([run[name] for run in side] for side in turns)
    return {"case": case.name, "cpu": verdict(*of("cpu")), "rss": memory_verdict(*of("rss")), "runs": turns}


HEAD = (f"{'':16}{'CPU s old':>12}{'new':>9}{'change':>9}{'noise':>8}  {'':12}"
        f"{'MiB old':>9}{'new':>9}{'change':>9}")


def line(result):
    cpu, rss = result["cpu"], result["rss"]
    return (f"{result['case']:16}{cpu['old']:12.3f}{cpu['new']:9.3f}{cpu['change']:+9.1%}{cpu['noise']:8.1%}  "
            f"{cpu['verdict']:12}{rss['old']:9.1f}{rss['new']:9.1f}{rss['change']:+9.1%}  {rss['verdict']}").rstrip()


def count_verdict(old, new):
    change = new / old - 1 if old else 0.0
    said = "more" if change > CHANGED else "less" if change < -CHANGED else ""
    return {"old": old, "new": new, "change": change, "verdict": said}


def count_case(case, old, new, files):
    command = case.ours(*files)
    return {"case": case.name,
            "instructions": count_verdict(*(instructions([build, *command[1:]]) for build in (old, new)))}


COUNT_HEAD = f"{'':16}{'million old':>14}{'new':>12}{'change':>9}"


def count_line(result):
    found = result["instructions"]
    return (f"{result['case']:16}{found['old'] / 1e6:14,.1f}{found['new'] / 1e6:12,.1f}{found['change']:+9.1%}"
            f"  {found['verdict']}").rstrip()


def is_slower(result):
    found = result.get("instructions") or result.get("cpu") or {}
    return found.get("verdict") in ("slower", "more")
