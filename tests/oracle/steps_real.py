#!/usr/bin/env python3
"""`memtool steps` of real snapshots, against counts that were made by other means: phases, and layers as period times
repetitions.

usage: steps_real.py --memtool PATH

Files are those below torch/ of the folders in the colon separated MEMTOOL_REFERENCE_DATA. Without any: exit 77.
"""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

# File: steps, allocations by phase, loops (phase, period, repetitions). GPT-2 medium has 24 layers, the small one 12;
# 219 parameters are updated with 14 allocations each. Of the last backward no stacks were recorded.
EXPECTED = {
    "wedsonlin_medium_1024_training.pickle": (
        1, {"forward": 1678, "backward": 2847, "optimizer": 3066},
        [("forward", 69, 24), ("backward", 117, 24), ("optimizer", 14, 219)]),
    "wedsonlin_medium_128_inference.pickle": (0, {"forward": 1280}, [("forward", 53, 24)]),
    "magma27.pickle": (1, {"forward": 644, "backward": 1066}, [("forward", 53, 12), ("backward", 86, 12)]),
}
WITHIN = 1  # allocations at a border between phases: a scalar of the loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True)
    args = parser.parse_args()
    folders = [Path(each) for each in os.environ.get("MEMTOOL_REFERENCE_DATA", "").split(":") if each]
    files = {file.name: file for folder in folders for file in sorted((folder / "torch").glob("*.pickle"))}
    found = [name for name in EXPECTED if name in files]
    if not found:
        print("skipped: MEMTOOL_REFERENCE_DATA names no folder with real files")
        sys.exit(77)
    failed = 0

    def ask(*words):
        out = subprocess.run([args.memtool, *words, "--format", "json"], capture_output=True, timeout=300, check=False)
        return out.returncode, json.loads(out.stdout)

    for name in found:
        steps, phases, loops = EXPECTED[name]
        _, shown = ask("steps", files[name])
        runs = {}
        for run in shown["traces"][0]["phases"]:
            runs[run["phase"]] = runs.get(run["phase"], 0) + run["allocations"]
        told = [(loop["phase"], loop["period"], loop["repetitions"]) for loop in shown["loops"]
                if loop["kind"] in ("layers", "parameters")]
        held = len(shown["rows"]) == steps and told == loops and all(
            abs(runs.get(phase, 0) - count) <= WITHIN for phase, count in phases.items())
        print(f"{name}: {len(shown['rows'])} steps, {runs}, {told}: {'as expected' if held else 'WRONG'}")
        failed += not held
        code, same = ask("diff", "--align", files[name], files[name])
        if code != 0 or same["partner_share"] != 1 or same["rows"]:
            print(f"{name}: does not correspond to itself")
            failed += 1
    training, inference, other = EXPECTED
    if all(name in files for name in EXPECTED):
        # Inference is all of forward, and nothing else of the step.
        _, part = ask("diff", "--align", files[inference], files[training])
        step = part["steps"][0]
        share = step["matched"] / (step["matched"] + step["removed"])
        print(f"inference in training: {share:.2%} of the smaller")
        failed += share < 0.86
        code, refused = ask("diff", "--align", files[other], files[training])
        print(f"two authors: {refused['keys']}")
        failed += code != 1 or refused["corresponds"]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
