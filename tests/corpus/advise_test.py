#!/usr/bin/env python3
"""Changes of recordings (memtool whatif --change) against recordings of programs that were so changed.

testdata/advise/train.py writes both halves of pairs with an autograd of its own, which knows nothing of edits. Those of the
folder advise/ in MEMTOOL_REFERENCE_DATA are of PyTorch on a CPU, those of testdata/gpu of PyTorch on a card. Live peaks have to agree within 1 %, reserved ones
within 3.5 %, but for some that are named.
--print writes the tables of memtool-advise(1).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from with_operators import write

LIVE, RESERVED = 0.01, 0.035
# From, the change, to; whether a rule was made on it.
REFERENCE = [
    ("base", "checkpoint:model.py:68", "ck1", True),
    ("base", "checkpoint:model.py:68,group=2", "ck2", False),
    ("base", "checkpoint:model.py:68,group=3", "ck3", False),
    ("base", "checkpoint:model.py:68,every=2", "ckevery2", False),
    ("base", "checkpoint:model.py:68,reentrant", "ck1r", False),
    ("base", "checkpoint:model.py:42", "ckattn", False),
    ("base", "checkpoint:model.py:46", "ckffn", False),
    ("tenc", "checkpoint:model.py:93", "tencck1", True),
    ("amp", "checkpoint:model.py:68", "ampck1", False),
    ("xl2048_fb", "checkpoint:model.py:253", "xl2048_fb_ck1", False),
    ("base", "batch/2", "B2", False),
    ("base", "accumulate=2", "acc2", True),
    ("V4k", "chunk-loss=4", "V4kch4", True),
    ("feO", "foreach=False", "zero0w2", True),
    ("zero0w2", "zero1=2", "zero1w2", True),
]


# Of testdata/gpu/torch, under both allocators: from, the change, to, and how far reserved bytes may be off where that is
# further.
GPU = [
    ("base", "checkpoint:train.py:101", "ck1", 0.05),
    ("base", "checkpoint:train.py:101,group=2", "ck2", None),
    ("base", "checkpoint:train.py:101,group=3", "ck3", None),
    ("base", "checkpoint:train.py:101,every=2", "ckevery2", None),
    ("base", "checkpoint:train.py:101,reentrant", "ck1r", 0.09),
    ("base", "checkpoint:train.py:59", "ckattn", None),
    ("base", "checkpoint:train.py:62", "ckffn", None),
    ("amp", "checkpoint:train.py:101", "ampck1", 0.09),
    ("half", "checkpoint:train.py:101", "halfck1", None),
    ("deep", "checkpoint:train.py:101", "deepck1", None),
    ("conv", "checkpoint:train.py:133", "convck1", 0.095),
    ("base", "batch/2", "B4", None),
    ("base", "accumulate=2", "acc2", None),
    ("acc2", "checkpoint:train.py:101", "acc2ck1", None),
    ("base", "chunk-loss=4", "chunk4", None),
    ("V32k", "chunk-loss=4", "V32kch4", None),
    ("V32kch4", "checkpoint:train.py:101", "V32kch4ck1", None),
    ("base", "foreach=False", "foreach_no", None),
    ("base", "optimizer=sgd", "sgd", None),
]

# Of the same, with the operators that their stacks would have named: with_operators.py.
AUTOCAST = [
    ("base", "autocast=bf16", "amp", None),
    ("base", "autocast=bf16 + checkpoint:train.py:101", "ampck1", 0.09),
]


def run(memtool, *arguments):
    done = subprocess.run([memtool, *arguments, "--format", "json"], capture_output=True, check=False, text=True)
    if done.returncode != 0:
        raise SystemExit(f"memtool {' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout)


def recorded(memtool, path):
    answer = run(memtool, "whatif", "--conf", "expandable_segments:False", path)
    row = next(row for row in answer["rows"] if row["own"])
    assert answer["fidelity"][0]["exact"], f"{path} is not replayed exactly"
    return row["live_peak"], row["reserved_peak"]


def edited(memtool, path, change):
    rows = run(memtool, "whatif", "--change", change, path)["rows"]
    row = next(row for row in rows if row["setting"] == change)
    return row["live_peak"], row["reserved_low"], row["reserved_high"]


def compare(memtool, folder, ending, pair, show, most=RESERVED, of=None):
    source, change, target = pair[:3]
    live, low, high = edited(memtool, str(of or Path(folder) / (source + ending)), change)
    true_live, true_reserved = recorded(memtool, str(Path(folder) / (target + ending)))
    live_error = live / true_live - 1
    errors = [low / true_reserved - 1, high / true_reserved - 1]
    # In an interval nothing is wrong.
    reserved_error = 0 if errors[0] <= 0 <= errors[1] else min(errors, key=abs)
    if show:
        made = "yes" if len(pair) > 3 and pair[3] is True else ""
        print(f"| `{source}` → `{target}` | `{change}` | {true_live / 2**30:.3f} | {100 * live_error:+.2f} "
              f"| {true_reserved / 2**30:.3f} | {100 * errors[0]:+.1f} to {100 * errors[1]:+.1f} | {made} |")
    if abs(live_error) > LIVE or abs(reserved_error) > most:
        print(f"{source} --change {change}: live {live} for {true_live} ({100 * live_error:+.2f} %), reserved {low} to "
              f"{high} for {true_reserved} ({100 * reserved_error:+.2f} %)")
        return False
    return True


def compare_needs(memtool, folder, source, target):
    needs = run(memtool, "advise", str(Path(folder) / (source + ".json.gz")))["needs"]
    true_live, true_reserved = recorded(memtool, str(Path(folder) / (target + ".json.gz")))
    errors = needs["next_step_live"] / true_live - 1, needs["next_step_reserved"] / true_reserved - 1
    if abs(errors[0]) > LIVE or abs(errors[1]) > RESERVED:
        print(f"{source}: the next step needs {needs}, {target} needs {true_live} live and {true_reserved} reserved")
        return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--testdata", required=True, type=Path)
    parser.add_argument("--print", action="store_true")
    args = parser.parse_args()
    program = args.testdata / "advise/train.py"
    sys.path.insert(0, str(program.parent))
    import train  # noqa: PLC0415
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, program, folder], check=True)
        results = [compare(args.memtool, folder, ".json.gz", pair, args.print) for pair in train.PAIRS]
        results += [compare_needs(args.memtool, folder, *pair) for pair in train.NEEDS]
    for setting in ("default", "expandable"):
        if args.print:
            print(setting)
        folder = args.testdata / "gpu/torch" / setting
        results += [compare(args.memtool, folder, ".pickle.zst", pair, args.print, pair[3] or RESERVED) for pair in GPU]
        with tempfile.NamedTemporaryFile(suffix=".pickle") as named:
            write(folder / "base.pickle.zst", Path(named.name))
            results += [compare(args.memtool, folder, ".pickle.zst", pair, args.print, pair[3] or RESERVED, named.name)
                        for pair in AUTOCAST]
    folders = filter(None, os.environ.get("MEMTOOL_REFERENCE_DATA", "").split(":"))
    real = [folder for folder in (Path(each) / "advise" for each in folders) if folder.is_dir()]
    for folder in real:
        results += [compare(args.memtool, folder, ".pickle.zst", pair, args.print) for pair in REFERENCE]
    print(f"{sum(results)} of {len(results)} pairs agree" +
          ("" if real else "; those of PyTorch were not compared: MEMTOOL_REFERENCE_DATA has no advise/"))
    sys.exit(sum(results) != len(results))


if __name__ == "__main__":
    main()
