#!/usr/bin/env python3
"""Whether the answers to real files are those that their readers would act on.

usage: field_test.py --memtool PATH --testdata FOLDER [--cases FILE] [-k TEXT]

Runs every case of cases.txt that has its input and prints a score. Inputs that begin with "@" lie in
testdata, all others in the folder MEMTOOL_REFERENCE_DATA; without it their cases are skipped.
"""
import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

# What a case may ask, beside the command: of the first row of the table, of what stands above it, of all
# that is printed, and of what must not be.
KEYS = ("name", "place", "figure", "verdict", "says", "never", "exit")
TITLES = re.compile(r"[ ]*[A-Z#%][A-Z#%. +-]*(  +|$)")


class Case:
    def __init__(self, line, command):
        self.line, self.command, self.wants = line, command, []

    def inputs(self):
        """The words of the command that are inputs: with a folder before them."""
        return [word for word in shlex.split(self.command)[1:]
                if not word.startswith("-") and ("/" in word or word.startswith("@"))]


def read_cases(path):
    """A line that begins a case is a command line; what it must show follows, indented."""
    cases = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not line[0].isspace():
            cases.append(Case(number, line))
            continue
        key, _, text = line.strip().partition(": ")
        if key not in KEYS or not text or not cases:
            sys.exit(f"{path}:{number}: not one of {', '.join(KEYS)}: {line.strip()}")
        cases[-1].wants.append((key, text))
    without = [case.line for case in cases if not case.wants]
    if without:
        sys.exit(f"{path}:{without[0]}: a case that asks for nothing")
    return cases


def squeezed(text):
    return re.sub(r"\s+", " ", text)


def split(output):
    """What stands above the table, its first row, and its titles: a line of capitals."""
    lines = output.splitlines()
    for row, line in enumerate(lines):
        if line.strip() and TITLES.match(line) and line.upper() == line and row + 1 < len(lines):
            return "\n".join(lines[:row]), lines[row + 1]
    return output, ""


def judge(case, done):
    head, row = split(done.stdout)
    everything = done.stdout + done.stderr
    where = {"name": row, "place": row, "figure": row, "verdict": head or done.stderr, "says": everything,
             "never": everything, "exit": str(done.returncode)}
    wrong = []
    for key, text in case.wants:
        found = squeezed(text) in squeezed(where[key]) if key != "exit" else text == where[key]
        if found == (key == "never"):
            wrong.append(f"{key}: {text}")
    return wrong, head, row


class Runner:
    def __init__(self, memtool, testdata, reference):
        self.memtool, self.testdata, self.reference = memtool, testdata, reference

    def place(self, word):
        if word.startswith("@"):
            return str(self.testdata / word[1:])
        return str(self.reference / word) if self.reference else None

    def run(self, case):
        """None where an input is missing."""
        command = shlex.split(case.command)
        inputs = {word: self.place(word) for word in case.inputs()}
        for word, path in inputs.items():
            if path is None or not (any(c in path for c in "*?") or Path(path).exists()):
                return None
        words = []
        for word in command:
            path = inputs.get(word, word)
            words += sorted(str(found) for found in Path("/").glob(path[1:])) if any(
                c in path for c in "*?") and word in inputs else [path]
        return subprocess.run([self.memtool, *words], capture_output=True, stdin=subprocess.DEVNULL,
                              encoding="utf-8", errors="replace", timeout=300,
                              env={**os.environ, "COLUMNS": "200"})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True, type=Path)
    parser.add_argument("--testdata", required=True, type=Path)
    parser.add_argument("--cases", type=Path, default=Path(__file__).parent / "cases.txt")
    parser.add_argument("-k", metavar="TEXT", default="", help="only cases with this text in their command")
    arguments = parser.parse_args()
    reference = os.environ.get("MEMTOOL_REFERENCE_DATA")
    runner = Runner(arguments.memtool.resolve(), arguments.testdata.resolve(),
                    Path(reference).resolve() if reference else None)
    right = skipped = 0
    wrong = []
    for case in read_cases(arguments.cases):
        if arguments.k not in case.command:
            continue
        done = runner.run(case)
        if done is None:
            skipped += 1
            continue
        faults, head, row = judge(case, done)
        if not faults:
            right += 1
            continue
        wrong.append(case)
        print(f"cases.txt:{case.line}: memtool {case.command}")
        for fault in faults:
            print(f"    wrong    {fault}")
        for line in [*head.splitlines()[:4], row, *done.stderr.splitlines()[:2]]:
            print(f"    answered {line[:190]}")
    print(f"{right} of {right + len(wrong)} answers are right"
          + (f", {skipped} left out: their inputs are not here" if skipped else ""))
    return 1 if wrong or right == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
