#!/usr/bin/env python3
"""Names that attack the output, through every command and format.

usage: hostile_test.py --memtool PATH FILE...
"""
import argparse
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unicodedata
import xml.etree.ElementTree as ET
from pathlib import Path

csv.field_size_limit(1 << 24)
MOST_SECONDS = 10 * float(os.environ.get("MEMTOOL_TEST_SLOWNESS", "1"))
BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
ROWS = ("table", "json", "json-columns", "jsonl", "csv", "markdown")
BY = ("function", "filefunction", "line", "file", "module", "stack", "tag", "size", "input",
      "label:same \\xff")


class Failure(Exception):
    pass


def run(command):
    started = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60)
    seconds = time.monotonic() - started
    if done.returncode:
        raise Failure(f"exit {done.returncode}: {done.stderr[:300]!r}")
    if done.stderr:
        raise Failure(f"stderr: {done.stderr[:300]!r}")
    if seconds > MOST_SECONDS:
        raise Failure(f"{seconds:.1f} s")
    return done.stdout


def text_of(out, breaks="\n", strict=True):
    """Decodes; `strict`: nothing that a terminal obeys, nothing that reverses text."""
    text = out.decode()
    for c in set(text) - set(breaks):
        if ord(c) < 0x20 or c == "\x7f":
            raise Failure(f"a raw control byte {c!r} at {text.index(c)}")
        if strict and (unicodedata.category(c) == "Cc" or c in BIDI):
            raise Failure(f"a raw {c!r} at {text.index(c)}")
    return text


def no_constant(name):
    raise Failure(f"{name} is not JSON")


def parse_json(text):
    return json.loads(text, parse_constant=no_constant)


def check_rows(kind, out):
    if kind == "json":
        answer = parse_json(text_of(out, strict=False))
        if not answer["rows"]:
            raise Failure("no rows")
    elif kind == "json-columns":
        columns = parse_json(text_of(out, strict=False))["columns"]
        if len({len(column) for column in columns.values()}) != 1:
            raise Failure("columns differ in length")
    elif kind == "jsonl":
        for line in text_of(out, strict=False).split("\n")[:-1]:
            parse_json(line)
    elif kind == "csv":
        text = text_of(out, breaks="\r\n")
        if text.count("\r") != text.count("\r\n") or text.count("\n") != text.count("\r\n"):
            raise Failure("a line break that is not CRLF")
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        if len({len(row) for row in rows}) != 1:
            raise Failure("rows differ in length")
        for cell in (cell for row in rows for cell in row):
            if cell[:1] in "=+@" and cell or cell.startswith("-") and not cell[1:].isdigit():
                raise Failure(f"a formula: {cell[:50]!r}")
    elif kind == "markdown":
        for line in text_of(out).split("\n"):
            if "<" in line or ">" in line:
                raise Failure(f"markup: {line[:100]!r}")
    else:
        for line in text_of(out).split("\n"):
            if len(line) > 2000:
                raise Failure("a row of a table that nobody can read")


def check_total(memtool, path):
    """Two names that look the same stay two rows; sums stay exact (testdata's README)."""
    answer = parse_json(run([memtool, "top", "--by", "function", "--frames", "all", "--format", "json", path]))
    flat = sorted(row["flat"] for row in answer["rows"])
    if sum(flat) != answer["total"]:
        raise Failure("rows do not sum to the total")
    plain = [row for row in answer["rows"] if row["name"] == "same \ufffd"]
    if len(plain) != 2:
        raise Failure(f"{len(plain)} rows for two names that differ in one byte")


