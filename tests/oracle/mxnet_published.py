#!/usr/bin/env python3
"""The published breakdowns of Sockeye's memory (TBD benchmark suite, 2018), to the byte.

usage: mxnet_published.py --memtool PATH --keywords FOLDER

Bytes were computed from the published logs with the rule of the published analyser (first keyword that
occurs in a tag); the percentages printed in the published plots follow from them. The logs are looked for in
mxnet/ of the folders in the colon separated MEMTOOL_REFERENCE_DATA; without them: exit 77.
"""
import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

LAYER = ("Attention", "RNN", "Output", "Others")
STRUCTURE = ("Feature Maps", "Weights", "Workspace", "Others")
# log, expected sum in MiB, rows, total, bytes per layer, bytes per kind of data, published layer percentages
PUBLISHED = [
    ("iwslt15-vi_en-tbd-memory_profile.log", 9077, 6780, 8_723_175_528,
     (5_372_137_376, 1_878_598_656, 790_401_824, 682_037_672),
     (8_277_046_980, 443_757_664, 1_089_472, 1_281_412), (59, 21, 9, 8)),
    ("iwslt15-vi_en-groundhog-memory_profile.log", 4477, 2920, 4_167_080_442,
     (1_666_866_752, 1_098_940_960, 550_264_448, 851_008_282),
     (3_415_095_716, 751_374_848, 308_146, 301_732), (37, 25, 12, 19)),
]
# In MiB, as the text of the plots says in other words: 757.9 / 503.0.
UNTRACKABLE = {9077: 794_748_824}


def run(memtool, *args):
    out = subprocess.run([memtool, *map(str, args)], capture_output=True, timeout=120, check=False)
    if out.returncode != 0:
        sys.exit(f"memtool {' '.join(map(str, args))}: {out.returncode}: {out.stderr.decode()}")
    return json.loads(out.stdout)


def check(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: {got}, published {wanted}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--keywords", type=Path, required=True)
    args = parser.parse_args()
    folders = [Path(each) / "mxnet" for each in os.environ.get("MEMTOOL_REFERENCE_DATA", "").split(":") if each]
    data = next((each for each in folders if (each / PUBLISHED[0][0]).is_file()), None)
    if data is None:
        print("skipped: MEMTOOL_REFERENCE_DATA names no folder with the published logs")
        sys.exit(77)
    for log, mib, rows, total, layers, structures, percents in PUBLISHED:
        path = data / log
        for file, names, sums in (("layers.yaml", LAYER, layers),
                                  ("data_structures.yaml", STRUCTURE, structures)):
            got = run(args.memtool, "buckets", "--format", "json", "--keywords", args.keywords / file,
                      "--expected-sum", f"{mib}MiB", path)
            by_name = {row["bucket"]: row for row in got["rows"]}
            check(f"{log}: total", got["total"], total)
            for name, wanted in zip(names, sums):
                check(f"{log}: {name}", by_name[name]["bytes"], wanted)
            check(f"{log}: rows", sum(row["count"] for row in got["rows"] if row["count"]), rows)
            check(f"{log}: untrackable", got["untrackable"], mib * 1048576 - total)
            check(f"{log}: untrackable", by_name["Untrackable"]["bytes"],
                  UNTRACKABLE.get(mib, mib * 1048576 - total))
            # The published plots divided by 9077 "MB" of 10^6 bytes and called 9 decimal GB the whole.
            if file == "layers.yaml":
                for name, percent in zip(LAYER, percents):
                    check(f"{log}: percent of {name}", round(by_name[name]["bytes"] / mib / 1e4), percent)
        both = run(args.memtool, "buckets", "--format", "json", "--keywords", args.keywords / "both.yaml", path)
        sums = {}
        for row in both["rows"]:
            sums.setdefault(row["axis"], []).append(row["bytes"])
        check(f"{log}: two axes", {axis: sum(values) for axis, values in sums.items()},
              {"layer": total, "data structure": total})
    print("all published figures hold")


if __name__ == "__main__":
    main()
