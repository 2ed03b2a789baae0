#!/usr/bin/env python3
"""Text reaches a sink as VisibleText, in which nothing is left that a terminal would act on.

Fails on Sink::WriteBytes anywhere but in the places below, each of which hands on a document whose
writer escapes as the document's format says. Also fails on output that goes around sinks.
"""

import re
import sys

import sources

BYTES = [
    re.compile(r"\bWriteBytes\("),
    re.compile(r"\bstd::(?:cout|cerr|clog|puts|printf|fputs|fprintf|fwrite)\b|\bfmt::print\b"),
]
EXEMPT = {
    "commands/output/sink.h": 3,  # declares it
    "commands/output/sink.cc": 3,
    "commands/output/terminal/pager.h": 1,  # hands on what was written to it
    "commands/output/terminal/pager.cc": 4,
    "commands/output/whole_file.h": 1,
    "commands/output/whole_file.cc": 2,  # files, and what goes to standard output in place of one
    "commands/options/output_options.cc": 1,  # JSON and CSV of an answer
    "commands/flame/flame.cc": 1,  # JSON and CSV of an answer
    "commands/overview/overview.cc": 4,  # what other commands printed
    "commands/overview/asked.cc": 1,  # takes it from them
    "commands/mcp/mcp.cc": 1,  # messages, which are JSON
    "commands/info/raw.cc": 1,  # visible text that was held back
}


def faults_of(path, text):
    lines = sources.lines_of(re.sub(r"//[^\n]*", "", text), BYTES)
    return [f"{path}:{line}: bytes that may hold anything; Sink::Write takes VisibleText" for line in lines]


def self_test():
    """The patterns match what they are meant for."""
    for bad in ("streams.out.WriteBytes(name);", "std::cout << name;", "fmt::print(\"{}\", name);",
                "std::fprintf(stderr, \"%s\", name);"):
        assert faults_of("x.cc", bad), bad
    for good in ("streams.out.Write(VisibleText(name).EndLine());", "// WriteBytes(", "std::snprintf(text, 4, \"%d\", i);"):
        assert not faults_of("x.cc", good), good


if __name__ == "__main__":
    sys.exit(sources.main(__doc__, faults_of, EXEMPT, self_test))
