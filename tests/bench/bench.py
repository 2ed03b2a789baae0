#!/usr/bin/env python3
"""Times memtool against other programs on the same inputs, turn by turn.

usage: bench.py --memtool PATH [--against PATH] [--samples N] [--runs N] [--cases A,B] [--slow] [--json OUT]

The result is the ratio memtool / peer of each pair of runs made one after the
other, so that a busy machine disturbs both sides alike. Nothing is asserted.
"""
import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
MEASURES = (("wall", "s"), ("cpu", "s"), ("rss", "MiB"))
SEED = 20240607


# --- inputs: name -> command that writes the file (made once, then kept) ---

def input_table(samples):
    gen = [sys.executable, str(HERE / "gen_pprof.py"), str(samples)]
    snapshot = [sys.executable, str(HERE / "gen_snapshot.py"), str(samples)]
    return {
        f"pprof-{samples}-base.pb.gz": lambda out: gen + [out, "--seed", str(SEED)],
        f"pprof-{samples}-new.pb.gz": lambda out: gen + [out, "--seed", str(SEED), "--changed", "0.1"],
        f"snapshot-{samples}.pickle": lambda out: snapshot + [out],
        f"snapshot-{samples}-native.pickle": lambda out: snapshot + [out, "--writer", "native"],
        f"allocator-{samples}.pickle": lambda out: [
            sys.executable, "-B", str(HERE.parents[1] / "testdata" / "whatif" / "generate.py"), out, "--steady",
            "--events", str(samples)],
        # As many rows as events; their names repeat, as training steps do.
        f"mxnet-{samples}.csv": lambda out: [sys.executable, str(HERE / "make_mxnet.py"), str(samples), out],
        # Sizes of their own: 64 files of 3 MB, 10,000 files of 100 kB, and digests of 10,000 ranks.
        "ranks-64": lambda out: [sys.executable, str(HERE / "make_ranks.py"), "64", out, "--events", "60000"],
        "ranks-10000": lambda out: [sys.executable, str(HERE / "make_ranks.py"), "10000", out, "--events", "2000",
                                    "--distinct", "100"],
        "digests-10000.jsonl": lambda out: [sys.executable, str(HERE / "make_digests.py"), "10000", out],
    }


# Commands beside `memtool top` on one profile.
AS_TOP = {
    "traces": ["traces", "-n", "20"], "tree": ["tree"], "buckets": ["buckets"], "raw": ["raw"],
    "by-stack": ["top", "--by", "stack", "-n", "20"], "by-label": ["top", "--tagroot", "device", "-n", "20"],
    "to-pprof": ["convert", "--to", "pprof"], "to-json": ["convert", "--to", "json"],
    "to-folded": ["convert", "--to", "folded"], "merge": ["merge"],
    **{f"pprof-{report}": ["pprof", f"-{report}"] for report in ("top", "tree", "dot", "raw", "tags", "proto")},
    "pprof-tagroot": ["pprof", "-top", "-tagroot=device"],
}


# --- cases: one row each; a later format adds inputs above and rows here ---

