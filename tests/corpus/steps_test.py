#!/usr/bin/env python3
"""memtool steps and memtool diff --align against recordings whose steps are written elsewhere: every step is found, with
and without marks, at its own peak; and every byte of an aligned comparison is a difference that `memtool diff` of the
same two moments shows too."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

STEPS = 60
LAYERS = 4
EACH = 12  # one comparison in so many is asked of `memtool diff`


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--testdata", required=True, type=Path)
    args = parser.parse_args()
    failures = []

    def check(held, *said):
        if not held:
            failures.append(said)

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, args.testdata / "steps/generate.py", folder, "--steps", str(STEPS)], check=True)
        expected = json.loads((Path(folder) / "expected.json").read_text())

        def ask(*words):
            done = subprocess.run([args.memtool, *words, "--format", "json", "-n", "0"], capture_output=True, text=True,
                                  check=False)
            return done.returncode, json.loads(done.stdout)

        for name, found_by in (("base", "mark"), ("plain", "phase"), ("new", "mark"), ("micro", "phase"),
                               ("fused", "phase")):
            _, answer = ask("steps", f"{folder}/{name}.json")
            rows = answer["rows"]
            check(len(rows) == STEPS, name, "steps", len(rows))
            check(all(row["from"] == found_by and row["complete"] for row in rows), name, "not", found_by)
            check([row["peak"] for row in rows] == expected[name], name, "peaks")
            check(sum(row["allocations"] for row in rows) <= answer["traces"][0]["allocations"], name, "allocations")
            layers = [loop for loop in answer["loops"] if loop["kind"] == "layers" and loop["phase"] == "forward"]
            batches = 3 if name == "micro" else 1
            whole = sum(loop["steps"] for loop in layers if loop["repetitions"] == LAYERS)
            check(whole >= (STEPS - 6) * batches, name, "layers", whole)
        # The marks ignored: the same steps.
        _, by_mark = ask("steps", f"{folder}/base.json")
        _, by_phase = ask("steps", "--found-by", "phase", f"{folder}/base.json")
        check([row["peak"] for row in by_mark["rows"]] == [row["peak"] for row in by_phase["rows"]], "marks ignored")

        def compare(base, new, share):
            code, answer = ask("diff", "--align", f"{folder}/{base}.json", f"{folder}/{new}.json")
            check(code == 0 and answer["corresponds"], base, new, "refused")
            check(len(answer["steps"]) == STEPS, base, new, "pairs", len(answer["steps"]))
            check(answer["partner_share"] >= share, base, new, answer["partner_share"])
            for i, step in enumerate(answer["steps"]):
                peak = step["peak"]
                parts = (peak["changed_bytes"] + peak["added_bytes"] - peak["removed_bytes"] + peak["held_bytes"] +
                         peak["before_bytes"])
                check(parts == peak["new"] - peak["base"] == peak["delta"], base, new, step["base_step"], "parts")
                check(peak["base"] == expected[base][i] and peak["new"] == expected[new][i], base, new, i, "peaks")
                if i % EACH == 0 or step["new_step"] == answer["new_step"]:
                    _, plain = ask("diff", "--base-at", f"event:{peak['base_event']}", "--at",
                                   f"event:{peak['new_event']}", f"{folder}/{base}.json", f"{folder}/{new}.json")
                    check(plain["total"] == peak["delta"], base, new, i, "diff --at", plain["total"], peak["delta"])
                    if step["new_step"] == answer["new_step"]:
                        check({(row["name"], row["delta"]) for row in plain["rows"] if row["delta"]} ==
                              {(row["name"], row["delta"]) for row in answer["rows"] if row["delta"]}, base, new, "rows")
            for row in answer["rows"]:
                parts = sum(row[part] for part in ("changed", "added", "removed", "held", "before"))
                check(parts == row["delta"] == row["new"] - row["base"], base, new, row["name"])
            check(sum(row["delta"] for row in answer["rows"]) ==
                  max(answer["steps"], key=lambda step: step["peak"]["new"])["peak"]["delta"], base, new, "rows' sum")
            return answer

        same = compare("base", "plain", 0.999)  # building the model is before the first step, or in it
        check(not same["rows"], "base and plain differ")
        changed = compare("base", "new", 0.9)
        for step in changed["steps"]:
            # A buffer per layer and the list are new, loss scaling is gone, the MLP is wider.
            check((step["added"], step["removed"], step["changed"]) == (LAYERS + 1, 1, LAYERS), step)
        named = {row["name"]: row for row in changed["rows"]}
        check(named["mlp"]["changed"] > 0 and named["mlp"]["added"] == 0, "mlp", named["mlp"])
        check(named["rotary"]["added"] == named["rotary"]["delta"] > 0, "rotary", named["rotary"])
        check(named["log"]["before"] > 0, "the list that grows", named["log"])
        compare("plain", "fused", 0.8)
        code, refused = ask("diff", "--align", f"{folder}/base.json", f"{folder}/other.json")
        check(code == 1 and not refused["corresponds"] and not refused["rows"], "another program", refused["keys"])
    for failure in failures[:20]:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