def check_dot(dot, out):
    text_of(out, breaks="\n\t")
    done = subprocess.run([dot, "-Tsvg"], input=out, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    if done.returncode or b"rror" in done.stderr:
        raise Failure(f"dot: {done.stderr[:300]!r}")
    check_svg(done.stdout)


def check_svg(out, script=False):
    """`script`: the picture has one of its own, of which no name of an input may be a part."""
    if out.lower().count(b"<script") != (1 if script else 0):
        raise Failure("a script in the picture")
    root = ET.fromstring(out)
    for element in root.iter():
        if script and element.tag.split("}")[-1] not in ("svg", "style", "rect", "g", "title", "text", "script"):
            raise Failure(f"element {element.tag}")
        for name, value in element.attrib.items():
            local = name.split("}")[-1].lower()
            if local.startswith("on") or (local == "href" and "javascript" in value.lower()):
                raise Failure(f"attribute {name}={value[:50]!r}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", required=True)
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    dot = shutil.which("dot")
    failed = checks = 0

    def check(what, *step):
        nonlocal failed, checks
        checks += 1
        try:
            step[0](*step[1:])
        except (Failure, ValueError, KeyError, ET.ParseError, csv.Error, subprocess.TimeoutExpired) as failure:
            failed += 1
            print(f"FAILED {what}: {type(failure).__name__}: {str(failure)[:400]}")

    for path in args.files:
        call = lambda command: run([args.memtool, *command, path])
        for kind in ROWS:
            for options in ([], ["--frames", "all", "-n", "0"], ["--unit", "B"]):
                command = ["top", "--format", kind, *options]
                check(" ".join(command), lambda c=command, k=kind: check_rows(k, call(c)))
            for by in BY:
                command = ["top", "--format", kind, "--by", by, "-n", "0"]
                check(" ".join(command), lambda c=command, k=kind: check_rows(k, call(c)))
            for command in (["tags", "-n", "0"], ["info", "-n", "0"], ["tree", "-n", "0"], ["peek", "."],
                            ["traces", "-n", "0"], ["traces", "-n", "0", "--frames", "all"]):
                command += ["--format", kind]
                check(" ".join(command), lambda c=command, k=kind: check_rows(k, call(c)))
        check("raw", lambda: text_of(call(["raw"])))
        check("convert folded", lambda: text_of(call(["convert", "--to", "folded"])))
        check("convert json", lambda: parse_json(text_of(call(["convert", "--to", "json"]), strict=False)))
        check("totals", check_total, args.memtool, path)
        with tempfile.TemporaryDirectory() as folder:
            again = str(Path(folder) / "again.pb.gz")
            check("convert pprof", lambda: call(["convert", "--to", "pprof", "-o", again]))
            check("raw of the copy", lambda: compare(
                call(["raw"]), run([args.memtool, "raw", again])))
            half = str(Path(folder) / "merged.pb.gz")
            check("merge", lambda: run([args.memtool, "merge", "-o", half, path, again]))
            for kind in ROWS:
                check(f"diff {kind}", lambda k=kind: check_rows(
                    k, run([args.memtool, "diff", "-n", "0", "--format", k, path, half])))
        for options in ([], ["--up"], ["--by", "line", "--frames", "all", "--min-share", "0"]):
            check("flame " + " ".join(options), lambda o=options: check_svg(
                call(["flame", "--format", "svg", *o]), script=True))
            check("flame as text", lambda o=options: text_of(call(["flame", "--format", "text", *o])))
            check("flame folded", lambda o=options: text_of(call(["flame", "--format", "folded", *o])))
        check("flame folded as convert", lambda: compare(
            call(["flame", "--frames", "all", "--format", "folded"]),
            call(["convert", "--frames", "all", "--to", "folded"])))
        for options in ([], ["--nodecount", "0", "--edgecount", "0"], ["--by", "line", "--frames", "all"]):
            what = "dot " + " ".join(options)
            if dot:
                check(what, lambda o=options: check_dot(dot, call(["dot", *o])))
                check("svg " + " ".join(options), lambda o=options: check_svg(call(["svg", *o])))
            else:
                check(what, lambda o=options: text_of(call(["dot", *o]), breaks="\n\t"))
    if not dot:
        print("dot is not installed: pictures were not looked at")
    print(f"{checks} checks, {failed} failed")
    return 1 if failed else 0


def compare(one, other):
    # The first line names the file.
    if one.split(b"\n", 1)[1] != other.split(b"\n", 1)[1]:
        raise Failure("the copy differs")


if __name__ == "__main__":
    sys.exit(main())
