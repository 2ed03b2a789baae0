#!/usr/bin/env python3
"""No code tells recordings apart by text that is for people, or by a reader's name.

Fails on a comparison or search of Metadata::format, Metadata::format_display or a reader's name();
Metadata::origin (model/origin.h) is what code compares. The names that a user gives to choose a
reader or writer are looked up in one place each.
"""

import re
import sys

import sources

TEXT = r"(?:\bmetadata(?:\(\))?\s*\.\s*format\b|\bformat_display\b|\bdisplays\(\)\s*\[[^\]]*\]|" \
       r"\b(?:reader|writer)\w*\s*(?:->|\.)\s*name\(\))"
SEARCHES = r"(?:starts_with|ends_with|find|rfind|contains|compare|substr)"
COMPARISONS = [
    re.compile(TEXT + r"\s*(?:==|!=|<=>)"),
    re.compile(r"(?:==|!=|<=>)\s*[\w.>()\[\]-]*?" + TEXT),
    re.compile(TEXT + r"\s*\.\s*" + SEARCHES + r"\b"),
    re.compile(r"\b(?:find|count|at|contains|strcmp|equal|starts_with|IsOneOf)\s*\(\s*"
               r"[\w.>()\[\]-]*?" + TEXT),
]
# Where a name that the user gave is looked up.
LOOKUPS = {"formats/open.cc": 1, "formats/write.cc": 1, "commands/convert/convert.cc": 1}


def code_of(text):
    """Without comments; lines stay where they are."""
    return re.sub(r"//[^\n]*", "", text)


def faults_of(path, text):
    text = code_of(text)
    lines = sources.lines_of(text, COMPARISONS)
    return [f"{path}:{line}: compares text that is for people" for line in lines]


def self_test():
    """The patterns match what they are meant for."""
    for bad in ('if (recording.metadata.format == "pprof") {}',
                'if ("pprof" == recording.metadata.format) {}',
                'builder.metadata().format != name',
                'metadata.format_display.find("JAX")',
                'loaded.recording().metadata.format_display\n    .starts_with("JAX")',
                'names.contains(recording->metadata.format)',
                'if (reader->name() == kDriverLog) {}'):
        assert faults_of("x.cc", bad), bad
    for good in ('builder.metadata().format = name();',
                 'fmt::format("{} is one moment", recording.metadata.format_display)',
                 'note.format = recording.metadata.format;',
                 '// metadata.format == "pprof"'):
        assert not faults_of("x.cc", good), good


if __name__ == "__main__":
    sys.exit(sources.main(__doc__, faults_of, LOOKUPS, self_test))
