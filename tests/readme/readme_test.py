#!/usr/bin/env python3
"""Runs every command line of the README and compares what it prints with what the README shows.

usage: readme_test.py --memtool PATH --source FOLDER [--driver FOLDER] [--readme FILE] [--update]

--update: writes what they print now into the README; lines that are cut ("…") are left to a person.

Command lines are the lines "$ ..." in fenced blocks (where "# ..." is a comment), and indented lines. A
new one is run without being named here, in a folder that `memtool demo` wrote. In what is shown, "…" stands for anything, and alone in a line for any number of
lines. Blocks of Python are run by tests/python/python_test.py. Each cell of the table of inputs is asked of the program, and pictures are made again.
"""
import argparse
import collections
import difflib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

TIMEOUT = 120

# Command lines that do not end with 0.
CODES = {
    "memtool check --baseline memory.json --max-growth 1% new.json.gz": 1,  # it grew
}
# What is not run here: why, and the file that runs it or is it. Of scripts/memtool all but the building
# is run.
ELSEWHERE = {
    "git clone URL memtool && cd memtool": ("needs the network", "LICENSE"),
    "scripts/memtool demo ~/memtool-demo": ("builds; every line below runs in what it writes", "scripts/memtool"),
    "cd ~/memtool-demo && PATH=$OLDPWD/scripts:$PATH": ("is for a shell", "scripts/memtool"),
    "scripts/test": ("runs this test; .ci/run runs it", "scripts/test"),
    "sh install.sh": ("needs packages", "tests/release/install_test.py"),
    "sh install.sh --uninstall": ("needs packages", "tests/release/install_test.py"),
    "cmake --build build/release && cmake --install build/release --prefix ~/.local":
        ("builds; install.examples installs", "tests/install/examples_test.py"),
}
# Rows of the table: a part of the name, and files of it.
INPUTS = {
    "pprof": ["pprof/jax_leak/memory9.prof"],
    "PyTorch snapshot": ["ranks/stages/memory_snapshot/iteration_10/rank2_memory_snapshot.pickle", "steps/base.json.gz", "fit/train_256.json.gz"],
    "MXNet": ["mxnet/forms/official.csv", "mxnet/sockeye/memory.log", "mxnet/forms/echo_bytes.csv"],
    "XLA or TensorFlow": ["xplane/train.xplane.pb", "xplane/train.trace.json",
                          "xplane/json_only/plugins/profile/2026_02_21_08_00_00/worker-3.trace.json.gz"],
    "XLA program": ["hlo/small/program.hlo.pb", "hlo/small/program.json",
                    "hlo/text/module_0003.jit_f.sm_8.0_gpu_after_optimizations-buffer-assignment.txt"],
    "PyTorch profiler": ["kineto/trace.json", "torch_timeline/raw.json"],
    "Nsight": ["nsys/small.sqlite"],
    "rocprofv3": ["rocpd/schema3.db", "rocprof/sample.csv"],
    "RMM": ["rmm/midnight.dev0.csv", "rmm/spark.txt", "raft/sample.csv"],
    "metrics": ["metrics/megatron.tfevents", "metrics/run.wandb", "metrics/metrics.csv", "metrics/all_results.json",
                "metrics/memory_profile.json"],
    "Ascend": ["ascend/job/node7_4242_20260101120000000_ascend_pt/ASCEND_PROFILER_OUTPUT", "ascend/operator_memory.csv",
               "ascend/memory_record.csv", "ascend/memory_block.csv", "ascend_db/pytorch.db", "ascend_db/msprof.db"],
    "vLLM": ["log/sglang.log", "log/deepspeed.log"],
    "memtool run": ["capture_log/small/log.mtcap"],
    "text": ["oom_text/torch_2.3.log", "oom_text/xla_gpu.log"],
    ".memtool": ["{folder}/base.memtool"],  # made of base.json.gz
}
# Columns: the arguments of a command, before the file's name, where they are more than its name.
ARGUMENTS = {"diff": "diff {}", "buckets": "buckets --keywords builtin:pytorch"}
# Cells of more than yes or no: command lines that work, then some that do not.
CELLS = {
    ("pprof", "leaks, over several"): (["leaks pprof/jax_leak/memory8.prof pprof/jax_leak/memory9.prof"],
                                       ["timeline pprof/jax_leak/memory9.prof", "leaks pprof/jax_leak/memory9.prof"]),
    ("MXNet", "leaks, over several"): (["leaks mxnet/models/bert.csv mxnet/models/bert.csv"],
                                       ["timeline mxnet/models/bert.csv", "leaks mxnet/models/bert.csv"]),
    ("PyTorch profiler", "of a failure"): (["oom kineto/trace.json"], ["oom torch_timeline/raw.json"]),
    ("RMM", "of a failure"): (["oom rmm/fails.csv"], ["oom rmm/midnight.dev0.csv", "oom raft/sample.csv"]),
    ("memtool run", "of a failure"): (["oom capture_log/small/log.mtcap"], ["oom capture_log/join/log.mtcap"]),
    ("XLA program", "yes, of the plan"): (["timeline hlo/small/program.hlo.pb", "leaks hlo/small/program.hlo.pb"], []),
    ("text", "of XLA's buffers"): ([f"{command} oom_text/xla_gpu.log" for command in
                                    ("top", "diff oom_text/xla_gpu.log", "flame", "buckets", "account")],
                                   [f"{command} oom_text/torch_2.3.log" for command in ("top", "buckets", "account")]),
    ("text", "of a BFC dump"): (["segments oom_text/bfc_2026.log"], ["segments oom_text/xla_gpu.log"]),
}

