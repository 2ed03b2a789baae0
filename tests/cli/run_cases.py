#!/usr/bin/env python3
"""Runs memtool as its users do and compares what it prints with golden files.

usage: run_cases.py --memtool PATH --testdata DIR --cases FILE... [--update] [--only NAME]

A cases file holds blocks; lines that begin with '#' are comments:

    [top-json]                        the name; its golden is IN/expected/top-json.txt
    in: pprof/jax_leak                the folder below testdata that it runs in
    run: top --format json memory9.prof
    stdin: memory1.prof               a file, or "pipe FILE", "pipe-empty", "silent" (a pipe that
                                      stays open and says nothing); default: /dev/null
    env: NAME=VALUE ...               beside a fixed small environment
    exit: 0                           default 0
    stderr: REGEX                     must match all of stderr; default: stderr is empty. "golden": all
                                      of stderr is IN/expected/top-json.err
    scratch: a.prof b.prof            runs in an empty folder with copies of these, oldest first
    writes: out.txt                   the golden is this file, and stdout must be empty
    then: raw out.pb.gz               a second command whose stdout is the golden
    stdout: none | binary | /dev/full nothing must come; anything may come; goes to that file
    widths: 60 80 100 200             stdout is a terminal of so many columns, one after the other;
                                      the golden has them all, and no line may be wider
    without: page                     not for builds that have it (--has)

JSON output is also held to the schema that it names (memtool help schema NAME), and totals to the sum
of the rows.
"""
import argparse
import copy
import csv
import difflib
import fcntl
import functools
import io
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unicodedata
from pathlib import Path

import jsonschema

SCHEMAS = Path(__file__).resolve().parents[1] / "schema"
KEYS = {"in", "run", "stdin", "env", "exit", "stderr", "scratch", "writes", "then", "stdout", "widths",
        "without"}
TIMEOUT = 60


class Failure(Exception):
    pass


def read_cases(path):
    cases, case = [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]"):
            case = {"name": line[1:-1], "at": f"{path.name}:{number}"}
            cases.append(case)
            continue
        key, colon, value = line.partition(":")
        if case is None or not colon or key not in KEYS or key in case:
            sys.exit(f"{path.name}:{number}: not a line of a case: {line}")
        case[key] = value.strip()
    for case in cases:
        if not {"in", "run"} <= case.keys():
            sys.exit(f"{case['at']}: a case needs 'in' and 'run'")
    return cases


def environment(case):
    keep = {k: v for k, v in os.environ.items() if k == "PATH" or k.endswith("SAN_OPTIONS")}
    keep.update(LC_ALL="C.UTF-8", TZ="UTC", TERM="dumb")
    keep.update(pair.split("=", 1) for pair in shlex.split(case.get("env", "")))
    return keep


def open_stdin(kind, folder):
    """-> the child's stdin, and what must be closed when it is done."""
    words = kind.split()
    if not words:
        return subprocess.DEVNULL, []
    if words[0] in ("pipe", "pipe-empty", "silent"):
        read_end, write_end = os.pipe()
        if words[0] == "pipe":
            data = (folder / words[1]).read_bytes()
            assert len(data) < 60_000, "must fit a pipe"
            os.write(write_end, data)
        if words[0] != "silent":
            os.close(write_end)
            return read_end, [read_end]
        return read_end, [read_end, write_end]
    file = os.open(folder / words[0], os.O_RDONLY)
    return file, [file]


def run(memtool, args, case, folder):
    stdin, close = open_stdin(case.get("stdin", ""), folder)
    to = case.get("stdout", "")
    out = open(to, "wb") if to.startswith("/") else subprocess.PIPE
    try:
        return subprocess.run([memtool, *args], cwd=folder, stdin=stdin, stdout=out,
                              stderr=subprocess.PIPE, env=environment(case), timeout=TIMEOUT)
    finally:
        for fd in close:
            os.close(fd)


def run_in_terminal(memtool, args, case, folder, width):
    """Like run(), but stdout is a terminal of that many columns."""
    ours, theirs = os.openpty()
    mode = termios.tcgetattr(theirs)
    mode[1] &= ~termios.OPOST  # line ends as they were written
    termios.tcsetattr(theirs, termios.TCSANOW, mode)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    child = subprocess.Popen([memtool, *args], cwd=folder, stdin=subprocess.DEVNULL, stdout=theirs,
                             stderr=subprocess.PIPE, env=environment(case))
    os.close(theirs)
    out = b""
    try:
        while part := os.read(ours, 65536):
            out += part
    except OSError:  # how a terminal says that nobody writes to it any more
        pass
    os.close(ours)
    _, errors = child.communicate(timeout=TIMEOUT)
    return subprocess.CompletedProcess(args, child.returncode, out, errors)


