"""What the program answers about one input. A command line is run once, however many rules ask for it."""
import gzip
import functools
import json
import os
import re
import shlex
import subprocess
import zlib
from pathlib import Path

SLOWNESS = float(os.environ.get("MEMTOOL_TEST_SLOWNESS", "1"))
NO_END = 120 * SLOWNESS  # seconds after which a command counts as one that does not end
MOST_TEXT = 64 << 20


def unpacked(data):
    """Without gzip or zlib around it."""
    try:
        if data[:2] == b"\x1f\x8b":
            return gzip.decompress(data)
        if data[:1] == b"\x78" and (data[0] * 256 + data[1]) % 31 == 0:
            return zlib.decompress(data)
    except (OSError, EOFError, zlib.error):
        pass
    return data


class Result:
    """How one command line ended, and what it printed."""

    def __init__(self, words, code, out, err):
        self.words, self.code, self.out, self.err = words, code, out, err
        self.command = words.split()[0]

    @property
    def format(self):
        found = re.search(r"--format ([\w-]+)", self.words)
        return found[1] if found else "table"

    def text(self):
        return self.out[:MOST_TEXT].decode(errors="replace")


class NotJson(Exception):
    pass


def no_constant(name):
    raise NotJson(f"{name} is not JSON")


def parse(text):
    """JSON as its standard has it: without NaN and Infinity."""
    try:
        return json.loads(text, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None


@functools.cache
def formats(memtool):
    """The words of all readers."""
    said = subprocess.run([memtool, "--version"], capture_output=True, text=True, check=True).stdout
    return frozenset(re.search(r"^Reads: *(.*)$", said, re.M)[1].split(", "))


class Answers:
    """`path` lies in `folder`, which belongs to this input alone. `role`: what the file is to the program (inputs.py)."""

    def __init__(self, memtool, folder, name, role="profile", damage=""):
        self.memtool, self.folder, self.name, self.role, self.damage = memtool, Path(folder), name, role, damage
        self.results = {}
        self.unpacked = unpacked((self.folder / name).read_bytes())
        self._negative = None

    def ask(self, words):
        """FILE in `words` is the input."""
        if words not in self.results:
            command = [self.memtool] + [self.name if word == "FILE" else word for word in shlex.split(words)]
            try:
                done = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                                      timeout=NO_END, check=False)
                self.results[words] = Result(words, done.returncode, done.stdout, done.stderr)
            except subprocess.TimeoutExpired:
                self.results[words] = Result(words, None, b"", b"")
        return self.results[words]

    def json(self, words):
        """The answer as JSON; None where the program has none, or prints what the rule of JSON reports."""
        if "--format" not in words:
            command, rest = (words + " ").split(" ", 1)
            words = f"{command} --format json {rest}".strip()
        result = self.ask(words)
        if result.code not in (0, 1, 4):
            return None
        try:
            answer = parse(result.out)
            return answer if isinstance(answer, dict) else None
        except NotJson:
            return None

    def info(self):
        """What `info` says of the input; {} when it cannot be read."""
        answer = self.json("info FILE")
        return answer["inputs"][0] if answer and answer.get("inputs") else {}

    def devices(self, most=3):
        """(what --device takes, what `info` says of it) of devices that one word means alone"""
        rows = self.info().get("devices") or []
        numbers = [row["device"] for row in rows]
        return [(word, row) for row in rows[:most] if numbers.count(row["device"]) == 1
                and (word := str(row["device"]) if row["device"] >= 0 else row["name"]) and "\\" not in word]

    @property
    def has_history(self):
        return bool(self.info().get("devices"))

    def codes(self, answer):
        return {note["code"] for note in answer.get("diagnostics", []) if note["severity"] != "note"}

    def clamped(self, *answers):
        """Whether an answer says that its sums left the range, so that they need not add up."""
        return any("clamped_sums" in self.codes(answer) for answer in answers)

    def info_is_clamped(self):
        return self.clamped(self.json("info FILE") or {})

    def negative_samples(self):
        """Whether the input itself is a difference: pprof writes profiles of differences, whose samples have a sign."""
        if self._negative is None:
            self._negative = False
            # A container's word for the format is an input, too.
            if self.info().get("format") in ("pprof", None) or self.info()["format"] not in formats(self.memtool):
                answer = self.json("traces --frames all FILE") or {}
                self._negative = any(row["value"] < 0 for row in answer.get("rows", []))
        return self._negative

    def sibling(self, words, name):
        """The answers about a file that `words` write; None when they write none."""
        self.ask(words)
        if not (self.folder / name).exists():
            return None
        return Answers(self.memtool, self.folder, name)


def total(rows, key):
    return sum(row[key] for row in rows if row.get(key) is not None)