Line = collections.namedtuple("Line", "at text shown")


class Readme:
    """Command lines, the table and pictures of a README."""

    def __init__(self, text):
        self.lines, self.wrong, self.rows = [], [], []
        self.pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
        self.links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
        self.inline = re.findall(r"`memtool ([a-z]+)[^`\n]*`", text)
        fenced, shown, python = False, None, False
        for at, line in enumerate(text.splitlines(), 1):
            if line.startswith("```"):
                fenced, shown, python = not fenced, None, line == "```python"
            elif python:
                continue
            elif fenced and line.startswith("$ "):
                shown = []
                self.lines.append(Line(at, line[2:].strip(), shown))
            elif fenced and line.startswith("# "):
                shown = None
            elif fenced and shown is not None:
                shown.append(line.rstrip())
            elif fenced and line.strip():
                self.wrong.append(f"line {at}: neither a command nor what one prints: {line}")
            elif line.startswith("    ") and line.strip():
                self.lines.append(Line(at, line.strip(), []))
            elif line.startswith("|") and not line.startswith("|---"):
                self.rows.append([cell.strip() for cell in line.strip("|").split("|")])
        for line in self.lines:
            while line.shown and not line.shown[-1]:
                line.shown.pop()


def matches(shown, printed):
    """Whether the lines printed are those shown; "…" is anything."""
    parts = []
    for line in shown:
        parts.append(r"(?:.*\n)*?" if line == "…" else ".*?".join(map(re.escape, line.split("…"))) + r"\n")
    return re.fullmatch("".join(parts), "".join(line.rstrip() + "\n" for line in printed.splitlines())) is not None


class Place:
    """A folder with the files of the README, and a shell in it."""

    def __init__(self, folder, args):
        self.folder, self.testdata, self.driver = Path(folder), args.source / "testdata", args.driver
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        (self.bin / "memtool").symlink_to(args.memtool.resolve())
        (self.bin / "python").symlink_to(sys.executable)
        self.environment = {"PATH": f"{self.bin}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8", "TZ": "UTC", "TERM": "dumb",
                            "XDG_CONFIG_HOME": "/nonexistent", "BROWSER": "true", "HOME": folder, "TMPDIR": folder,
                            **{k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}}

    def fill(self):
        """A new folder: no command line sees what another wrote."""
        work = Path(tempfile.mkdtemp(dir=self.folder))
        subprocess.run(["memtool", "demo", work], env=self.environment, stdout=subprocess.DEVNULL, check=True)
        self.written = {path.name for path in work.iterdir()}
        return work

    def run(self, line, work):
        more = {"LD_LIBRARY_PATH": str(self.driver)} if line.startswith("memtool run ") else {}
        return subprocess.run(["bash", "-o", "pipefail", "-c", line], cwd=work, env={**self.environment, **more},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT, check=False)

    def why_not(self, line):
        """What a command line needs that this machine or this build has not."""
        if re.search(r"\| dot |--web ", line) and not shutil.which("dot"):
            return "Graphviz is not installed"
        if re.match(r"memtool (report|open|page) ", line):
            has = self.run("memtool --version", self.folder).stdout
            return None if re.search(r"^Page: +inside", has, re.M) else "the program was built without its page"
        if line.startswith("memtool run ") and not (self.driver and (self.driver / "libcuda.so.1").exists()):
            return "no fake driver (--driver); the tests capture.* run it"
        return None


