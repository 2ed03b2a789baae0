#!/usr/bin/env python3
"""What a small input may make the program allocate.

usage: memory_limit_test.py --memtool PATH
"""
import argparse
import gzip
import os
import subprocess
import sys
import tempfile
from pathlib import Path

MIB = 1 << 20


def run(memtool, *args):
    """-> exit status, stderr, the most memory in use"""
    child = subprocess.Popen([memtool, *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, errors, usage.ru_maxrss * 1024


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


# What this process held is counted for the programs that it starts, so files are written in pieces.
def write(path, head, piece, times):
    """A pprof profile of one sample type, and what is added to it."""
    types = b"\x0a\x04\x08\x01\x10\x02" + b"".join(
        b"\x32" + bytes([len(text)]) + text for text in (b"", b"space", b"bytes"))
    with gzip.open(path, "wb", compresslevel=6) as file:
        file.write(types + head)
        for _ in range(times):
            file.write(piece)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True)
    memtool = parser.parse_args().memtool
    faults = []

    def check(good, what):
        if not good:
            faults.append(what)

    with tempfile.TemporaryDirectory() as folder:
        # 5 million comments in 10 KB: one text each time, so one row.
        comments = Path(folder) / "comments.pb.gz"
        write(comments, b"", b"\x68\x01" * 100_000, 50)
        code, errors, most = run(memtool, "info", "-n", 0, comments)
        check(code == 0, f"comments: exit {code}: {errors}")
        check(most < 100 * MIB, f"comments: {most / MIB:.0f} MiB for 4 bytes each")

        # 20 million locations of one sample need 80 MB.
        stack = Path(folder) / "stack.pb.gz"
        size = 20_000_000
        ids = b"\x0a" + varint(size)
        value = b"\x12\x01\x05"
        write(stack, b"\x22\x02\x08\x01" + b"\x12" + varint(len(value) + len(ids) + size) + value + ids,
              b"\x01" * 100_000, size // 100_000)
        for limit, wanted in (("32MiB", 3), ("4GiB", 0)):
            code, errors, most = run(memtool, "info", "--max", f"memory={limit}", stack)
            check(code == wanted, f"memory={limit}: exit {code}: {errors}")
            if wanted:
                check(errors.count("\n") == 1 and str(stack) in errors and "--max memory=" in errors,
                      f"memory={limit}: {errors}")
                check(most < 64 * MIB, f"memory={limit}: {most / MIB:.0f} MiB")
    for fault in faults:
        print(fault)
    print(f"{len(faults)} failures")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
