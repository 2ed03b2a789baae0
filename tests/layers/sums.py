#!/usr/bin/env python3
"""Amounts from inputs are added, subtracted and negated by base/arithmetic.h only.

Fails on +, -, *, their assignments and a unary minus beside a member that holds an amount of an
input (bytes, sizes, values, times of the model): any file can make it leave the range of int64,
which is undefined. Amounts that were copied into a local name are not seen; the undefined-behaviour
sanitizer over the hostile inputs looks for those.
"""

import re
import sys

import sources

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
    # Limited before it begins (CachingAllocator::kMaxSize, IsWithinRange); its inner loop.
    "libprofile/src/whatif/caching_allocator.cc": 8,
    "libprofile/src/whatif/driver_model.cc": 1,
    "libprofile/src/whatif/expandable.cc": 6,
    "libprofile/src/whatif/release.cc": 7,
    "formats/capture_log/stacks/stack_maker.cc": 1,  # unsigned addresses
    "formats/capture_log/calls/call_interpreter.cc": 1,  # unsigned and limited
    "commands/output/plot/charts.cc": 1,  # points on paper
    "commands/pprof/measure.cc": 1,
    "commands/pprof/text/go_text.cc": 1,  # nanoseconds within a second
    "commands/pprof/reports/dot.cc": 1,  # floating point
}


def code_of(text):
    """Without comments and texts; lines stay where they are."""
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def faults_of(path, text):
    text = code_of(text)
    lines = sources.lines_of(text, UNCHECKED, lambda match: match.end())
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


if __name__ == "__main__":
    sys.exit(sources.main(__doc__, faults_of, EXEMPT, self_test))
