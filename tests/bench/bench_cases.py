"""What bench.py runs: the inputs and the cases, with their goals. A new one is a row here."""
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from measuring import FOLDER, HERE, ROOT

SEED = 20240607
SMALL = 200_000       # samples of the input whose size is always the same
JSON_SHARE = 20       # JSON holds every stack in full: a snapshot of as many events would be 7 GB
START_RUNS = 20       # of what takes milliseconds
PROFILE = ROOT / "testdata" / "pprof" / "jax_leak" / "memory9.prof"


@dataclass
class Case:
    name: str
    ours: Callable         # files -> command line
    peer_name: str
    peer: Callable
    files: list            # keys of input_table
    # cpu, wall: at most this multiple of the peer's; rss_mib: at most; mb_s: at least, a CPU second
    goal: dict = field(default_factory=dict)
    rate: str = ""         # of what MB/s are counted: "read" (the inputs), "written" (into FOLDER) or nothing
    runs: int = 0          # at least
    slow: bool = False


def input_table(samples):
    """-> {short name: (file name, command that writes the file)}; each is made once, then kept"""
    python = [sys.executable, "-B"]
    pprof = lambda n, *more: lambda out: [*python, str(HERE / "gen_pprof.py"), str(n), out, "--seed", str(SEED), *more]
    snapshot = lambda n, *more: lambda out: [*python, str(HERE / "gen_snapshot.py"), str(n), out, *more]
    script = lambda name, *args: [*python, str(HERE / name), *map(str, args)]
    events = max(1, samples // JSON_SHARE)
    return {
        "base.pb.gz": (f"pprof-{samples}-base.pb.gz", pprof(samples)),
        "new.pb.gz": (f"pprof-{samples}-new.pb.gz", pprof(samples, "--changed", "0.1")),
        "200k.pb.gz": (f"pprof-{SMALL}-base.pb.gz", pprof(SMALL)),
        "snapshot.pickle": (f"snapshot-{samples}.pickle", snapshot(samples)),
        "native.pickle": (f"snapshot-{samples}-native.pickle", snapshot(samples, "--form", "native")),
        "snapshot.json": (f"snapshot-{events}.json", snapshot(events, "--form", "json")),
        "allocator.pickle": (f"allocator-{samples}.pickle", lambda out: [
            *python, str(ROOT / "testdata" / "whatif" / "generate.py"), out, "--steady", "--events", str(samples)]),
        # As many rows as events; their names repeat, as training steps do.
        "mxnet.csv": (f"mxnet-{samples}.csv", lambda out: script("make_mxnet.py", samples, out)),
        # Sizes of their own: 64 files of 3 MB, 10,000 files of 100 kB, and digests of 10,000 ranks.
        "ranks-64": ("ranks-64", lambda out: script("make_ranks.py", 64, out, "--events", 60000)),
        "ranks-10000": ("ranks-10000", lambda out: script(
            "make_ranks.py", 10000, out, "--events", 2000, "--distinct", 100)),
        "digests.jsonl": ("digests-10000.jsonl", lambda out: script("make_digests.py", 10000, out)),
    }


# What else reads a whole profile, and may take a few times as long as `memtool top`.
AS_TOP = {
    "dot": ["dot"], "svg": ["svg", "-o", f"{FOLDER}/graph.svg"],
    "traces": ["traces", "-n", "20"], "tree": ["tree"], "buckets": ["buckets"], "raw": ["raw"],
    "raw-20": ["raw", "-n", "20"],
    "by-stack": ["top", "--by", "stack", "-n", "20"], "by-label": ["top", "--tagroot", "device", "-n", "20"],
    "to-pprof": ["convert", "--to", "pprof"], "to-json": ["convert", "--to", "json"],
    "to-folded": ["convert", "--to", "folded"], "merge": ["merge"],
    **{f"pprof-{report}": ["pprof", f"-{report}"] for report in ("top", "tree", "dot", "raw", "tags", "proto")},
    "pprof-peek": ["pprof", "-peek=."], "pprof-tagroot": ["pprof", "-top", "-tagroot=device"],
}
AS_TOP_GOALS = {
    **{name: {"cpu": 3} for name in (
        "dot", "svg", "traces", "tree", "buckets", "raw", "raw-20", "by-stack", "pprof-dot", "pprof-peek")},
    "to-pprof": {"cpu": 3, "rss_mib": 300},
}


def case_table(memtool, samples):
    python = lambda code: lambda f: [sys.executable, "-c", code, f]
    load = python("import pickle, sys; pickle.load(open(sys.argv[1], 'rb'))")
    load_json = python("import json, sys; json.load(open(sys.argv[1], 'rb'))")
    load_lines = python("import json, sys\nfor line in open(sys.argv[1]): json.loads(line)")
    ours = lambda *args: lambda *files: [memtool, *args, *files]
    info, top, peak = ours("info"), ours("top", "-n", "20"), ours("top", "--at", "peak", "-n", "20")
    gzip = lambda f: ["gzip", "-dc", f]
    top_of_first = lambda first, *_: top(first)
    pprof = ["go", "tool", "pprof", "-symbolize=none", "-top", "-nodecount=20"]
    rg = lambda: ["rg", "--version"]
    snapshots = {"cpu": 1 / 22, "wall": 1 / 25}
    of_job = lambda *args: lambda folder: [memtool, *args, *map(str, sorted(Path(folder).rglob("*.pickle")))]
    both_cores = {"wall": 0.55}
    conf = ("--conf", "expandable_segments:True")
    base, new, snapshot, native = ["base.pb.gz"], ["new.pb.gz"], ["snapshot.pickle"], ["native.pickle"]
    return [
        Case("start", ours("--version"), "rg --version", rg, [], {"cpu": 1.3}, runs=START_RUNS),
        Case("start-top", ours("top", str(PROFILE)), "rg --version", rg, [], {"cpu": 1.3}, runs=START_RUNS),
        Case("top-gzip", top, "gzip -dc", gzip, base, {"cpu": 0.58, "wall": 0.36}),
        # What the library takes that unpacks, and reading a file, alone: no program that does either takes less.
        Case("top-unpack", top, "igzip -dc", lambda f: ["igzip", "-dc", f], base),
        Case("snapshot-read", info, "cat", lambda f: ["cat", f], snapshot),
        Case("top-gzip-200k", top, "gzip -dc", gzip, ["200k.pb.gz"], {"cpu": 1.0}, runs=START_RUNS),
        Case("snapshot-info", info, "pickle.load", load, snapshot, snapshots),
        Case("snapshot-peak", peak, "pickle.load", load, snapshot, snapshots),
        Case("native-info", info, "pickle.load", load, native, snapshots),
        Case("native-peak", peak, "pickle.load", load, native, snapshots),
        Case("json-info", info, "json.load", load_json, ["snapshot.json"], {"mb_s": 1000}, "read"),
        Case("mxnet-lines", top, "wc -l", lambda f: ["wc", "-l", f], ["mxnet.csv"], {"mb_s": 600}, "read"),
        Case("ranks-digests", ours("ranks"), "json.loads of each line", load_lines, ["digests.jsonl"]),
        Case("ranks-64", ours("ranks"), "memtool top --at peak", of_job("top", "--at", "peak", "-n", "20"), ["ranks-64"]),
        Case("ranks-files", ours("ranks"), "memtool index", ours("index"), ["ranks-10000"]),
        *(Case(f"jobs-{name}", make(*args), "-j 1", make(*args, "-j", "1"), [inputs], both_cores)
          for name, make, args, inputs in (
              ("ranks", ours, ("ranks",), "ranks-10000"), ("index", ours, ("index",), "ranks-10000"),
              ("top", of_job, ("top", "--at", "peak"), "ranks-64"), ("leaks", of_job, ("leaks",), "ranks-64"))),
        Case("whatif-one", ours("whatif", *conf), "memtool info", info, ["allocator.pickle"]),
        Case("whatif-eight", ours("whatif", "--process-limit", "64GiB"), "memtool info", info, ["allocator.pickle"]),
        Case("whatif-fit", ours("whatif", "--fit", *conf), "memtool info", info, ["allocator.pickle"]),
        Case("diff-align", ours("diff", "--align"), "memtool info of both", info, snapshot + native),
        Case("diff-top", ours("diff"), "memtool top", top_of_first, base + new, {"wall": 1.6}),
        *(Case(name, ours(*args), "memtool top", top, base, AS_TOP_GOALS.get(name, {}))
          for name, args in AS_TOP.items()),
        *(Case(f"events-{form}", ours("events", "-n", "0", "--format", form, "-o", f"{FOLDER}/events"),
               "memtool top", top, snapshot, {"mb_s": 100}, "written") for form in ("table", "csv", "json")),
        Case("top-pprof", top, "go tool pprof -top", lambda f: [*pprof, f], base, slow=True),
        Case("diff-pprof", ours("diff"), "go tool pprof -diff_base",
             lambda b, n: [*pprof, f"-diff_base={b}", n], base + new, slow=True),
    ]
