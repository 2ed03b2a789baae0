#!/usr/bin/env python3
"""Writes hostile/names.pb.gz: a valid profile whose names attack every sink.

Each odd text appears as a function name, and in turn as file name, label key,
label value, comment or mapping name.  Values are plain, so any tool that reads
the file can be held to exact sums.
"""
from pathlib import Path

import wire

OUT = Path(__file__).resolve().parent / "hostile"

NAMES = [
    # quoting
    'double "quote"', "single 'quote'", "back\\slash", "trailing backslash\\", '\\"', '"},{"name":"x',
    # markup
    "</script><script>alert(1)</script>", "<!-- comment", "]]>", "<b>bold</b>", "&amp;&lt;&#0;",
    "<img src=x onerror=alert(1)>", "</style></svg>", "javascript:alert(1)", "\u2028line\u2029paragraph",
    # lines and control characters
    "new\nline", "tab\there", "carriage\rreturn", "crlf\r\nend", "nul\0inside", "bell\a\b\v\f", "del\x7f",
    "\x1b[31mred\x1b[0m", "\x1b[2J\x1b[H", "\x1b]0;title\x07", "\x1b]8;;http://example.com\x1b\\link\x1b]8;;\x1b\\",
    "\x1bPq#0\x1b\\", "C1 \x9b31m and \x85 and \x90",
    # Unicode that changes how the neighbours look
    "\u202eright to left", "\u2066isolate\u2069", "\u200fmark\u200e", "zero\u200bwidth\u200d", "\ufeffbom",
    "combining " + "\u0301" * 40, "\U0001f600 astral", "\ue000 private", "\uffff noncharacter",
    # not UTF-8
    b"latin1 \xe9\xe8", b"lone \x80 continuation", b"cut \xe2\x82", b"overlong \xc0\xaf \xe0\x80\xaf",
    b"surrogate \xed\xa0\x80", b"too high \xf4\x90\x80\x80", b"\xff\xfe",
    # Two names that only differ in bytes that no text sink can show.
    b"same \xff", b"same \xfe",
    # spreadsheets
    "=cmd|' /C calc'!A0", "+1+1", "-1-1", "@SUM(A1)", "\t=1", "a,b;c", "1e999",
    # markdown, printf, shells, regular expressions, DOT
    "a|b", "`code`", "**bold** [x](y)", "# heading", "%s%n%x", "$(id)", "${HOME}", "; rm -rf /", "semi;colon",
    ".*[", "(?i)", "\\N", "label\\l\\r\\G", "}; digraph {", "node [shape=box]", "a::b<c, d>()", "C:\\dir\\file",
    # names of our own rows
    "(no stack)", "(before recording)", "Others", "<module>", "<lambda>", "null", "NaN", "0",
    # spaces and nothing
    "", " ", "  lead and trail  ",
]
# Longer than any line buffer, yet small in the gzip: text with a pattern.
LONG = ("very.long.name/" * 70_000)[:1_000_000]


def profile():
    names = NAMES + [LONG]
    at = lambda k: names[k % len(NAMES)]  # the long name once is enough
    functions, locations, samples = [(1, "root", "root", "root.py", 1)], [(1, 1, 0, [(1, 1)])], []
    for k, name in enumerate(names):
        i = k + 2
        functions.append((i, name, name, at(k + 1), k))
        locations.append((i, 1 + k % 8, 0x1000 + i, [(i, k)]))
        label = (at(k + 2), at(k + 3)) if k % 5 else (at(k + 2), 1 + k, at(k + 3))
        samples.append(((i, 1), [1, 1000 + k], [label]))
    return {
        "types": [("allocations", "count"), ("space", "bytes")],
        "mappings": [(i + 1, 0x1000 * (i + 1), 0x1000 * (i + 2), 0, at(i * 9), at(i * 9 + 1), ())
                     for i in range(8)],
        "functions": functions, "locations": locations, "samples": samples,
        "comments": names[:-1],
    }


if __name__ == "__main__":
    wire.save(OUT / "names.pb.gz", wire.gz(wire.encode(profile())))
