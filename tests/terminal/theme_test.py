#!/usr/bin/env python3
"""Colours go by the terminal's background: by $COLORFGBG, by what the terminal answers, or neither.

usage: theme_test.py --memtool PATH --testdata DIR
"""
import argparse
import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time
from pathlib import Path

QUESTION = b"\x1b]11;?\x1b\\\x1b[c"
ATTRIBUTES = b"\x1b[?62;22c"
# The colour of the verdict of `oom`, per theme.
DARK, LIGHT, ANY = 208, 130, 166


def shown(program, words, folder, answer, typed=b"", **environment):
    """-> what a terminal shows that is the program's own, and that answers when it is asked; `typed`
    waits there before the program begins"""
    ready, begin = os.pipe()
    child, terminal = pty.fork()
    if child == 0:
        os.read(ready, 1)
        os.chdir(folder)
        os.execve(program, [str(program), *words], {"PATH": os.environ["PATH"], "MEMTOOL_PAGER": "",
                                                    "TERM": "xterm-256color", **environment})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 500, 100, 0, 0))
    os.write(terminal, typed)
    os.write(begin, b"x")
    text, asked, deadline = b"", False, time.monotonic() + 60
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            got = os.read(terminal, 65536)
        except OSError:  # the program has ended
            break
        if not got:
            break
        text += got
        if QUESTION in text and not asked:
            asked = True
            os.write(terminal, answer)
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{words}: exit {status}: {text.decode()}")
    return text, asked


def color_of(text):
    found = re.search(rb"\x1b\[38;5;(\d+)m", text)
    return int(found[1]) if found else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memtool", required=True, type=Path)
    parser.add_argument("--testdata", required=True, type=Path)
    arguments = parser.parse_args()
    program = arguments.memtool.resolve()
    folder = arguments.testdata / "pprof" / "jax_leak"
    diff = ["diff", "memory1.prof", "memory9.prof"]
    black = b"\x1b]11;rgb:0000/0000/0000\x1b\\" + ATTRIBUTES
    white = b"\x1b]11;rgb:ffff/ffff/ffff\x07" + ATTRIBUTES
    cases = [
        # what it is about, words, answer, what was typed before, environment, colour, asked
        ("a dark terminal answers", diff, black, b"", {}, DARK, True),
        ("a light one answers", diff, white, b"", {}, LIGHT, True),
        ("one that does not know the question", diff, ATTRIBUTES, b"", {}, ANY, True),
        ("one that says nothing", diff, b"", b"", {}, ANY, True),
        ("an answer in two parts is not waited for twice", diff, b"\x1b]11;rgb:ff", b"", {}, ANY, True),
        ("somebody has typed ahead", diff, black, b"ls\n", {}, ANY, False),
        ("the environment says light", diff, black, b"", {"COLORFGBG": "0;15"}, LIGHT, False),
        ("the environment says dark", diff, white, b"", {"COLORFGBG": "15;0"}, DARK, False),
        ("a theme is given", [*diff, "--theme", "light"], black, b"", {}, LIGHT, False),
        ("across ssh nobody is asked", diff, black, b"", {"SSH_CONNECTION": "a b"}, ANY, False),
        ("no colours, no question", diff, black, b"", {"NO_COLOR": "1"}, None, False),
        ("data has no colours", [*diff, "--format", "json"], black, b"", {}, None, False),
    ]
    wrong = 0
    for about, words, answer, typed, environment, color, asked in cases:
        text, was_asked = shown(program, words, folder, answer, typed, **environment)
        got = color_of(text)
        if (got, was_asked) != (color, asked):
            wrong += 1
            print(f"{about}: colour {got}, asked {was_asked}; expected {color}, {asked}")
    print(f"{len(cases)} terminals, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