def written(line):
    """The files that a command line says it writes."""
    return re.findall(r"(?:-o|--plot|(?<!2)>) +([^ |]+)", line)


def check_elsewhere(text, place, source):
    runs = source / ELSEWHERE[text][1]
    if not runs.exists():
        return f"not run, and {runs} is not there"
    if runs.parent.name == "scripts" and not (os.access(runs, os.X_OK) and not place.run(f"bash -n {runs}", source).returncode):
        return f"{runs} is no script that runs"
    if text.startswith("scripts/memtool "):
        done = place.run(text.removeprefix("scripts/"), source)
        return f"exit {done.returncode}\n{done.stderr}" if done.returncode else None
    return None


def check_line(line, place, source):
    """What is wrong with a command line of the README; or ("skipped", why)."""
    if line.text in ELSEWHERE:
        return check_elsewhere(line.text, place, source)
    if not line.text.startswith("memtool "):
        return "not a command line of memtool; if it cannot be run here, say in ELSEWHERE why"
    skipped = place.why_not(line.text)
    if skipped:
        return "skipped", skipped
    work = place.fill()
    done = place.run(line.text, work)
    if done.returncode != CODES.get(line.text, 0):
        return f"exit {done.returncode}\n{done.stderr[:500]}"
    if line.shown and not matches(line.shown, done.stdout):
        return "prints\n" + done.stdout[:3000]
    if not done.stdout and not written(line.text) and not re.search(" run -- | --web ", line.text):
        return "prints nothing"
    for name in written(line.text):
        if not (work / name).exists() or not (work / name).stat().st_size:
            return f"did not write {name}"
        if name.endswith(".png") and not same_picture(work / name, source / "docs" / name):
            return f"{name} is not the picture that the README shows"
    if line.text.startswith("memtool run "):
        log, = [path for path in work.glob("memtool.*.mtcap") if path.name not in place.written]
        if "64.00 MiB" not in place.run(f"memtool top {log.name}", work).stdout:
            return f"{log.name} does not have the 64 MiB of train.py"
    shutil.rmtree(work)
    return None


def pixels(png):
    """Width, height and the bytes of a PNG of 8 bits a channel, without interlacing."""
    at, data, size = 8, b"", None
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + length]
        size = struct.unpack(">IIBBBBB", body) if kind == b"IHDR" else size
        data += body if kind == b"IDAT" else b""
        at += length + 12
    width, height, depth, colour, _, _, interlaced = size
    assert depth == 8 and colour in (2, 6) and not interlaced
    step, raw = 3 if colour == 2 else 4, zlib.decompress(data)
    before, rows = bytes(width * step), []
    for row in range(height):
        start = row * (width * step + 1)
        before = unfiltered(raw[start], raw[start + 1:start + 1 + width * step], before, step)
        rows.append(before)
    return width, height, step, rows


