#!/usr/bin/env python3
"""Every malformed file ends with exit code 3, nothing on stdout, and its reason on stderr.

usage: malformed_test.py --memtool PATH --manifest testdata/pprof/malformed/manifest.tsv
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--manifest", required=True, type=Path)
    args = parser.parse_args()
    failed = files = 0
    listed = set()
    for line in args.manifest.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        name, reason = line.split("\t")
        listed.add(name)
        for command in (["top"], ["raw"], ["convert", "--to", "json"]):
            done = subprocess.run([args.memtool, *command, str(args.manifest.parent / name)],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=20)
            error = done.stderr.decode(errors="replace")
            good = (done.returncode == 3 and not done.stdout and error.count("\n") == 1
                    and re.search(reason, error.replace(name, ""), re.IGNORECASE))
            if not good:
                failed += 1
                print(f"{name}: {command}: exit {done.returncode}, stderr {error!r}, wanted {reason}")
        files += 1
    found = {p.name for p in args.manifest.parent.iterdir() if ".pb" in p.name}
    # Read with a warning; covered by tests/cli/top.cases.
    unlisted = found - listed - {"unknown_mapping.pb"}
    if unlisted:
        failed += 1
        print("not in the manifest:", ", ".join(sorted(unlisted)))
    print(f"{files} files, {failed} failures")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
