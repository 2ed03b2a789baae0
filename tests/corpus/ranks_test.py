#!/usr/bin/env python3
"""Jobs of many ranks: what was built into them is found, and digests say what their files say.

usage: ranks_test.py --memtool PATH
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MAKER = Path(__file__).resolve().parents[1] / "bench/make_ranks.py"
FAULTS = []


def check(what, holds, more=""):
    if not holds:
        FAULTS.append(what)
        print(f"FAILED {what} {more}")


def run(memtool, *words, code=0, env=None, data=None):
    done = subprocess.run([memtool, *map(str, words)], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL if data is None else None,
                          env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})}, timeout=120)
    check(f"{' '.join(map(str, words))[-100:]}: exit {code}", done.returncode == code, done.stderr.decode()[-300:])
    return done.stdout


def make(ranks, folder, *words):
    """-> what is true of the tree."""
    subprocess.run([sys.executable, MAKER, str(ranks), folder, *map(str, words)], stdout=subprocess.DEVNULL, check=True)
    return json.loads(folder.with_name(folder.name + ".truth.json").read_text())


def found(memtool, folder):
    return json.loads(run(memtool, "ranks", "--format", "json", folder))


def trees(memtool, work):
    """What the maker says is true of a tree is what the answer says, in every layout."""
    for number, (ranks, stages, layout) in enumerate([(8, 1, "flat"), (8, 1, "nodes"), (64, 4, "torchtitan"), (64, 4, "verl"),
                                                      (64, 8, "composer"), (64, 4, "lone-r"), (64, 4, "slime"),
                                                      (1000, 8, "torchtitan")]):
        folder = work / f"tree{number}"
        words = ["--stages", stages, "--seed", number, "--layout", layout, "--leak", f"{2 if ranks == 8 else 21}:900"]
        if ranks > 8:
            words += ["--missing", 5, "--cut-off", 17, "--empty", 40, "--oom", "2,50,33"]
        truth = make(ranks, folder, *words)
        answer = found(memtool, folder)
        label = f"{ranks} ranks, {layout}"
        check(f"{label}: ranks", [row["rank"] for row in answer["rows"]]
              == [rank for rank in range(ranks) if rank not in truth["missing"]])
        outliers = [(row["rank"], row["outlier"], row["because"][0]["name"]) for row in answer["rows"] if row["outlier"]]
        leak = truth["outlier"]
        check(f"{label}: outlier", outliers == [(leak["rank"], leak["bytes"], leak["function"])], outliers)
        check(f"{label}: missing", answer["missing"] == truth["missing"], answer["missing"])
        unread = [row["rank"] for row in answer["rows"] if row["peak"] is None]
        check(f"{label}: unreadable", unread == [rank for rank in (truth["cut_off"], truth["empty"]) if rank is not None])
        first, said = answer["first_oom"], truth["first_oom"]
        check(f"{label}: first out of memory", (first is None) == (said is None) and (first is None or (
            first["rank"], first["before_next_s"], first["time"] // 1000) == (said["rank"], said["before_next_s"], said["time_us"])), first)
        if stages > 2:
            structure = answer["structure"]
            check(f"{label}: stages", structure["code"] == "stages" and structure["block"] == ranks // stages, structure)


def same_from_digests(memtool, work):
    """Any order, grouping and doubling of digests gives the bytes that the files give."""
    folder = work / "same"
    make(16, folder, "--leak", "6:400", "--missing", 9, "--cut-off", 11, "--empty", 13, "--oom", "2,14")
    lines = run(memtool, "index", folder).splitlines(keepends=True)
    forms = [("ranks",), ("ranks", "--all", "-n", "0"), ("ranks", "--format", "json")]
    truths = [run(memtool, *form, folder) for form in forms]
    rng = random.Random(7)
    for turn in range(60):
        parts = [work / f"part{i}.jsonl" for i in range(rng.randint(1, 4))]
        bins = [[] for _ in parts]
        for line in rng.sample(lines, len(lines)) + rng.choices(lines, k=rng.randint(0, 5)):
            rng.choice(bins).append(line)
        for part, held in zip(parts, bins):
            part.write_bytes(b"".join(held))
        kept = [part for part, held in zip(parts, bins) if held]
        form = turn % len(forms)
        if run(memtool, *forms[form], *kept) != truths[form]:
            check(f"partition {turn}: {forms[form]}", False)
            break
    for count in range(1, 18):
        union = b"".join(run(memtool, "index", "--shard", f"{index}/{count}", folder)
                         for index in range(count))
        check(f"shards of {count}", sorted(union.splitlines()) == sorted(b"".join(lines).splitlines()))
    check("again", b"".join(lines) == run(memtool, "index", *[work / "whole.jsonl"])
          if (work / "whole.jsonl").write_bytes(b"".join(lines)) else False)


def stand_for_files(memtool, work):
    """Commands that need more than digests tell read the files that these are of."""
    make(8, work / "files", "--stages", 2)
    files = sorted(map(str, (work / "files").rglob("*.pickle")))
    lines = [run(memtool, "index", file) for file in files]
    job, one, other = (work / f"{name}.jsonl" for name in ("job", "one", "other"))
    job.write_bytes(b"".join(lines[::-1] + lines[:3]))  # any order, any number of times
    one.write_bytes(lines[0])
    other.write_bytes(lines[5])
    for words in (["top"], ["top", "--at", "peak", "--by", "line"], ["leaks"], ["oom"], ["tree"], ["info"], ["steps"],
                  ["flame", "--format", "folded"], ["buckets", "--format", "json"], ["account"]):
        check(f"{words} of digests", run(memtool, *words, *files) == run(memtool, *words, job))
    check("diff of digests", run(memtool, "diff", files[0], files[5]) == run(memtool, "diff", one, other))
    both = ["flame", "--format", "folded", "--diff-base"]
    check("flame of digests", run(memtool, *both, files[0], files[5]) == run(memtool, *both, one, other))
    with open(files[3], "ab") as file:
        file.write(b"x")
    err = subprocess.run([memtool, "top", job], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    check("a file that changed", err.returncode != 0 and not err.stdout and b"has other bytes now" in err.stderr, err)
    os.remove(files[3])
    err = subprocess.run([memtool, "top", job], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    check("a file that is gone", err.returncode != 0 and not err.stdout and b"is not there" in err.stderr, err)
    run(memtool, "top", "--keep-going", job)


def hostile(memtool, work):
    """Digests may come from anywhere."""
    make(1, work / "one", "--stages", 1)
    good = run(memtool, "index", next((work / "one").rglob("*.pickle")))
    digest = json.loads(good)
    path = work / "hostile.jsonl"

    def refused(what, text, code=0):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        done = subprocess.run([memtool, "ranks", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        check(f"hostile: {what}", 0 <= done.returncode < 5 and b"\x1b" not in done.stdout, done.stderr.decode())
        return done.stderr

    err = refused("no end of the last line", good[:-1])
    check("a line without its end is not read", b"has no end" in err, err)
    for key in digest:
        if key != "schema":
            err = refused(key, json.dumps({k: v for k, v in digest.items() if k != key}, separators=(",", ":")) + "\n")
            check(f"without {key}", f"'{key}' is missing".encode() in err, err)
        for wrong in (None, -1, 1 << 70, "x", [], {}, [1] * 100000, {"a": {"b": [[[]]]}}, 1e300, True):
            refused(f"{key} = {str(wrong)[:20]}", json.dumps({**digest, key: wrong}, separators=(",", ":")) + "\n")
    refused("names", json.dumps({**digest, "rows": [{**digest["rows"][0], "name": "\x1b[31m\u202e<script>\n" * 99}]},
                              separators=(",", ":")) + "\n")
    refused("deep", '{"schema":"memtool.digest/1","path":' + "[" * 200000 + "\n")
    refused("other schema", good.replace(b"digest/1", b"digest/9"))
    refused("bytes that are no text", good.replace(b"layers.py", b"\xff\xfe\x80"))
    rng = random.Random(3)
    for _ in range(300):
        damaged = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        refused("flips", bytes(damaged))
    for end in range(0, len(good), max(1, len(good) // 200)):
        refused("cut", good[:end])


def open_nothing_else(memtool, work):
    """A digest opens no file but a regular one, of its size and hash, below its folder or --root."""
    job, outside = work / "below", work / "outside"
    (job / "deep").mkdir(parents=True)
    outside.mkdir()
    file, away = job / "deep/a.pickle", outside / "b.pickle"
    for path in (file, away):
        shutil.copy(next((work / "one").rglob("*.pickle")), path)
    digest = json.loads(run(memtool, "index", file))
    size = file.stat().st_size
    os.mkfifo(job / "pipe")
    (job / "link.pickle").symlink_to(away)
    (job / "folder").symlink_to(outside)
    (job / "inside.pickle").symlink_to("deep/a.pickle")
    (job / "zero").symlink_to("/dev/zero")
    listed = job / "listed.jsonl"

    def top(*words, cwd=None, **changed):
        listed.write_text(json.dumps({**digest, **changed}, separators=(",", ":")) + "\n")
        done = subprocess.run([memtool, "top", "--format", "csv", listed, *map(str, words)], capture_output=True, timeout=60, cwd=cwd)
        return done.returncode, done.stdout, done.stderr.decode()

    whole, other = (run(memtool, "top", "--format", "csv", path) for path in (file, away))
    for what, words, changed in (("as it was given", [], {}), ("absolute", [], {"path": str(file)}),
                                 ("from the folder", [], {"path": "deep/a.pickle"}),
                                 ("there and back", [], {"path": "deep/../deep/a.pickle"}),
                                 ("a link inside", [], {"path": "inside.pickle"}),
                                 ("--root", ["--root", outside], {"path": str(away)}),
                                 ("below --root", ["--root", outside], {"path": "b.pickle"}),
                                 ("a root above", ["--root", work], {"path": "below/link.pickle"})):
        code, out, err = top(*words, **changed)
        check(f"a digest's path, {what}", code == 0 and out in (whole, other), err)
    for what, words, changed, says in (
            ("no hash", [], {"hash": ""}, "has no hash to be known by"),
            ("no hash, why", [], {"hash": "", "problem": "cut off"}, "has no hash to be known by: cut off"),
            ("up and out", [], {"path": "../outside/b.pickle"}, "is not below"),
            ("absolute, out", [], {"path": str(away)}, "is not below"),
            ("a name that begins alike", ["--root", job / "deep"], {"path": "../deep/../listed.jsonl"}, "is not below"),
            ("not below --root", ["--root", outside], {}, "is not below"),
            ("a link out", [], {"path": "link.pickle"}, "symbolic link"),
            ("a folder's link out", [], {"path": "folder/b.pickle"}, "symbolic link"),
            ("a link to a device", [], {"path": "zero"}, "symbolic link"),
            ("a device", ["--root", "/"], {"path": "/dev/zero", "bytes": 0}, "is no regular file"),
            ("a pipe", [], {"path": "pipe"}, "is no regular file"),
            ("a folder", [], {"path": "deep"}, "is no regular file"),
            ("what the kernel makes up", ["--root", "/"], {"path": "/proc/self/maps"}, "has other bytes now"),
            ("another size", [], {"bytes": size + 1}, "has other bytes now"),
            ("another hash", [], {"hash": "0" * 32}, "has other bytes now"),
            ("more than is hashed", ["--max", f"unpacked-bytes={size - 1}"], {}, "too many bytes to hash"),
            ("no root", ["--root", work / "nowhere"], {}, "cannot be looked for")):
        code, out, err = top(*words, **changed)
        check(f"a digest's path, {what}", code in (1, 2, 3, 4) and not out and says in err, f"{code} {err}")
    # To index a stream without an end comes to one.
    run(memtool, "index", "/dev/zero")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", required=True, type=lambda path: str(Path(path).resolve()))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        trees(args.memtool, Path(work))
        same_from_digests(args.memtool, Path(work))
        stand_for_files(args.memtool, Path(work))
        hostile(args.memtool, Path(work))
        open_nothing_else(args.memtool, Path(work))
    print(f"{len(FAULTS)} faults")
    return 1 if FAULTS else 0


if __name__ == "__main__":
    sys.exit(main())
