#!/usr/bin/env python3
"""What holds between the answers of all commands, whatever the input: sums, shares, signs, statuses, bytes.

usage: invariants_test.py --memtool PATH [--minutes N [--seed N]] [--keep DIR] [--only TEXT] [--rule TEXT] [FILE...]

Without --minutes: chosen inputs as they are, and a number of mutations of each kind of input; of these, the same ones
every time, a part (tests/sampling.py).
With --minutes: ever new ones, until the time is over. --keep keeps the smallest input of each kind of failure, with a
README. FILEs: these alone, as they are. --only: inputs whose name has this text; --rule: rules likewise.
"""
import argparse
import collections
import itertools
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import answers
import seeds
import sinks
import sums
from mutations import mutate

sys.path.append(str(Path(__file__).resolve().parents[1]))
import sampling

WHOLE_GROUPS = ("hostile", "field")  # these are looked at as they are,
QUICK_WHOLE = 1                      # of each other group the smallest,
QUICK_MUTATIONS = 5                  # and so many mutations of each group
ALL_RULES = [*sums.RULES, *sinks.RULES]  # those of sinks see what those of sums asked


class Case:
    """An input to try: a seed as it is, or what a number makes of it."""

    def __init__(self, seed, number=None):
        self.seed, self.number, self.done = seed, number, ""
        self.data = seed.data
        if number is not None:
            self.data, self.done = mutate(seed.data, random.Random(f"{seed.name} {number}"))

    def __str__(self):
        return self.seed.name + (f" #{self.number} ({self.done})" if self.number is not None else "")


class Found:
    """Failures by kind, with the smallest input of each."""

    def __init__(self, keep):
        self.keep, self.kinds, self.counts, self.lock = keep, {}, collections.Counter(), threading.Lock()

    def add(self, rule, kind, reader, case, detail):
        key = f"{rule.__name__}.{kind}.{reader}"
        with self.lock:
            self.counts[key] += 1
            first = key not in self.kinds
            if first or len(case.data) < len(self.kinds[key][0].data):
                self.kinds[key] = (case, rule, reader, detail)
                if self.keep:
                    self.write(key, case)
            if first:
                print(f"FAILED {key}: {case}: {printable(detail)}", flush=True)

    def path(self, key, case):
        ending = re.search(r"(\.[\w.]{1,14})?$", Path(case.seed.name).name.lstrip(".").replace(" ", "_"))[0]
        return self.keep / f"{key}{ending.replace('.gz', '')}"

    def write(self, key, case):
        self.keep.mkdir(parents=True, exist_ok=True)
        for old in self.keep.glob(f"{key}.*"):
            old.unlink()
        self.path(key, case).write_bytes(case.data)

    def report(self):
        if self.keep and self.kinds:
            lines = ["# Invariants that failed\n"]
            for key, (case, rule, reader, detail) in sorted(self.kinds.items()):
                lines.append(f"## {key} ({self.counts[key]})\n\n{rule.__doc__}\n\n- input: `{self.path(key, case).name}`, "
                             f"{len(case.data)} bytes, {reader}: {printable(str(case))}\n- {printable(detail)}\n")
            (self.keep / "README.md").write_text("\n".join(lines))


def printable(text):
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(text))[:500]


def look(memtool, case, rules, found):
    """Asks all that rules want to know of one input. -> how many command lines that were"""
    with tempfile.TemporaryDirectory() as folder:
        name = "input" + (re.search(r"\.[a-z.]+$", Path(case.seed.name).name) or [""])[0].replace(".gz", "")
        (Path(folder) / name).write_bytes(case.data)
        for companion, path in seeds.COMPANIONS.items():
            (Path(folder) / companion).symlink_to(path)
        (Path(folder) / "truth.csv").write_text(seeds.TRUTH)
        it = answers.Answers(memtool, folder, name, case.seed.role, case.done)
        # A document is no recording.
        sums_too = case.seed.role == "profile"
        asked = False
        for rule in rules:
            if rule in sums.RULES and not (sums_too and (it.info() or rule is sums.every_message_is_explained)
                                           or rule is sums.account_adds_up):
                continue
            if rule in sinks.RULES and not asked:
                sinks.ask_all(it)
                asked = True
            reader = it.info().get("format")
            reader = reader if reader in answers.formats(it.memtool) else case.seed.group  # a container's word is an input
            try:
                for kind, detail in rule(it):
                    found.add(rule, kind, reader, case, detail)
            except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
                found.add(rule, "answer", reader, case, f"an answer lacks what the rule asks for: {error!r}")
        return len(it.results)


def grouped(inputs):
    groups = collections.defaultdict(list)
    for seed in sorted(inputs, key=lambda seed: (len(seed.data), seed.name)):
        groups[seed.group].append(seed)
    return groups


def quick_cases(inputs):
    for group, members in grouped(inputs).items():
        for seed in sampling.share(members, 2, group) if group in WHOLE_GROUPS else members[:QUICK_WHOLE]:
            yield Case(seed)
    for group, members in grouped(inputs).items():
        rng = random.Random(group)
        drawn = [(rng.choice(members), number) for number in range(QUICK_MUTATIONS)]
        for seed, number in sampling.share(drawn, 3, group):
            yield Case(seed, number)


def endless_cases(inputs, start):
    groups, rng = grouped(inputs), random.Random(start)
    whole = iter(sorted(inputs, key=lambda seed: seed.group not in WHOLE_GROUPS))
    for number in itertools.count(start << 32):
        for members in groups.values():
            yield Case(rng.choice(members), number)
            if seed := next(whole, None):
                yield Case(seed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 10**6)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--rule", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("files", nargs="*", type=Path)
    args = parser.parse_args()
    memtool = str(Path(args.memtool).resolve())
    end = time.monotonic() + 60 * (args.minutes or 0)
    sinks.load_schemas(lambda words: subprocess.run([memtool, *words], capture_output=True, check=True).stdout)
    rules = [rule for rule in ALL_RULES if args.rule in rule.__name__]
    found = Found(args.keep)
    with tempfile.TemporaryDirectory() as folder:
        if args.files:
            cases = (Case(seeds.Seed(path.name, path.read_bytes(), "file", seeds.role_of(path))) for path in args.files)
        else:
            inputs = [seed for seed in seeds.all_seeds(memtool, folder) if args.only in seed.name]
            cases = endless_cases(inputs, args.seed) if args.minutes else quick_cases(inputs)
        count = asked = 0
        with ThreadPoolExecutor(args.jobs) as pool:
            running = collections.deque()
            for case in cases:
                running.append(pool.submit(look, memtool, case, rules, found))
                count += 1
                if len(running) > 4 * args.jobs:
                    asked += running.popleft().result()
                if args.minutes and time.monotonic() > end:
                    break
            asked += sum(one.result() for one in running)
    found.report()
    seed_word = f", seed {args.seed}" if args.minutes else "" if args.files else sampling.told()
    print(f"{count} inputs, {asked} command lines, {len(rules)} rules{seed_word}: {len(found.kinds)} kinds of failure")
    return 1 if found.kinds else 0


if __name__ == "__main__":
    sys.exit(main())
