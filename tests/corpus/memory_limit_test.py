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


def profile(fields):
    """A pprof profile of one sample type, and what `fields` adds."""
    types = b"\x0a\x04\x08\x01\x10\x02" + b"".join(
        b"\x32" + bytes([len(text)]) + text for text in (b"", b"space", b"bytes"))
    return gzip.compress(types + fields)


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
        comments.write_bytes(profile(b"\x68\x01" * 5_000_000))
        code, errors, most = run(memtool, "info", "-n", 0, comments)
        check(code == 0, f"comments: exit {code}: {errors}")
        check(most < 100 * MIB, f"comments: {most / MIB:.0f} MiB for 4 bytes each")

        # 20 million locations of one sample need 80 MB.
        stack = Path(folder) / "stack.pb.gz"
        ids = b"\x01" * 20_000_000
        size, length = len(ids), b""
        while size > 127:
            length += bytes([size & 127 | 128])
            size >>= 7
        length += bytes([size])
        sample = b"\x0a" + length + ids + b"\x12\x01\x05"
        size, outer = len(sample), b""
        while size > 127:
            outer += bytes([size & 127 | 128])
            size >>= 7
        outer += bytes([size])
        stack.write_bytes(profile(b"\x12" + outer + sample + b"\x22\x02\x08\x01"))
        for limit, wanted in (("32MiB", 3), ("4GiB", 0)):
            code, errors, most = run(memtool, "info", "--limit", f"memory={limit}", stack)
            check(code == wanted, f"memory={limit}: exit {code}: {errors}")
            if wanted:
                check(errors.count("\n") == 1 and str(stack) in errors and "--limit memory=" in errors,
                      f"memory={limit}: {errors}")
                check(most < 64 * MIB, f"memory={limit}: {most / MIB:.0f} MiB")
    for fault in faults:
        print(fault)
    print(f"{len(faults)} failures")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
