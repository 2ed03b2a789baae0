#!/usr/bin/env python3
"""A pager takes what is longer than the screen of a terminal, and nothing else.

usage: pager_test.py --memtool PATH --testdata DIR
"""
import argparse
import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

MARK = "sed s/^/::/"  # a pager that leaves a trace


def shown(program, words, rows, folder, **environment):
    """-> what a terminal of so many rows shows, its lines"""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 100, 0, 0))
    process = subprocess.Popen([program, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=theirs,
                               stderr=theirs, env={"PATH": os.environ["PATH"], **environment})
    os.close(theirs)
    text = b""
    while True:
        try:
            got = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not got:
            break
        text += got
    os.close(ours)
    if process.wait(timeout=60) != 0:
        sys.exit(f"{words}: exit {process.returncode}: {text.decode()}")
    return text.decode().splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memtool", required=True, type=Path)
    parser.add_argument("--testdata", required=True, type=Path)
    arguments = parser.parse_args()
    program = arguments.memtool.resolve()
    folder = arguments.testdata / "pprof" / "jax_leak"
    cases = [
        # what is asked for, rows of the screen, environment, whether it is paged
        ("longer than the screen", ["top", "--help"], 24, {"TERM": "xterm", "MEMTOOL_PAGER": MARK}, True),
        ("PAGER too", ["top", "--help"], 24, {"TERM": "xterm", "PAGER": MARK}, True),
        ("the nearer one wins", ["top", "--help"], 24,
         {"TERM": "xterm", "PAGER": "false", "MEMTOOL_PAGER": MARK}, True),
        ("as long as the screen", ["top", "memory9.prof"], 24, {"TERM": "xterm", "MEMTOOL_PAGER": MARK},
         False),
        ("a tall screen", ["top", "--help"], 500, {"TERM": "xterm", "MEMTOOL_PAGER": MARK}, False),
        ("none is wanted", ["top", "--help"], 24, {"TERM": "xterm", "MEMTOOL_PAGER": ""}, False),
        ("cat is none", ["top", "--help"], 24, {"TERM": "xterm", "PAGER": "cat"}, False),
        ("none is there", ["top", "--help"], 24, {"TERM": "xterm", "MEMTOOL_PAGER": "no-such-pager"}, False),
        ("a terminal that can do nothing", ["top", "--help"], 24, {"TERM": "dumb", "MEMTOOL_PAGER": MARK},
         False),
        ("a command for a shell", ["top", "--help"], 24,
         {"TERM": "xterm", "MEMTOOL_PAGER": "cat | sed 's/^/::/'"}, True),
    ]
    wrong = 0
    for name, words, rows, environment, paged in cases:
        lines = shown(program, words, rows, folder, **environment)
        marked = [line.startswith("::") for line in lines]
        whole = len(lines) >= (40 if "--help" in words else 5)
        if not whole or (not all(marked) if paged else any(marked)):
            wrong += 1
            print(f"{name}: {sum(marked)} of {len(lines)} lines came from the pager")
    # All of it, whoever shows it.
    paged, tall = (shown(program, ["top", "--help"], rows, folder, TERM="xterm", MEMTOOL_PAGER=MARK)
                   for rows in (24, 500))
    if paged != ["::" + line for line in tall]:
        wrong += 1
        print("the pager was not given all")
    print(f"{len(cases) + 1} cases, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