def case_table(memtool, samples):
    base, new, snapshot, native, allocator, mxnet, ranks, many, digests = input_table(samples)
    top = lambda f: [memtool, "top", "-n", "20", f]
    pprof = ["go", "tool", "pprof", "-symbolize=none"]
    row = lambda name, ours, peer_name, peer, files, slow=False: {
        "name": name, "memtool": ours, "peer_name": peer_name, "peer": peer, "files": files, "slow": slow}
    load = lambda f: [sys.executable, "-c", "import pickle, sys; pickle.load(open(sys.argv[1], 'rb'))", f]
    peak = lambda f: [memtool, "top", "--at", "peak", "-n", "20", f]
    return [
        row("snapshot-info", lambda f: [memtool, "info", f], "pickle.load", load, [snapshot]),
        row("snapshot-peak", peak, "pickle.load", load, [snapshot]),
        row("native-info", lambda f: [memtool, "info", f], "pickle.load", load, [native]),
        row("native-peak", peak, "pickle.load", load, [native]),
        row("whatif-one", lambda f: [memtool, "whatif", "--conf", "expandable_segments:True", f], "memtool info",
            lambda f: [memtool, "info", f], [allocator]),
        row("whatif-eight", lambda f: [memtool, "whatif", "--limit", "64GiB", f], "memtool info",
            lambda f: [memtool, "info", f], [allocator]),
        row("whatif-fit", lambda f: [memtool, "whatif", "--fit", "--conf", "expandable_segments:True", f],
            "memtool info", lambda f: [memtool, "info", f], [allocator]),
        row("ranks-64", lambda f: [memtool, "ranks", f], "memtool top --at peak",
            lambda f: [memtool, "top", "--at", "peak", "-n", "20", *map(str, sorted(Path(f).rglob("*.pickle")))], [ranks]),
        row("ranks-files", lambda f: [memtool, "ranks", f], "memtool index", lambda f: [memtool, "index", f], [many]),
        row("diff-align", lambda a, b: [memtool, "diff", "--align", a, b], "memtool info of both",
            lambda a, b: [memtool, "info", a, b], [snapshot, native]),
        row("ranks-digests", lambda f: [memtool, "ranks", f], "json.loads of each line", lambda f: [
            sys.executable, "-c", "import json, sys\nfor line in open(sys.argv[1]): json.loads(line)", f], [digests]),
        row("top-gzip", lambda b: top(b), "gzip -dc", lambda b: ["gzip", "-dc", b], [base]),
        row("diff-top", lambda b, n: [memtool, "diff", b, n], "memtool top", lambda b, n: top(b), [base, new]),
        row("dot-top", lambda b: [memtool, "dot", b], "memtool top", lambda b: top(b), [base]),
        # What else reads a whole profile, and may take a few times as long.
        *(row(f"{name}-top", lambda b, args=args: [memtool, *args, b], "memtool top", lambda b: top(b), [base])
          for name, args in AS_TOP.items()),
        *(row(f"events-{form}", lambda f, form=form: [memtool, "events", "-n", "0", "--format", form, f],
              "memtool top", lambda f: top(f), [snapshot]) for form in ("table", "csv", "json")),
        row("mxnet-lines", lambda f: top(f), "wc -l", lambda f: ["wc", "-l", f], [mxnet]),
        row("top-pprof", lambda b: top(b), "go tool pprof -top",
            lambda b: pprof + ["-top", "-nodecount=20", b], [base], slow=True),
        row("diff-pprof", lambda b, n: [memtool, "diff", b, n], "go tool pprof -diff_base",
            lambda b, n: pprof + ["-top", "-nodecount=20", f"-diff_base={b}", n], [base, new], slow=True),
    ]


def cached(folder, name, command):
    path = folder / name
    if not path.exists():
        print(f"making {path}", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        # Under another name first, so that an interrupted maker leaves no partial input.
        part = path.with_name(name + ".part")
        subprocess.run(command(str(part)), check=True)
        part.rename(path)
    return path


def measure(command):
    """-> {wall, cpu, rss} of one run, output discarded.

    The kernel counts what this script held when it started the child, so rss
    never shows less than that: see rss_floor().
    """
    with open(os.devnull, "wb") as null, tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        pid = os.posix_spawnp(command[0], command, os.environ, file_actions=[
            (os.POSIX_SPAWN_DUP2, null.fileno(), 1), (os.POSIX_SPAWN_DUP2, errors.fileno(), 2)])
        _, status, usage = os.wait4(pid, 0)
        wall = time.monotonic() - start
        if status:
            errors.seek(0)
            said = errors.read(500).decode(errors="replace").strip()
            raise RuntimeError(f"{' '.join(command)}: exit {os.waitstatus_to_exitcode(status)}: {said}")
    return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "rss": usage.ru_maxrss / 1024}