def cells(line):
    line = re.sub(r"\x1b\[[0-9;]*m", "", line)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in line)


def run_at_widths(memtool, args, case, folder):
    """One result that holds what was printed at each width."""
    whole = b""
    for width in map(int, case["widths"].split()):
        done = run_in_terminal(memtool, args, case, folder, width)
        if done.returncode != int(case.get("exit", "0")):
            return done
        wide = [line for line in done.stdout.decode().splitlines() if cells(line) > width]
        if wide:
            raise Failure(f"wider than {width} columns: {wide[0]!r}")
        if done.stdout:
            whole += b"=== %d columns\n%s" % (width, done.stdout)
    done.stdout = whole
    return done


def total_is_sum(command, answer):
    if answer.get("rows_cut"):
        return
    measure = {"top": "flat", "diff": "delta", "leaks": "delta", "traces": "value"}.get(command)
    if measure and "total" in answer:
        total = sum(row[measure] for row in answer["rows"])
        if total != answer["total"]:
            raise Failure(f"rows sum to {total}, but total says {answer['total']}")
    if command == "oom":
        parts = [row["bytes"] for row in answer["rows"] if row["kind"] == "part"]
        # What figures contradict is unknown, and so is a total beyond 64 bits.
        if None not in (*parts, answer["total"]) and sum(parts) != answer["total"]:
            raise Failure(f"parts sum to {sum(parts)}, but total says {answer['total']}")
    if command == "top" and "unknown" in answer:
        unknown = sum(row["unknown"] for row in answer["rows"])
        if unknown != answer["unknown"]:
            raise Failure(f"rows hold {unknown} unknown sizes, but unknown says {answer['unknown']}")
    if command == "diff" and answer["new_total"] - answer["base_total"] != answer["total"]:
        raise Failure("total is not new_total - base_total")
    if command == "leaks":
        for i, point in enumerate(answer["points"]):
            total = sum(row["series"][i] for row in answer["rows"])
            if answer["measure"] != "low" and total != point["total"]:
                raise Failure(f"rows sum to {total} at {point['name']}, which holds {point['total']}")
    if command == "buckets" and "untrackable" in answer:
        axes = {}
        for row in answer["rows"]:
            axes[row["axis"]] = axes.get(row["axis"], 0) + row["bytes"]
        whole = answer["total"] if answer["expected_sum"] is None else answer["expected_sum"]
        if sum(axes.values()) != whole * len(axes) + answer["repeated_bytes"]:
            raise Failure(f"axes sum to {axes}, not to {whole}")
    if command == "tags":
        for row in answer["rows"]:
            if "bytes" not in row or "count" not in row:
                raise Failure("a row of tags without bytes or count")


def no_constant(name):
    raise Failure(f"{name} is not JSON")


@functools.lru_cache(maxsize=None)
def schema_of(memtool, answer):
    """Every answer has a schema: that of its declaration."""
    printed = subprocess.run([memtool, "help", "schema", answer], capture_output=True, check=False)
    if printed.returncode != 0:
        raise Failure(f"{answer} has no schema")
    schema = json.loads(printed.stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema


def check_form(args, text, memtool):
    """Is what was printed well-formed in the requested format?"""
    command = args[0]
    chosen = ""
    for flag in ("--format", "--to"):
        if flag in args:
            chosen = args[args.index(flag) + 1]
    if command == "convert" and chosen == "json":
        answer = json.loads(text, parse_constant=no_constant)
        jsonschema.validate(answer, json.loads((SCHEMAS / "convert.json").read_text()))
    elif chosen in ("json", "json-columns"):
        answer = json.loads(text, parse_constant=no_constant)
        if chosen == "json-columns":
            columns = answer.pop("columns")
            answer["rows"] = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        named = re.fullmatch(r"memtool\.([\w-]+)/\d+", answer["schema"])
        if not named or not named[1].startswith(command):
            raise Failure(f"schema {answer['schema']} is not one of {command}")
        schema = schema_of(memtool, named[1])
        if "--columns" in args:
            schema = copy.deepcopy(schema)
            schema["properties"]["rows"]["items"]["required"] = list(columns)
        else:
            total_is_sum(named[1], answer)
        jsonschema.validate(answer, schema)
    elif chosen == "jsonl":
        schema = schema_of(memtool, command)
        for line in text.splitlines():
            jsonschema.validate(json.loads(line, parse_constant=no_constant),
                                schema["properties"]["rows"]["items"])
    elif chosen == "csv":
        if not text.endswith("\r\n"):
            raise Failure("CSV lines must end in CRLF")
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        if any(len(row) != len(rows[0]) for row in rows):
            raise Failure("CSV rows differ in length")
    elif chosen == "markdown":
        table = [line for line in text.splitlines() if line.startswith("|")]
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in table}
        if len(cells) > 1:
            raise Failure("markdown rows differ in length")


