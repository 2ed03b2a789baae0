#!/usr/bin/env python3
"""memtool check: bands to the byte, every exit code and report, and the example workflow as it stands.

usage: check_test.py --memtool PATH
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

CI = Path(__file__).resolve().parents[2] / "share/ci"
MIB = 1 << 20
FAULTS = []


def check(what, holds, more=""):
    if not holds:
        FAULTS.append(what)
        print(f"FAILED {what} {more}")


def snapshot(path, sizes, freed=()):
    """A PyTorch snapshot: an allocation per (function, bytes), and those in `freed` are gone at the end."""
    events, blocks, address = [], [], 0x7F0000000000
    for name, size in sizes:
        frames = [{"filename": "/app/model.py", "line": 7, "name": name}]
        events.append({"action": "alloc", "addr": address, "size": size, "stream": 0, "frames": frames})
        blocks.append((name, address, size, frames))
        address += size + 512
    kept = []
    for name, at, size, frames in blocks:
        if name in freed:
            events += [{"action": action, "addr": at, "size": size, "stream": 0, "frames": []}
                       for action in ("free_requested", "free_completed")]
        else:
            kept.append({"size": size, "requested_size": size, "address": at, "state": "active_allocated", "frames": frames})
    segments = [{"address": block["address"], "total_size": block["size"], "allocated_size": block["size"],
                 "active_size": block["size"], "requested_size": block["size"], "device": 0, "stream": 0,
                 "segment_type": "large", "segment_pool_id": [0, 0], "blocks": [block]} for block in kept]
    path.write_text(json.dumps({"segments": segments, "device_traces": [events]}))
    return path


def run(memtool, *words, code=None):
    done = subprocess.run([memtool, "check", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL, timeout=60, env={**os.environ, "LC_ALL": "C.UTF-8"}, check=False)
    if code is not None:
        check(f"{' '.join(map(str, words))[-120:]}: exit {code}", done.returncode == code,
              f"was {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def bands(memtool, work):
    """The last byte that is allowed, and the first that is not."""
    for base, words, allowed in [
            (0, [], 16 * MIB), (1024 * MIB, [], 16 * MIB), (10240 * MIB, [], (10240 * MIB + 512) // 100),
            (1024 * MIB, ["--max-growth", "5%"], (1024 * MIB + 512) * 5 // 100), (1024 * MIB, ["--max-growth", "64MiB"], 64 * MIB),
            (1024 * MIB, ["--max-growth", "0"], 0), (1024 * MIB, ["--max-growth", "0%"], 0)]:
        before = snapshot(work / "before.json", [("small", 512), ("grows", base)] if base else [("small", 512)])
        now = base + 512 if base else 512
        baseline = work / "baseline.json"
        run(memtool, "--write-baseline", baseline, before, code=0)
        limit = now + allowed
        for over, code in ((0, 0), (1, 1)):
            after = snapshot(work / "after.json", [("small", 512), ("grows", limit - 512 + over)])
            done = run(memtool, "--baseline", baseline, *words, "--format", "json", after, code=code)
            rows = {(row["what"], row["name"]): row for row in json.loads(done.stdout)["rows"]}
            peak = rows["peak", None]
            check(f"{base} {words}: figures", (peak["value"], peak["limit"], peak["base"], peak["over"], peak["ok"])
                  == (limit + over, limit, now, over, not over), peak)
            if over and limit > now:
                cause = peak["because"][0]
                check(f"{base} {words}: the row that did it", (cause["name"], cause["base"], cause["now"])
                      == ("grows", base if base else None, limit - 512 + over), cause)
        # Noise and savings are no fault.
        less = snapshot(work / "less.json", [("small", 512)])
        done = run(memtool, "--baseline", baseline, *words, less, code=0)
        check(f"{base} {words}: a stale baseline is noted", ("write a new baseline" in done.stdout) == (base > 0), done.stdout)


def moments(memtool, work):
    """What is gone at the end counts at the peak, and not in total."""
    both = [("stays", 100 * MIB), ("goes", 900 * MIB)]
    whole = snapshot(work / "whole.json", both, freed=("goes",))
    budget = work / "budget.yaml"
    for text, code in [("peak: 1000MiB\ntotal: 100MiB\n", 0), ("peak: 999MiB\n", 1), ("total: 99MiB\n", 1), ("devices:\n  0: 999MiB\n", 1),
                       ("devices:\n  1: 1B\n", 0), ("functions:\n  'g.es': 900MiB\n", 0), ("functions:\n  'g.es': 899MiB\n", 1),
                       ("functions:\n  'goes|stays': 999MiB\n", 1), ("{}\n", 0)]:
        budget.write_text(text)
        run(memtool, "--budget", budget, whole, code=code)
    for text in ("peak: much\n", "peak: [1]\n", "peek: 1GiB\n", "functions:\n  '(': 1GiB\n", "- peak\n", "peak:\n  a: 1\n", "devices: 1GiB\n"):
        budget.write_text(text)
        done = run(memtool, "--budget", budget, whole, code=3)
        check(f"{text!r}: says where", re.search(r"budget.yaml:\d+:\d+: ", done.stderr), done.stderr)


def reports(memtool, work):
    """Summaries, XML and annotations of names that try to get out."""
    name = "a]]>&<b>\n::error::50%\x1b[31m|`_*"
    now = snapshot(work / "now.json", [(name, 100 * MIB), ("fine", MIB)])
    budget = work / "budget.yaml"
    budget.write_text("peak: 1MiB\nfunctions:\n  'fine': 1MiB\n  '<&\"': 1MiB\n")
    summary, junit = work / "summary.md", work / "junit.xml"
    summary.write_text("before\n")
    done = run(memtool, "--budget", budget, "--summary", summary, "--junit", junit, "--annotations", now, code=1)
    root = xml.etree.ElementTree.parse(junit).getroot()
    cases = root.findall("testcase")
    check("JUnit: counts", (root.get("tests"), root.get("failures"), len(cases), len(root.findall("testcase/failure")))
          == ("3", "1", 3, 1), junit.read_text())
    check("JUnit: names", [case.get("name") for case in cases] == ["peak", "functions fine", "functions <&\""], junit.read_text())
    check("the summary is added to", summary.read_text().startswith("before\n") and "| FAILED |" in summary.read_text())
    check("the summary escapes", "<b>" not in summary.read_text() and "\x1b" not in summary.read_text(), summary.read_text())
    lines = done.stderr.splitlines()
    check("an annotation a line", len(lines) == 1 and lines[0].startswith("::error title=memtool check::") and "50%25" in lines[0], lines)
    run(memtool, "--budget", budget, "--summary", work / "no/such/folder", now, code=6)
    run(memtool, "--budget", budget, "--junit", work / "no/such/folder", now, code=6)
    run(memtool, "--budget", budget, "--junit", now, now, code=2)


def damaged(memtool, work):
    """Baselines come from repositories, and may be anything."""
    now = snapshot(work / "now.json", [("x", 100 * MIB)])
    baseline = work / "baseline.json"
    run(memtool, "--write-baseline", baseline, now, code=0)
    good = baseline.read_text()
    check("a few KB", len(good) < 4096)
    run(memtool, "--write-baseline", baseline, now, code=0)
    check("the same bytes again", baseline.read_text() == good)
    for text in ("", "{", "[]", "{}", "null", good[:-3], good.replace("baseline/1", "baseline/2"), good.replace('"digest": {', '"digestive": {'),
                 good.replace('"peak": ', '"peak": -1e3'), good.replace('"rows"', '"ros"'), "\0" + good, "[" * 100000):
        baseline.write_text(text)
        done = run(memtool, "--baseline", baseline, now, code=3)
        check(f"{text[:20]!r}: says which file", "baseline.json: " in done.stderr, done.stderr)
    # What a later version may add is left alone.
    baseline.write_text(good.replace('"digest"', '"later": [1, {"a": 2}], "digest"', 1))
    run(memtool, "--baseline", baseline, now, code=0)
    run(memtool, "--baseline", work / "none.json", now, code=3)
    run(memtool, "--baseline", work / "none.json", "--missing-baseline", "ok", now, code=0)
    run(memtool, now, code=2)
    run(memtool, "--write-baseline", baseline, now, now, code=2)
    run(memtool, "--baseline", baseline, work / "none.pickle", code=3)


def workflow(memtool, work):
    """The example, as it stands: no baseline yet, a run like it, and one that grew."""
    text = (CI / "memory.yml").read_text()
    steps = [re.sub(r"\s+", " ", step).strip() for step in re.findall(r"run: (?:>-\n)?((?:.+\n(?:          .+\n)*))", text)]
    installs = [step for step in steps if step.startswith("| ")]
    check("the workflow installs memtool", len(installs) == 1 and "scripts/memtool" in installs[0], installs)
    steps = [step for step in steps if step not in installs]
    check("the workflow has its steps", len(steps) == 3 and steps[0].startswith("python train.py"), steps)
    folder = work / "repository"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/memtool").symlink_to(memtool)
    (folder / "bin/python").write_text('#!/bin/sh\ncp "$GROWN" snapshot.pickle\n')
    (folder / "bin/python").chmod(0o755)
    (folder / "budget.yaml").write_text((CI / "budget.yaml").read_text())
    summary = folder / "summary.md"
    for grown, want in ((0, 0), (MIB, 0), (64 * MIB, 1)):
        one = snapshot(work / "one.json", [("forward", 100 * MIB + grown)])
        env = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "GROWN": str(one), "GITHUB_STEP_SUMMARY": str(summary)}
        codes = [subprocess.run(["sh", "-c", step], cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                stdin=subprocess.DEVNULL, check=False).returncode for step in steps]
        check(f"the workflow, {grown} grown", codes == [0, want, 0], codes)
        if grown == MIB:  # not committed
            run(memtool, "--write-baseline", folder / "memory.json",
                snapshot(work / "first.json", [("forward", 100 * MIB)]), code=0)
    check("its summary", summary.read_text().count("VERDICT") == 3, summary.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", required=True, type=lambda path: str(Path(path).resolve()))
    args = parser.parse_args()
    for test in (bands, moments, reports, damaged, workflow):
        with tempfile.TemporaryDirectory() as work:
            test(args.memtool, Path(work))
    print(f"{len(FAULTS)} faults")
    return 1 if FAULTS else 0


if __name__ == "__main__":
    sys.exit(main())
