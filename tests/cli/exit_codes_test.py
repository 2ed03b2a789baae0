#!/usr/bin/env python3
"""Exit codes by example: each line of exit_codes.txt ends with its code, and says on stderr what it must.

usage: exit_codes_test.py --memtool PATH
"""
import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

TABLE = Path(__file__).resolve().parent / "exit_codes.txt"


def rows():
    """-> code, words, what stderr must hold"""
    for line in TABLE.read_text().splitlines():
        if line and not line.startswith("#"):
            command, _, said = line.partition(" | ")
            code, _, command = command.partition(" ")
            yield int(code), command.strip(), said.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memtool", required=True, type=Path)
    program = parser.parse_args().memtool.resolve()
    wrong, codes, count = [], set(), 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "demo"
        subprocess.run([program, "demo", folder], check=True, stdout=subprocess.DEVNULL)
        (folder / "README").write_text("text of nobody\n")
        (folder / "FULL").symlink_to("/dev/full")
        for code, command, said in rows():
            count += 1
            codes.add(code)
            done = subprocess.run([program, *shlex.split(command.replace("(", "'('"))], cwd=folder, timeout=60,
                                  stdin=subprocess.DEVNULL, capture_output=True,
                                  env={**os.environ, "XDG_CONFIG_HOME": "/nonexistent"})
            errors = done.stderr.decode(errors="replace") + (done.stdout.decode() if code == 0 or code == 1 else "")
            silent = code in (2, 3, 6) and not done.stderr
            if done.returncode != code or not re.search(re.escape(said), errors) or silent:
                wrong.append(f"{command}: exit {done.returncode}, wanted {code}: {errors[:200].strip()!r}")
            # What has no answer prints none.
            if code in (2, 3, 6) and done.stdout and not command.startswith("index"):
                wrong.append(f"{command}: prints {len(done.stdout)} bytes beside its exit code {code}")
    print("\n".join([*wrong, f"{count} command lines, {len(wrong)} wrong"]))
    return 1 if wrong or codes != {0, 1, 2, 3, 4, 6} else 0


if __name__ == "__main__":
    sys.exit(main())