def scratch_folder(case, home, folder):
    """Copies, a minute apart, so that the last is the newest; other files stay reachable by `in`."""
    for age, name in enumerate(shlex.split(case["scratch"])):
        to = Path(folder) / Path(name).name
        shutil.copy(home / name, to)
        os.utime(to, (1_700_000_000 + 60 * age,) * 2)
    return Path(folder)


def compare(golden, out, testdata, update):
    text = out.decode()  # not UTF-8: a failure of its own
    if update:
        golden.parent.mkdir(exist_ok=True)
        golden.write_bytes(out)
        return
    if not golden.exists():
        raise Failure(f"no golden file {golden.relative_to(testdata)}: look at the output, then --update")
    if golden.read_bytes() != out:
        lines = difflib.unified_diff(golden.read_bytes().decode().splitlines(), text.splitlines(),
                                     "golden", "printed", lineterm="", n=1)
        raise Failure("\n  ".join(["differs from its golden"] + list(lines)[:40]))


def check(case, memtool, testdata, update):
    home = testdata / case["in"]
    golden = home / "expected" / f"{case['name']}.txt"
    args = shlex.split(case["run"])
    with tempfile.TemporaryDirectory() as temporary:
        folder = scratch_folder(case, home, temporary) if "scratch" in case else home
        runs = run_at_widths if "widths" in case else run
        done = runs(memtool, args, case, folder)
        errors = done.stderr.decode(errors="replace")
        wanted = int(case.get("exit", "0"))
        if done.returncode != wanted:
            raise Failure(f"exit code {done.returncode}, wanted {wanted}; stderr: {errors}")
        if case.get("stderr") == "golden":
            compare(golden.with_suffix(".err"), done.stderr, testdata, update)
        elif not re.fullmatch(case.get("stderr", ""), errors.rstrip("\n"), re.DOTALL):
            raise Failure(f"stderr: {errors!r}\n  wanted: {case.get('stderr', '')!r}")
        out = done.stdout or b""
        if "writes" in case or "then" in case:
            if out:
                raise Failure("stdout is not empty")
            left = sorted(p.name for p in folder.iterdir() if "XXXXXX" in p.name)
            if left:
                raise Failure(f"temporary files left: {left}")
        if "writes" in case:
            out = (folder / case["writes"]).read_bytes()
        if "then" in case:
            args = shlex.split(case["then"])
            second = run(memtool, args, {}, folder)
            if second.returncode or second.stderr:
                raise Failure(f"the second command: exit {second.returncode}: {second.stderr}")
            out = second.stdout
    mode = case.get("stdout", "")
    if mode == "none" and out:
        raise Failure(f"stdout is not empty: {out[:200]}")
    if mode:
        return
    check_form(args, out.decode(), memtool)
    compare(golden, out, testdata, update)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", required=True, type=lambda p: str(Path(p).resolve()))
    parser.add_argument("--testdata", required=True, type=Path)
    parser.add_argument("--cases", required=True, nargs="+", type=Path)
    parser.add_argument("--only", help="run this case alone")
    parser.add_argument("--has", action="append", default=[],
                        help="what this build has: cases that are 'without' it are left out")
    parser.add_argument("--update", action="store_true", help="write goldens; read them afterwards")
    args = parser.parse_args()
    cases = [case for path in args.cases for case in read_cases(path)]
    places = [(case["in"], case["name"]) for case in cases]
    if len(set(places)) != len(places):
        sys.exit("two cases share a golden file")
    failed = run_count = 0
    for case in cases:
        if args.only not in (None, case["name"]) or case.get("without") in args.has:
            continue
        run_count += 1
        try:
            check(case, args.memtool, args.testdata.resolve(), args.update)
        except (Failure, OSError, ValueError, jsonschema.ValidationError,
                subprocess.TimeoutExpired) as failure:
            failed += 1
            print(f"FAILED {case['at']} {case['name']}: {case['run']}\n  {failure}")
    print(f"{run_count} cases, {failed} failed")
    return 1 if failed or not run_count else 0


if __name__ == "__main__":
    sys.exit(main())
