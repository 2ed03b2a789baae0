"""whatif against a real GPU: what it says of other settings, and what PyTorch did under them.

usage: recorded_settings_test.py --memtool PATH --testdata DIR

testdata/gpu/torch holds the same programs recorded under several settings of the allocator, each with
PyTorch's own counters (truth.json). Of each recording, replayed under its own settings, peaks of live
and reserved bytes are those counters. Of each program, the recording under default settings, replayed
under another setting, gives the reserved peak that was measured under that setting: to the byte with
expandable segments, else within MAX_ERROR of what whatif prints as LOW to RESERVED, since these settings
depend on which of several equal segments the driver returned.
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

MAX_ERROR = 0.005


def whatif(memtool, path, conf):
    words = [memtool, "whatif", "--format", "json", *(["--conf", conf] if conf else []), str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


class Test:
    def __init__(self, memtool, folder):
        self.memtool, self.folder, self.faults = memtool, folder, []
        self.truth = json.loads((folder / "truth.json").read_text())

    def peak(self, setting, name, key):
        return max(step[key] for step in self.truth[setting]["runs"][name]["steps"])

    def expect(self, what, got, wanted, error=0.0):
        if abs(got - wanted) > error * wanted:
            self.faults.append(f"{what}: {got}, and PyTorch measured {wanted}")

    def own(self, setting, name):
        answer = whatif(self.memtool, self.folder / setting / f"{name}.pickle.zst", None)
        row = next(row for row in answer["rows"] if row["recorded"])
        if not all(one["exact"] for one in answer["fidelity"]):
            self.faults.append(f"{setting}/{name}: not replayed exactly")
        self.expect(f"{setting}/{name}, reserved", row["reserved_peak"], self.peak(setting, name, "reserved_peak"))
        # Without roundup, what is live differs from what was asked for by rounding to 512 bytes alone.
        self.expect(f"{setting}/{name}, live", row["live_peak"], self.peak(setting, name, "requested_peak"))

    def other(self, setting, name):
        conf = self.truth[setting]["conf"]
        answer = whatif(self.memtool, self.folder / "default" / f"{name}.pickle.zst", conf)
        row = next(row for row in answer["rows"] if row["setting"].split(",")[0] == conf)
        wanted = self.peak(setting, name, "reserved_peak")
        error = 0.0 if setting == "expandable" else MAX_ERROR
        low, high = row["reserved_peak_low"], row["reserved_peak"]
        self.expect(f"default/{name} under {conf}", min(max(wanted, low), high), wanted, error)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--testdata", required=True, type=Path)
    args = parser.parse_args()
    test = Test(args.memtool, args.testdata / "gpu" / "torch")
    own = other = 0
    for setting, recorded in test.truth.items():
        for name in recorded["runs"]:
            test.own(setting, name)
            own += 1
            if setting not in ("default", "ranks") and name in test.truth["default"]["runs"]:
                test.other(setting, name)
                other += 1
    print("\n".join(test.faults))
    print(f"{own} recordings replayed under their own settings, {other} under another, {len(test.faults)} faults")
    return 1 if test.faults else 0


if __name__ == "__main__":
    sys.exit(main())