def unfiltered(kind, line, above, step):
    out = bytearray(line)
    for at, byte in enumerate(line):
        left, up = out[at - step] if at >= step else 0, above[at]
        corner = above[at - step] if at >= step else 0
        if kind == 4:
            to = left + up - corner
            guess = min((abs(to - left), 0, left), (abs(to - up), 1, up), (abs(to - corner), 2, corner))[2]
        else:
            guess = (0, left, up, (left + up) // 2)[kind]
        out[at] = (byte + guess) & 255
    return bytes(out)


def colours(path):
    """What share of the coloured area each colour has, in 8 levels of each channel: no text, no paper."""
    _, _, step, rows = pixels(path.read_bytes())
    count = collections.Counter()
    for row in rows:
        count.update(zip(*(bytes(byte >> 5 for byte in row[channel::step]) for channel in range(3))))
    coloured = {colour: number for colour, number in count.items() if max(colour) - min(colour) > 1}
    return {colour: number / sum(coloured.values()) for colour, number in coloured.items()}


def same_picture(one, other):
    """The same bytes; with another cairo or font, the same areas of the same colours."""
    if one.read_bytes() == other.read_bytes():
        return True
    ones, others = colours(one), colours(other)
    return all(abs(ones.get(colour, 0) - others.get(colour, 0)) < 0.01 for colour in {*ones, *others})


def answers(place, line):
    done = place.run("memtool " + line, place.testdata)
    return done.returncode == 0 and "nothing can be said" not in done.stdout.split("\n")[0]


def check_cell(place, row, commands, cell):
    """What is wrong with a cell of the table of inputs."""
    files = [file.format(folder=place.folder) for file in INPUTS[row]]
    asked = [f"{ARGUMENTS.get(command, command).format(file)} {file}" for command in commands for file in files]
    whole = {"yes": (asked, []), "as its original": (asked, []), "–": ([], asked)}.get(cell)
    if cell == "as its original":
        place.run(f"memtool convert --to memtool -o {files[0]} {place.testdata}/steps/base.json.gz", place.folder)
    works, fails = whole or CELLS.get((row, cell), (None, None))
    if works is None:
        return [f"nothing in CELLS says what '{cell}' means"]
    return [f"memtool {line} has no answer" for line in works if not answers(place, line)] + \
        [f"memtool {line} has an answer" for line in fails if answers(place, line)]


def check_table(rows, place):
    wrong, seen = [], set()
    if not rows:
        return wrong
    heads = [re.findall(r"`(\w+)`", head) for head in rows[0]]
    for row in rows[1:]:
        known = [name for name in INPUTS if name in row[0].replace("`", "")][:1]
        if not known or len(row) != len(heads):
            wrong.append(f"a row that INPUTS does not have, or of another length: {row[0]}")
            continue
        seen.update(known)
        for commands, cell in zip(heads[1:], row[1:]):
            wrong += [f"table, {known[0]}, {'/'.join(commands)}: {one}"
                      for one in check_cell(place, known[0], commands, cell.replace("`", ""))]
    return wrong + [f"the table has no row of {name}" for name in INPUTS if name not in seen]


def check(readme, place, source):
    """What is wrong with a README, and what was not tried."""
    wrong, skipped = list(readme.wrong), []
    for line in readme.lines:
        found = check_line(line, place, source)
        if isinstance(found, tuple):
            skipped.append(f"line {line.at}: {line.text}: {found[1]}")
        elif found:
            wrong.append(f"line {line.at}: {line.text}: {found}")
    for picture in readme.pictures:
        if not any(Path(picture).name in written(line.text) for line in readme.lines):
            wrong.append(f"no command line makes the picture {picture}")
    wrong += [f"link to {link}, which is not there" for link in readme.links if not (source / link).exists()]
    commands = set(re.findall(r"^(\w+) ", place.run("memtool help commands", place.folder).stdout, re.M))
    wrong += [f"`memtool {name}` is no command" for name in readme.inline if name not in commands]
    return wrong + check_table(readme.rows, place), skipped


def refreshed(shown, printed):
    """What is shown, as it is printed now: between "…", the lines most like those that were there."""
    fresh, run = [], []
    for line in [*shown, None]:
        if line is not None and line != "…":
            run.append(line)
            continue
        if all(one in printed for one in run if "…" in one):  # the program's own "…", else a cut
            windows = [printed[at:at + len(run)] for at in range(len(printed) - len(run) + 1)] if "…" in shown else [printed]
            run = max(windows, default=run, key=lambda some: difflib.SequenceMatcher(None, "\n".join(some), "\n".join(run)).ratio())
        fresh += run + ([line] if line else [])
        run = []
    return fresh


def update(text, place):
    """The README with what its command lines print."""
    lines = text.split("\n")
    for line in reversed(Readme(text).lines):
        if line.text.startswith("memtool ") and line.shown and not place.why_not(line.text):
            printed = [one.rstrip() for one in place.run(line.text, place.fill()).stdout.splitlines()]
            if not matches(line.shown, "\n".join(printed)):
                lines[line.at:line.at + len(line.shown)] = refreshed(line.shown, printed)
    return "\n".join(lines)


GOOD = """
```
$ memtool diff --quiet memory1.prof memory9.prof
base memory1.prof 3.85 MiB → … · 1 row grew, 0 shrank
…
11 executables of unknown size (the runtime wrote -1): not in the sums
```
"""
# What a README must not get away with: what to put for what in GOOD.
BAD = [("3.85", "3.86"), ("memory9.prof\n", "memory99.prof\n"), ("…\n11", "11"), ("the sums\n", "the sums\nmore\n"),
       ("…\n11 executables of unknown size (the runtime wrote -1): not in the sums\n", ""),
       ("memtool diff", "memtool diffs"), ("$ memtool diff", "memtool diff"), ("$ memtool", "$ true; memtool"),
       ("```\n", "`memtool nonesuch`\n```\n"), ("\n```", "\n    rm -r x\n```"), ("\n```", "\n[x](nonesuch.md)\n```"),
       ("\n```", "\n![x](LICENSE)\n```"),
       (GOOD, "\n    scripts/memtool top nonesuch\n")]
TABLE = "\n| Input | `top` | `timeline` |\n|---|---|---|\n| pprof | yes | – |\n"


def check_itself(place, source):
    """This test has to be able to fail."""
    assert refreshed(["…", "a 1", "b 2", "…"], ["x", "a 9", "b 2", "y"]) == ["…", "a 9", "b 2", "…"]
    assert refreshed(["a 1", "… 3 more"], ["a 22", "… 3 more"]) == ["a 22", "… 3 more"]
    assert refreshed(["a 1 …"], ["a 2 b"]) == ["a 1 …"]
    wrong = [f"a good README is refused: {one}" for one in check(Readme(GOOD), place, source)[0]]
    for old, new in BAD:
        assert old in GOOD
        if not check(Readme(GOOD.replace(old, new, 1)), place, source)[0]:
            wrong.append(f"not found: {new!r} for {old!r}")
    for cells, expected in (("yes | –", 0), ("yes | yes", 1), ("– | –", 1), ("yes | perhaps", 1)):
        found = check_table(Readme(TABLE.replace("yes | –", cells)).rows, place)
        if len([one for one in found if one.startswith("table")]) != expected:
            wrong.append(f"table with {cells}: {found}")
    work = place.fill()
    for name in ("base", "new"):
        place.run(f"memtool timeline --by bucket --plot {name}.png --plot-width 60mm {name}.json.gz", work)
    again = bytearray((work / "base.png").read_bytes())
    (work / "again.png").write_bytes(again[:-12] + b"\0\0\0\0tEXt\0\0\0\0" + again[-12:])
    if not same_picture(work / "again.png", work / "base.png") or same_picture(work / "new.png", work / "base.png"):
        wrong.append("pictures are not told from each other")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memtool", required=True, type=Path)
    parser.add_argument("--source", required=True, type=Path, help="the repository")
    parser.add_argument("--driver", type=Path, help="folder of the fake libcuda.so.1 of capture/tests")
    parser.add_argument("--readme", type=Path, help="default: README.md of the repository")
    parser.add_argument("--update", action="store_true", help="write what is printed into it")
    args = parser.parse_args()
    args.source = args.source.resolve()
    path = args.readme or args.source / "README.md"
    readme = Readme(path.read_text())
    with tempfile.TemporaryDirectory() as folder:
        place = Place(folder, args)
        if args.update:
            path.write_text(update(path.read_text(), place))
            return 0
        wrong = check_itself(place, args.source)
        found, skipped = check(readme, place, args.source)
    elsewhere = [f"not run: {line.text}: {ELSEWHERE[line.text][0]}" for line in readme.lines if line.text in ELSEWHERE]
    print("\n".join([*elsewhere, *(f"skipped: {one}" for one in skipped), *wrong, *found]))
    print(f"{len(readme.lines)} command lines, {len(elsewhere)} not for here, {len(skipped)} skipped, "
          f"{len(wrong) + len(found)} wrong")
    return 1 if wrong or found else 0


if __name__ == "__main__":
    sys.exit(main())
