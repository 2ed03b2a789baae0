#!/usr/bin/env python3
"""Compares `memtool pprof ARGS` with `go tool pprof -symbolize=none ARGS`.

usage: pprof_habits_oracle.py --memtool PATH [--seed N] [--combinations N] [--sample N] [--only SUBSTR] FILE...

Every option alone under every command, then random combinations.  Text is compared byte for byte, graphs
and written profiles by content.  Also takes jax/*.prof, go-heap/* and four files of pprof-testdata below
every folder in the colon separated MEMTOOL_REFERENCE_DATA.  With --sample only that many of all these, chosen
by MEMTOOL_SAMPLE_SEED, or all with MEMTOOL_TEST_FULL=1.  What pprof printed is kept in a cache in the
temporary folder.  Without go: exit 77.
"""
import argparse
import multiprocessing
import os
import random
import re
import shlex
import shutil
import sys
import tempfile
import time
from collections import Counter, namedtuple
from pathlib import Path

sys.dont_write_bytecode = True
from habits_cases import (  # noqa: E402
    BASES, PROFILES, Names, cases_of, combinations, slow, spelled, to_file)
from habits_compare import Unreadable, canonical, changes, relaxed  # noqa: E402
from habits_run import Peers, make_cache, readable  # noqa: E402

TESTDATA = ("large/large.cpu", "report/sample.cpu", "golden/cppbench.cpu_no_samples_type",
            "golden/go.nomappings.crash")

# A deliberate difference: `holds(case, ours, theirs)` says that it is this and nothing else.
Known = namedtuple("Known", "name reason holds")


def only_escaping(case, ours, theirs):
    return case.command == "dot" and canonical("dot", ours, True) == canonical("dot", theirs, True)


def only_phantom_edges(case, ours, theirs):
    """pprof draws edges into nodes that it has dropped, all to one node N0 that it never describes."""
    if case.command != "dot" or not re.search(r"-> N0 \[", theirs):
        return False
    without = "\n".join(line for line in theirs.splitlines() if "-> N0 [" not in line)
    return canonical(case.command, ours) == canonical(case.command, without)


def only_colours_of_nothing(case, ours, theirs):
    """Where the total is 0, shares are 0/0 and pprof turns "not a number" into colours."""
    if case.command != "dot" or "Total samples = 0" not in theirs and " of 0 total" not in theirs:
        return False
    plain_text = [re.sub(r'(color|fillcolor)="#[0-9a-f]{6}"', "", text) for text in (ours, theirs)]
    return canonical(case.command, plain_text[0]) == canonical(case.command, plain_text[1])


KNOWN_DIFFERENCES = [
    Known("dot: no edges into nodes that are not drawn",
          "pprof lets them end in a node N0 that it never describes, an empty box in the picture",
          only_phantom_edges),
    Known("dot: colours where the total is 0",
          "pprof divides 0 by 0 and paints what comes of it", only_colours_of_nothing),
    Known("dot: quotes and control characters in labels' values are escaped",
          "pprof writes them as they are, and Graphviz refuses the graph", only_escaping),
]
# Counted separately from the differences: pprof is run with its options in front.
AFTER = "options behind the source count"
AFTER_REASON = "pprof takes them for missing files and goes on without"

# `state`: same, varies (as pprof's own output does), known, refused (by both), DIFF.
Verdict = namedtuple("Verdict", "state name lines")


def judge(case, peers):
    code, theirs, their_message = peers.pprof(case)
    our_code, ours, message = peers.ours(case)
    if code != 0:
        if our_code in (2, 3):
            return Verdict("refused", "", [])
        return Verdict("DIFF", "", [f"pprof refuses this: {their_message.splitlines()[-1:]}",
                                    f"memtool: exit {our_code} instead of 2 or 3"])
    if our_code != 0:
        return Verdict("DIFF", "", [f"memtool: exit {our_code}: {message[:300]}"])
    if ours == theirs:
        return Verdict("same", "", [])
    return compare(case, peers, readable(ours), readable(theirs))


