#!/usr/bin/env python3
"""usage: examples_test.py --build BUILD --source SOURCE --memtool MEMTOOL [--cxx-flags=FLAGS]

Installs the library, builds the examples against what was installed, and compares what they print
with what the program says of the same files.
"""
import argparse
import json
import subprocess
import tempfile
from pathlib import Path


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser()
    for name in ("build", "source", "memtool"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    # A library that was built with sanitizers links with nothing else.
    parser.add_argument("--cxx-flags", default="")
    args = parser.parse_args()
    testdata = args.source / "testdata"
    with tempfile.TemporaryDirectory() as folder:
        prefix, build = Path(folder) / "prefix", Path(folder) / "examples"
        run("cmake", "--install", args.build, "--prefix", prefix)
        run("cmake", "-S", args.source / "examples", "-B", build, "-G", "Ninja",
            f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_FLAGS={args.cxx_flags}")
        run("cmake", "--build", build)

        profile = testdata / "pprof/jax_leak/memory9.prof"
        top = json.loads(run(args.memtool, "top", "--format", "json", profile))
        lines = run(build / "top_rows", profile).splitlines()
        assert len(lines) == len(top["rows"]), lines
        for line, row in zip(lines, top["rows"]):
            assert f" {row['name']} {row['file']}:{row['line'] or 0}" in line, (line, row)

        snapshot = testdata / "torch/small/proto4.pickle"
        for moment in ("end", "peak", "event:3"):
            said = json.loads(run(args.memtool, "top", "--at", moment, "--format", "json", snapshot))
            live = run(build / "live_bytes", snapshot, moment).splitlines()[0]
            assert int(live) == said["total"], (moment, live, said["total"])
        own = Path(folder) / "own.txt"
        own.write_text("weights 4096\nmomentum 8192\nweights 1\n")
        rows = [line.split() for line in run(build / "custom_reader", own).splitlines()]
        assert rows == [["8192", "momentum"], ["4097", "weights"]], rows
    print("the examples agree with the program")


if __name__ == "__main__":
    main()
