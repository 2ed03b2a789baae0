#!/usr/bin/env python3
"""Amounts from inputs are added, subtracted and negated by base/arithmetic.h only.

Fails on +, -, *, their assignments and a unary minus beside a member that holds an amount of an
input (bytes, sizes, values, times of the model): any file can make it leave the range of int64,
which is undefined. Amounts that were copied into a local name are not seen; the undefined-behaviour
sanitizer over the hostile inputs looks for those.
"""

import argparse
import os
import re
import sys

ROOMS = ("libprofile", "formats", "commands")
AMOUNT = r"(?:\.|->)(?:bytes|size|requested|allocated|active|reserved|value|flat|cum|unknown|" \
         r"precision|weight|carried|nanos|time|[a-z_]+_bytes|[a-z_]+_nanos)\b(?![\w(.]|->)"
# A path to a member, and what an expression ends with.
PLACE = r"(?:\w|\.|->|\[[^\]\n]*\])*?"
BEFORE = r"[\w)\]]\s*"
NOT_COUNTED = r"(?!(?:\[[^\]\n]*\])?\s*(?:[!=<>]=|[<>]\s))"  # n += a.size != b.size ? 1 : 0
UNCHECKED = [
    re.compile(AMOUNT + r"(?:\[[^\]\n]*\])?\s*(?:[+*-]=?|\+\+|--)\s*(?!>)"),
    re.compile(BEFORE + r"[+*-]=?\s+" + PLACE + AMOUNT + NOT_COUNTED),
    re.compile(r"(?:[(,=?:<>{]|\breturn)\s*-" + PLACE + AMOUNT),
    re.compile(r"\bstd::(?:accumulate|reduce|transform_reduce|plus)\b"),
]
# Not amounts of an input, or not signed: how many a file has.
EXEMPT = {
    "libprofile/src/base/escape.cc": 1,  # code points
    "libprofile/src/base/utf8.cc": 1,
    "libprofile/src/base/sizes.cc": 1,  # floating point
    "libprofile/src/base/units.cc": 1,
    "formats/capture_log/stacks/stack_maker.cc": 1,  # unsigned addresses
    "formats/capture_log/calls/call_interpreter.cc": 1,  # unsigned and limited
    "commands/output/plot/charts.cc": 1,  # points on paper
    "commands/pprof/go_text.cc": 1,  # nanoseconds within a second
    "commands/pprof/reports/dot.cc": 1,  # floating point
}


def code_of(text):
    """Without comments and texts; lines stay where they are."""
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def faults_of(path, text):
    text = code_of(text)
    lines = sorted({text.count("\n", 0, match.end()) + 1
                    for pattern in UNCHECKED for match in pattern.finditer(text)})
    return [f"{path}:{line}: an amount that is not summed by base/arithmetic.h" for line in lines]


def self_test():
    """The patterns match what they are meant for."""
    for bad in ("return end_bytes == s.live_bytes + s.pending_bytes;",
                "x = segment.size - segment.active;",
                "total += row.bytes;",
                "sum.bytes -= size;",
                "changes.emplace_back(event.time, -event.size);",
                "return -event.size;",
                "n = 2 * sums[i].value;",
                "y = a\n    + parts[i].precision;",
                "std::accumulate(a.begin(), a.end(), 0)"):
        assert faults_of("x.cc", bad), bad
    for good in ("total = SaturatingAdd(total, row.bytes);",
                 "n += a.size != b.size ? 1 : 0;",
                 "gaps += block.size > rest ? 1 : 0;",
                 "x = names.size() + 1;",
                 "// a.bytes + b.bytes",
                 "text = \"a.bytes + b.bytes\";",
                 "f(trace.time, event->size);"):
        assert not faults_of("x.cc", good), good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root")
    root = parser.parse_args().root
    self_test()
    faults = []
    for room in ROOMS:
        for place, folders, names in os.walk(os.path.join(root, room)):
            folders.sort()
            for name in sorted(names):
                if not name.endswith((".cc", ".h")):
                    continue
                path = os.path.relpath(os.path.join(place, name), root)
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    found = faults_of(path, file.read())
                if len(found) > EXEMPT.get(path, 0):
                    faults += found
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
