#!/usr/bin/env python3
"""Runs every command that answers name as the next one (NEXT), as it stands there: none leads nowhere.

The lines are those of the golden files of tests/cli; an answer for each is that the command ends well
and shows something.

usage: next_test.py --memtool PATH --testdata DIR
"""
import argparse
import concurrent.futures
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

CLI = Path(__file__).resolve().parents[1] / "cli"
LINE = re.compile(r"(?:NEXT)? +(memtool .*?)(?:  # .*)?$")
GOOD = {0, 1, 4}  # 1: a threshold that is crossed, 4: inputs of a job that cannot be read


def commands_of(text):
    """-> the command lines after NEXT"""
    lines = iter(text.splitlines())
    for line in lines:
        if not line.startswith("NEXT"):
            continue
        while match := LINE.match(line):
            yield match[1].split(" > ")[0]
            line = next(lines, "")


def folders():
    """-> (folder below testdata, name, command line) of all cases that run beside their inputs"""
    for cases in sorted(CLI.glob("*.cases")):
        folder = name = run = None
        for line in [*cases.read_text().splitlines(), "[end]"]:
            line = line.strip()
            if line.startswith("["):
                if folder:
                    yield folder, name, run
                folder, name, run = None, line[1:-1], None
            elif line.startswith("in:"):
                folder = line[3:].strip()
            elif line.startswith("run:"):
                run = line[4:].strip()
            elif line.startswith(("scratch:", "then:")):
                folder = None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memtool", required=True, type=Path)
    parser.add_argument("--testdata", required=True, type=Path)
    arguments = parser.parse_args()
    program = arguments.memtool.resolve()
    asked, wrong = {}, []
    for folder, name, line in folders():
        golden = arguments.testdata / folder / "expected" / f"{name}.txt"
        if golden.exists():
            for command in commands_of(golden.read_text(errors="replace")):
                asked.setdefault((folder, command), name)
                if command == f"memtool {line}":
                    wrong.append(f"{name}: names itself: {command}")

    def run(key):
        folder, command = key
        words = shlex.split(command)
        done = subprocess.run([program, *words[1:]], cwd=arguments.testdata / folder, timeout=120,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode in GOOD and done.stdout.strip():
            return None
        return (f"{asked[key]}: in {folder}: {command}: exit {done.returncode}, {len(done.stdout)} bytes: "
                f"{done.stderr.decode(errors='replace').strip()}")

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong += [fault for fault in pool.map(run, asked) if fault]
    for fault in wrong:
        print(fault)
    print(f"{len(asked)} commands, {len(wrong)} lead nowhere")
    return 1 if wrong or len(asked) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
