"""The inputs that mutations begin with: of every reader, documents, what generators make, and files that were judged wrongly."""
import json
import os
import random
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTDATA = HERE.parents[1] / "testdata"
sys.path[:0] = [str(HERE.parent / "growth"), str(TESTDATA / "pprof")]
import inputs as growth  # noqa: E402  what tests/growth makes

MOST_BYTES = 200_000  # of an input to be mutated
NO_INPUTS = {".py", ".md", ".tsv", ".sh", ".c", ".h", ".in"}
# What costs more than it weighs is the matter of other tests; of hostile files, larger ones are about that.
HOSTILE_BYTES = 10_000
RECORDS = 9  # of an input that tests/growth makes

# Beside every input, for command lines that take a second file.
COMPANIONS = {"sound.json": TESTDATA / "whatif/small/oom_fragmented.json", "sound.log": TESTDATA / "mxnet/sockeye/memory.log",
              "two.yaml": TESTDATA / "mxnet/sockeye/both.yaml"}
JOB = TESTDATA / "ranks/stages/memory_snapshot/iteration_10"
TRUTH = "index, name, memory.total [MiB], memory.used [MiB]\n0, NVIDIA T4, 15360 MiB, 14210 MiB\n"


class Seed:
    def __init__(self, name, data, group, role="profile"):
        self.name, self.data, self.group, self.role = name, data, group, role


def reader_of(memtool, path):
    """The format that `info` names; of texts with a message that `info` knows nothing of, the reader of messages."""
    def run(*words):
        return subprocess.run([memtool, *words, "--format", "json", path], stdin=subprocess.DEVNULL,
                              capture_output=True, check=False)
    done = run("info")
    if done.returncode == 0:
        one = json.loads(done.stdout)["inputs"][0]
        return "memtool" if "memtool" in one["packing"] else one["format"]
    return "oom-text" if path.suffix in (".log", ".txt") and run("oom").returncode == 0 else None


def of_testdata(memtool):
    for path in sorted(TESTDATA.rglob("*")):
        if not path.is_file() or path.suffix in NO_INPUTS or "expected" in path.parts or path.stat().st_size > MOST_BYTES:
            continue
        name = str(path.relative_to(TESTDATA))
        if "ground_truth" in path.parts:
            yield Seed(name, path.read_bytes(), "truth", "truth")
        elif path.suffix in (".yaml", ".yml"):
            yield Seed(name, path.read_bytes(), "keywords", "keywords")
        elif path.suffix == ".jsonl":
            yield Seed(name, path.read_bytes(), "digest", "digest")
        elif path.name == "memory.json":
            yield Seed(name, path.read_bytes(), "baseline", "baseline")
        elif reader := reader_of(memtool, path):
            yield Seed(name, path.read_bytes(), reader)


def made(memtool, folder):
    """A small input of every reader, by the generators of tests/growth; a digest and a baseline by the program."""
    for reader in growth.MAKERS:
        path = growth.write(reader, RECORDS, folder)
        yield Seed(f"growth/{path.name}", path.read_bytes(), reader.split(",")[0])
    job = [JOB / f"rank{rank}_memory_snapshot.pickle" for rank in (1, 2, 14)]  # the last two ran out of memory
    for name, words, role in (("digest", ["index", *job], "digest"),
                              ("baseline", ["check", "--write-baseline", "-", COMPANIONS["sound.json"]], "baseline")):
        done = subprocess.run([memtool, *words], capture_output=True, check=False)
        if done.returncode == 0:
            yield Seed(f"made/{name}.json", done.stdout, role, role)


AT, KIB = 0x7F0000000000, 1024


def history(rng):
    """A PyTorch snapshot whose events, blocks and segments agree with each other, with an out-of-memory event now and then."""
    events, live, time = [], {}, 1_700_000_000_000_000
    segments = {AT + (n << 32): rng.choice([2, 20, 64]) * KIB * KIB for n in range(rng.randint(1, 3))}
    used = dict.fromkeys(segments, 0)

    def frames():
        return [{"name": rng.choice("fgh"), "filename": "model.py", "line": rng.randint(1, 9)},
                {"name": "main", "filename": "t.py", "line": 1}]
    for at, size in segments.items():
        events.append({"action": "segment_alloc", "addr": at, "size": size, "stream": 0, "time_us": time, "frames": frames()})
    for _ in range(rng.randint(3, 25)):
        time += rng.randint(1, 1000)
        what = rng.random()
        if what < 0.6:
            base = rng.choice(list(segments))
            size = 512 * rng.randint(1, 900)
            if used[base] + size <= segments[base]:
                live[base + used[base]] = (base, size, size - rng.randint(0, 511), frames())
                events.append({"action": "alloc", "addr": base + used[base], "size": size, "stream": 0, "time_us": time,
                               "frames": live[base + used[base]][3]})
                used[base] += size
        elif what < 0.95 and live:
            at = rng.choice(list(live))
            for action in ("free_requested", "free_completed"):
                events.append({"action": action, "addr": at, "size": live[at][1], "stream": 0, "time_us": time, "frames": frames()})
            del live[at]
        elif what > 0.95:
            events.append({"action": "oom", "addr": rng.randrange(1 << 24), "size": 1 << 30, "device_free": 1 << 20, "stream": 0,
                           "time_us": time, "frames": frames()})
    out = []
    for base, size in segments.items():
        blocks, end = [], base
        for at in sorted(one for one in live if live[one][0] == base):
            if at > end:
                blocks.append({"address": end, "size": at - end, "requested_size": 0, "state": "inactive", "frames": []})
            _, length, requested, stack = live[at]
            blocks.append({"address": at, "size": length, "requested_size": requested, "state": "active_allocated",
                           "frames": stack})
            end = at + live[at][1]
        if end < base + size:
            blocks.append({"address": end, "size": base + size - end, "requested_size": 0, "state": "inactive", "frames": []})
        held = [block for block in blocks if block["state"] != "inactive"]
        out.append({"device": 0, "address": base, "total_size": size, "stream": 0, "segment_type": "large",
                    "blocks": blocks, "frames": [], "allocated_size": sum(block["size"] for block in held), "active_size": sum(block["size"] for block in held),
                    "requested_size": sum(block["requested_size"] for block in held)})
    return {"segments": out, "device_traces": [events], "allocator_settings": {}}


def histories(count):
    for number in range(count):
        tree = history(random.Random(number))
        yield Seed(f"history/{number}.json", json.dumps(tree).encode(), "history")


def role_of(path):
    """What a file that is named by hand, or of MEMTOOL_REFERENCE_DATA, is to the program."""
    if path.name in ("memory_stats_repr.txt", "nvidia_smi_table.txt") or "ground_truth" in path.parts:
        return "truth"
    return {".jsonl": "digest", ".yaml": "keywords"}.get(path.suffix, "profile")


def judged_wrongly():
    """What MEMTOOL_REFERENCE_DATA has of files that attack, and of files from the field."""
    for root in filter(None, os.environ.get("MEMTOOL_REFERENCE_DATA", "").split(":")):
        for part in ("hostile", "field"):
            for path in sorted((Path(root) / part).rglob("*")):
                most = HOSTILE_BYTES if part == "hostile" else MOST_BYTES
                if path.is_file() and path.suffix not in NO_INPUTS and path.stat().st_size <= most:
                    yield Seed(f"{part}/{path.relative_to(Path(root) / part)}", path.read_bytes(), part, role_of(path))


def all_seeds(memtool, folder):
    return [*judged_wrongly(), *of_testdata(memtool), *made(memtool, folder), *histories(20)]
