#!/usr/bin/env python3
"""What sources and man pages name as `memtool help TOPIC` is there. usage: hints_test.py --memtool PATH --source FOLDER"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--memtool", required=True)
parser.add_argument("--source", required=True, type=Path)
given = parser.parse_args()

named = {}
for folder in ("capture", "commands", "formats", "libprofile", "man", "viewer/src"):
    for path in (given.source / folder).rglob("*"):
        if path.suffix in (".cc", ".h", ".md", ".ts", ".txt", ".yaml"):
            # A literal may go on in the next line.
            text = re.sub(r'"\s*\n\s*"', "", path.read_text(errors="replace"))
            for topic in re.findall(r"memtool help ([a-z][a-z-]+)\b", text):
                named.setdefault(topic, path)
for verb in ("lists", "shows"):  # "memtool help lists them"
    named.pop(verb, None)

missing = [f"{path}: memtool help {topic} fails" for topic, path in sorted(named.items())
           if subprocess.run([given.memtool, "help", topic], capture_output=True).returncode != 0]
print("\n".join(missing) or f"{len(named)} topics are there")
sys.exit(bool(missing) or len(named) < 4)
