#!/usr/bin/env python3
"""Other inputs of testdata as memtool's own container: what readers of version 1 must always read.

usage: make_containers.py MEMTOOL

With another version of zstd the bytes may differ; what they say must not.
"""
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
MADE_FROM = {
    "snapshot": "torch/small/native.pickle",
    "log": "capture_log/join/log.mtcap",
    "profile": "pprof/forms/packed.pb",
    "plan": "hlo/small/program.hlo.pb",
}

for name, source in MADE_FROM.items():
    subprocess.run([sys.argv[1], "convert", "--to", "memtool", "-o", HERE / f"{name}.memtool",
                    HERE.parent / source], check=True)