def compare(case, peers, ours, theirs):
    try:
        mine = canonical(case.command, ours)
        if mine == canonical(case.command, theirs) and not byte_for_byte(case):
            return Verdict("same", "", [])
        for known in KNOWN_DIFFERENCES:
            if known.holds(case, ours, theirs):
                return Verdict("known", known.name, [])
        return compare_with_more_runs(case, peers, ours, mine, theirs)
    except Unreadable as what:
        return Verdict("DIFF", "", [f"cannot read the graph: {what}"])


def compare_with_more_runs(case, peers, ours, mine, theirs):
    """Where pprof prints another form on another run, equal rows may stand in any order."""
    call_tree = "call_tree" in dict(case.options)
    loosely = relaxed(case.command, ours, call_tree)
    alike = loosely == relaxed(case.command, theirs, call_tree)
    forms = {"\n".join(canonical(case.command, theirs))}
    # Two rows may swap in only one run of eight: it takes many runs to see that.
    runs = 64 if alike and not slow(Path(case.path)) else 8
    for run in range(1, runs):
        code, output, _ = peers.pprof(case, run)
        text = readable(output)
        form = canonical(case.command, text)
        forms.add("\n".join(form))
        if code == 0 and (form == mine or len(forms) > 1 and
                          (alike or loosely == relaxed(case.command, text, call_tree))):
            return Verdict("varies", kind_of(case), [])
    lines = changes(canonical(case.command, theirs), mine)
    if len(forms) > 1:
        lines = [f"(pprof itself printed {len(forms)} forms in {runs} runs; none is memtool's)"]
        lines += changes(relaxed(case.command, theirs, call_tree), loosely)
    return Verdict("DIFF", "", lines)


def byte_for_byte(case):
    return case.command not in ("dot", *PROFILES)


def kind_of(case):
    based = next((name for name, _ in case.options if name in BASES), "no base")
    return f"-{case.command}, {based}" + (", -call_tree" if "call_tree" in dict(case.options) else "")


def told(case):
    """The command line for a person to repeat, as memtool gets it."""
    options, sources = spelled(case)
    words = [*sources, *options] if case.after else [*options, *sources]
    words = [*["-output=OUT"] * to_file(case), *words]
    return "pprof " + " ".join(shlex.quote(word) for word in words)


# --- work in two processes ------------------------------------------------------------------------------
peers_here = None


def begin(*given):
    global peers_here
    peers_here = Peers(*given)


def work(case):
    peers = peers_here
    before = peers.go_runs, peers.cached
    try:
        verdict = judge(case, peers)
    except Exception as what:  # a bug in this program must not pass for agreement
        verdict = Verdict("DIFF", "", [f"the oracle itself: {type(what).__name__}: {what}"])
    return case, verdict, peers.go_runs - before[0], peers.cached - before[1]


class Summary:
    def __init__(self, show):
        self.show, self.states, self.known, self.varies = show, Counter(), Counter(), Counter()
        self.go_runs = self.cached = 0

    def report(self, name, results):
        """One line per file; below it the first failures."""
        states, failures = Counter(), []
        for case, verdict, go_runs, cached in results:
            states[verdict.state] += 1
            self.go_runs += go_runs
            self.cached += cached
            self.known[verdict.name] += verdict.state == "known"
            self.known[AFTER] += case.after and verdict.state not in ("DIFF", "refused")
            self.varies[verdict.name] += verdict.state == "varies"
            if verdict.state == "DIFF":
                failures.append((case, verdict))
        self.states += states
        counts = ", ".join(f"{n} {state}" for state, n in sorted(states.items()))
        print(f"{'DIFF ' if failures else 'ok   '} {name}: {sum(states.values())} comparisons: {counts}")
        for case, verdict in failures[:self.show]:
            print(f"  {told(case)}")
            for line in verdict.lines:
                print(f"      {line}")
        if len(failures) > self.show:
            by = Counter(case.command for case, _ in failures)
            print(f"  … {len(failures)} in all: " + ", ".join(f"{n} -{c}" for c, n in by.most_common()))
        sys.stdout.flush()

    def close(self, seconds):
        reasons = {known.name: known.reason for known in KNOWN_DIFFERENCES} | {AFTER: AFTER_REASON}
        for name, reason in reasons.items():
            print(f"known difference: {name} ({reason}): {self.known[name]}")
        for name, count in sorted((+self.varies).items()):
            print(f"pprof's own order varies: {name}: {count}")
        states = ", ".join(f"{n} {state}" for state, n in sorted(self.states.items()))
        print(f"{sum(self.states.values())} comparisons: {states or 'none'}; pprof ran {self.go_runs} times, "
              f"{self.cached} answers from the cache, {seconds:.0f} s")
        return 1 if self.states["DIFF"] or not self.states else 0