def rss_floor():
    """In MiB: a peak at or below this is only known to be no larger."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def run_case(case, files, runs):
    ours, peer = case["memtool"](*files), case["peer"](*files)
    pairs = []
    for turn in range(runs + 1):
        pair = (measure(ours), measure(peer))
        if turn:  # the first pair only warms the page cache
            pairs.append(pair)
    result = {"case": case["name"], "peer": case["peer_name"], "commands": [ours, peer], "pairs": pairs}
    for name, _ in MEASURES:
        mine, theirs = [p[0][name] for p in pairs], [p[1][name] for p in pairs]
        ratios = sorted(a / b for a, b in zip(mine, theirs) if b)
        result[name] = {"memtool": statistics.median(mine), "peer": statistics.median(theirs),
                        "ratio": statistics.median(ratios) if ratios else None,
                        "ratio_low": ratios[0] if ratios else None,
                        "ratio_high": ratios[-1] if ratios else None}
    return result


def version(command):
    if not shutil.which(command[0]):
        return None
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = done.stdout.decode(errors="replace").splitlines()
    return lines[0] if lines else "?"


def show(result):
    print(f"\n{result['case']}: memtool against {result['peer']}, {len(result['pairs'])} pairs, medians")
    print(f"  {'':8}{'memtool':>12}{'peer':>12}{'ratio':>9}   range of ratios")
    for name, unit in MEASURES:
        m = result[name]
        if m["ratio"] is None:
            print(f"  {name:8}{m['memtool']:10.3f} {unit:<3}{m['peer']:8.3f} {unit:<3}{'–':>8}")
            continue
        digits = 3 if unit == "s" else 1
        print(f"  {name:8}{m['memtool']:8.{digits}f} {unit:<3}{m['peer']:8.{digits}f} {unit:<3}"
              f"{m['ratio']:9.3f}   {m['ratio_low']:.3f} … {m['ratio_high']:.3f}")
    small = [side for side in ("memtool", "peer") if result["rss"][side] <= rss_floor() * 1.05]
    if small:
        print(f"  rss of {' and '.join(small)} is an upper bound: this script's own size hides less")


def main():
    default_cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "memtool-bench"
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", required=True, help="the program")
    parser.add_argument("--against", help="another memtool, which is the peer of every case")
    parser.add_argument("--samples", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=5, help="pairs per case, after one to warm up")
    parser.add_argument("--cases", help="names, separated by commas (default: all that are not slow)")
    parser.add_argument("--slow", action="store_true", help="also cases whose peer takes minutes")
    parser.add_argument("--cache", type=Path, default=default_cache, help=f"inputs (default {default_cache})")
    parser.add_argument("--json", type=Path, help="write every single run here")
    args = parser.parse_args()

    memtool = shutil.which(args.memtool)
    if not memtool:
        parser.error(f"no program {args.memtool}")
    memtool = str(Path(memtool).resolve())
    cases = case_table(memtool, args.samples)
    if args.against:
        other = str(Path(args.against).resolve())
        cases = [dict(case, peer_name=f"memtool {other}", slow=False,
                      peer=lambda *files, ours=case["memtool"]: [other, *ours(*files)[1:]]) for case in cases]
    if args.cases:
        wanted = args.cases.split(",")
        unknown = set(wanted) - {c["name"] for c in cases}
        if unknown:
            parser.error(f"no case {', '.join(sorted(unknown))}; there are: {', '.join(c['name'] for c in cases)}")
        cases = [c for c in cases if c["name"] in wanted]
    elif not args.slow:
        cases = [c for c in cases if not c["slow"]]

    versions = {"memtool": version([memtool, "--version"]), "gzip": version(["gzip", "--version"]),
                "go": version(["go", "version"]), "python": platform.python_version()}
    for name, text in versions.items():
        print(f"{name:8} {text or 'not installed'}")
    print(f"{'machine':8} {platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")

    table, results = input_table(args.samples), []
    for case in cases:
        peer = case["peer_name"].split()[0]
        if peer != "memtool" and not shutil.which(peer):
            print(f"\n{case['name']}: skipped, {peer} is not installed")
            continue
        files = [str(cached(args.cache, f, table[f])) for f in case["files"]]
        try:
            results.append(run_case(case, files, args.runs))
            show(results[-1])
        except RuntimeError as error:
            print(f"\n{case['name']}: could not run: {error}")
            results.append({"case": case["name"], "error": str(error)})
    if args.json:
        args.json.write_text(json.dumps({"versions": versions, "samples": args.samples, "results": results}, indent=1))
    return 1 if any("error" in r for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
