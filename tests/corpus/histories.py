"""Shared by tests over every history of testdata."""
import json
import os
import subprocess


def run(memtool, *arguments):
    done = subprocess.run([memtool, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=600)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


def info(memtool, path):
    """What `memtool info` says of an input; None when it cannot be read."""
    code, out, _ = run(memtool, "info", "--format", "json", path)
    return json.loads(out)["inputs"][0] if code == 0 else None


def inputs(testdata):
    """Every file under testdata that might be an input, in order."""
    for folder, folders, names in os.walk(testdata):
        folders[:] = sorted(name for name in folders if name not in ("expected", "malformed", "hostile"))
        for name in sorted(names):
            if not name.endswith((".py", ".md", ".tsv", ".yaml", ".txt", ".prom", ".xml")):
                yield os.path.join(folder, name)


def series(memtool, path):
    """Live bytes of each list of events: before the first, then after each that changes them."""
    _, out, _ = run(memtool, "timeline", "--format", "json", path)
    lists = []
    for row in json.loads(out)["rows"]:
        if row["event"] == -1:
            lists.append([])
        lists[-1].append(row["allocated"])
    return lists
