#!/usr/bin/env python3
"""One snapshot, written by Python and by PyTorch's native writer, as pickle, JSON and HTML: every
command says the same of each.

usage: same_forms_test.py --memtool MEMTOOL FIRST OTHER...
"""
import argparse
import re
import subprocess
import sys

COMMANDS = [
    "top", "tree --at peak", "traces --at peak", "top --at peak", "top --at oom", "top --at start", "top --at event:3", "timeline --format csv --by stack", "leaks --all --steps 3 --format csv", "top --frames all --at peak",
    "top --at peak --by line --format json", "top --at peak --by stack", "top --at peak --by size",
    "top --by label:state", "top --at peak --by tag --format csv", "tags --at peak", "tags --format json",
    "diff --base-at start --at peak", "dot --at peak", "dot --base-at start --at peak", "convert --to folded --at peak",
    "convert --to json --at peak", "info --format json", "raw",
]


def said(memtool, command, path):
    run = subprocess.run([memtool, *command.split(), path], capture_output=True, text=True, timeout=60)
    text = run.stdout.replace("\\\n", "") + run.stderr + f"\nexit {run.returncode}"  # DOT breaks long texts
    text = text.replace(", packed with gzip", "").replace(path, "FILE").replace(path.rsplit("/", 1)[-1], "FILE")
    text = re.sub(r" {2,}# ", "  # ", text)  # NEXT's remarks are aligned behind the file's name
    # The container and its size may differ, and the order in which frames were first seen.
    text = re.sub(r"\((pickle protocol \d|JSON|HTML page)[^,)]*", "(form", text)
    text = re.sub(r'("unpacked","value":)"[^"]*"', r"\1", text)
    return re.sub(r'"(unpacked_bytes|packing)":("[a-z]*"|\d+)', r'"\1":0', text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True)
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    wrong = 0
    for command in COMMANDS:
        wanted = said(args.memtool, command, args.files[0])
        for path in args.files[1:]:
            got = said(args.memtool, command, path)
            if got != wanted:
                wrong += 1
                print(f"memtool {command}: {path} differs from {args.files[0]}:\n{got[:2000]}\n--- wanted\n{wanted[:2000]}")
    print(f"{len(COMMANDS)} commands, {len(args.files)} forms, {wrong} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
