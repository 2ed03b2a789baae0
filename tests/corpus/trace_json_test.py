#!/usr/bin/env python3
"""Profiler traces as JSON (trace.json.gz) against the XSpace files that they are written from here: the same allocators
with the same figures; where no work passes between threads, the same rows.

usage: trace_json_test.py --memtool PATH --testdata FOLDER

Real files below xplane/ of MEMTOOL_REFERENCE_DATA take part where there are any.
"""
import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "oracle"))
from xplane_real import host_events  # noqa: E402

MADE = ("train", "maps_first", "backwards", "program")


def as_trace(data):
    """The form that the profiler writes: microseconds since it began, arguments as text."""
    events = list(host_events(data))
    start = min(begin for _, begin, _, _, _ in events)
    threads = sorted({thread for thread, *_ in events})
    trace = [{"ph": "M", "pid": 701, "name": "process_name", "args": {"name": "/host:CPU"}},
             {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0 NVIDIA"}}]
    trace += [{"ph": "M", "pid": 701, "tid": thread, "name": "thread_name", "args": {"name": f"thread {thread}"}}
              for thread in threads]
    for thread, begin, duration, name, stats in events:
        one = {"ph": "X", "pid": 701, "tid": thread, "ts": (begin - start) / 1e6, "dur": duration / 1e6, "name": name}
        if stats:
            one["args"] = {str(key): str(value) for key, value in stats.items() if key is not None}
        trace.append(one)
    trace.append({"ph": "X", "pid": 1, "tid": 1, "ts": 0, "dur": 1, "name": "kernel"})
    trace.append({})
    return {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": trace}


def flows(data):
    return any(key in ("_p", "_c", "_pt", "_ct", "producer_id", "consumer_id")
               for *_, stats in host_events(data) for key in stats)


class Test:
    def __init__(self, memtool):
        self.memtool, self.compared, self.failures = memtool, 0, []

    def ask(self, *words):
        done = subprocess.run([self.memtool, *map(str, words), "--format", "json"], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            self.failures.append((words, done.returncode, done.stderr))
            return None
        return json.loads(done.stdout)

    def compare(self, space, trace, same_rows):
        keys = ("name", "peak_bytes", "end_bytes", "capacity")
        ledgers = []
        for path in (space, trace):
            info = self.ask("info", path)
            if info is None:
                return
            ledgers.append([{key: ledger[key] for key in keys} for each in info["inputs"] for ledger in each["ledgers"]])
        tops = [self.ask("top", "--at", "peak", "--frames", "all", "--by", "line", path) for path in (space, trace)]
        totals = [top["total"] for top in tops]
        rows = [[(row["name"], row["flat"], row["cum"]) for row in top["rows"]] for top in tops]
        self.compared += 1
        if ledgers[0] != ledgers[1] or totals[0] != totals[1] or (same_rows and rows[0] != rows[1]):
            self.failures.append((space.name, ledgers, totals, rows if same_rows else ""))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--testdata", required=True, type=Path)
    args = parser.parse_args()
    files = [args.testdata / "xplane" / f"{name}.xplane.pb" for name in MADE]
    for folder in os.environ.get("MEMTOOL_REFERENCE_DATA", "").split(":"):
        files += sorted(Path(folder).glob("xplane/*.xplane.pb")) if folder else []
    test = Test(args.memtool)
    with tempfile.TemporaryDirectory() as folder:
        for space in files:
            data = space.read_bytes()
            trace = Path(folder) / f"{space.name}.trace.json.gz"
            trace.write_bytes(gzip.compress(json.dumps(as_trace(data)).encode()))
            # The compiler's programs are not in this form: what they divide stays whole.
            test.compare(space, trace, space.name.startswith(("train.", "maps_first", "backwards")) and not flows(data))
        empty = Path(folder) / "empty.trace.json"
        document = as_trace((args.testdata / "xplane" / "train.xplane.pb").read_bytes())
        document["traceEvents"] = [each for each in document["traceEvents"]
                                   if not str(each.get("name", "")).startswith("Memory")]
        empty.write_text(json.dumps(document))
        done = subprocess.run([args.memtool, "top", empty], capture_output=True, text=True, check=False)
        if done.returncode != 3 or "without memory events" not in done.stderr or "xplane.pb" not in done.stderr:
            test.failures.append(("no memory events", done.returncode, done.stderr))
    print(f"{test.compared} traces compared, {len(test.failures)} failures")
    for failure in test.failures:
        print("FAILED", str(failure)[:2000])
    return 1 if test.failures or test.compared < len(MADE) else 0


if __name__ == "__main__":
    sys.exit(main())