def inputs(files):
    found = [Path(f).resolve() for f in files]
    for folder in map(Path, filter(None, os.environ.get("MEMTOOL_REFERENCE_DATA", "").split(":"))):
        found += sorted(folder.glob("jax/*.prof"))
        found += sorted(f for f in folder.glob("go-heap/*") if f.is_file())
        found += [f for f in (folder / "pprof-testdata" / name for name in TESTDATA) if f.is_file()]
    missing = [str(f) for f in found if not f.is_file()]
    if missing:
        sys.exit(f"no such file: {' '.join(missing)}")
    return list(dict.fromkeys(found))


def partner_of(paths):
    """-> (a base for the file: the next that has its sample types, else itself; a file of other types)."""
    types = {path: Names(path).types for path in paths}

    def partner(path):
        at = paths.index(path)
        others = sorted(paths[at + 1:] + paths[:at], key=lambda p: p.parent != path.parent)
        base = next((p for p in others if types[p] == types[path] and not slow(p)), path)
        return base, next((p for p in others if types[p] != types[path] and not slow(p)), None)
    return partner


def sampled(jobs, count):
    """-> the same jobs with `count` cases in all, others for another MEMTOOL_SAMPLE_SEED."""
    seed = os.environ.get("MEMTOOL_SAMPLE_SEED", "1")
    places = [(job, case) for job, (_, cases) in enumerate(jobs) for case in range(len(cases))]
    chosen = set(random.Random(seed).sample(places, min(count, len(places))))
    print(f"a sample of {len(chosen)} of {len(places)} comparisons, MEMTOOL_SAMPLE_SEED={seed}")
    return [(name, [c for at, c in enumerate(cases) if (job, at) in chosen])
            for job, (name, cases) in enumerate(jobs)]


def options_of_this():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", required=True, help="the program")
    parser.add_argument("--seed", default="1", help="of the regular expressions and combinations")
    parser.add_argument("--combinations", type=int, default=300, metavar="N")
    parser.add_argument("--sample", type=int, metavar="N", help="only this many of all comparisons")
    parser.add_argument("--only", default="", metavar="SUBSTR",
                        help="only command lines that contain this (--only=-top)")
    parser.add_argument("--show", type=int, default=3, metavar="N", help="failures shown per file")
    parser.add_argument("--cache", help="folder that keeps what pprof printed")
    parser.add_argument("files", nargs="*")
    return parser.parse_args()


def main():
    args = options_of_this()
    if not shutil.which("go"):
        print("SKIPPED: go is not installed")
        return 77
    started, paths = time.monotonic(), inputs(args.files)
    partner = partner_of(paths)
    jobs = [(path.name, cases_of(path, *partner(path), args.seed)) for path in paths]
    jobs.append(("combinations", combinations(paths, partner, args.seed, args.combinations)))
    jobs = [(name, list(dict.fromkeys(c for c in cases if args.only in told(c)))) for name, cases in jobs]
    if args.sample is not None and os.environ.get("MEMTOOL_TEST_FULL") != "1":
        jobs = sampled(jobs, args.sample)
    summary = Summary(args.show)
    with tempfile.TemporaryDirectory(prefix="pprof_habits.") as scratch, \
            multiprocessing.Pool(2, begin, (args.memtool, make_cache(args.cache), scratch)) as pool:
        for name, cases in jobs:
            if cases:
                summary.report(name, pool.map(work, cases, chunksize=4))
        pool.close()
        pool.join()
    return summary.close(time.monotonic() - started)


if __name__ == "__main__":
    sys.exit(main())
