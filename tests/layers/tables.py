#!/usr/bin/env python3
"""Tables whose keys come from inputs hash them with words that each process draws: base/key_hash.h.

Fails on the unordered containers, std::hash, XXH3's functions and the constants of well-known mixers
anywhere else: whoever knows a hash can write a file of keys that share a place, and n of them cost
n^2. KeyMap and KeySet take the place of the containers; a table of one's own takes HashNumber,
HashBytes or HashRows. The capture library is no part of this: it runs in the program that it
records and reads no file of a stranger. Neither are the tests.
"""

import re
import sys

import sources

HEADER = "libprofile/include/memtool/profile/base/key_hash.h"
MIXERS = ("9e3779b97f4a7c15", "9e3779b1", "ff51afd7ed558ccd", "c4ceb9fe1a85ec53",  # Fibonacci, Murmur
          "bf58476d1ce4e5b9", "94d049bb133111eb",  # splitmix64
          "c6a4a7935bd1e995", "cc9e2d51", "1b873593",  # Murmur
          "100000001b3", "cbf29ce484222325", "01000193", "811c9dc5")  # FNV
UNKEYED = [
    re.compile(r"\b(?:std|boost)::unordered_\w+"),
    re.compile(r"#\s*include\s*<(?:unordered_(?:map|set)|boost/(?:unordered|functional/hash)[^>]*)>"),
    re.compile(r"\bstd::(?:hash\b|_Hash_bytes\b)"),
    re.compile(r"\bXXH\w*_(?:64|128)bits\w*\("),
    re.compile(r"\b0x0*(?:" + "|".join(MIXERS) + r")(?:u|l)*\b", re.I),
]
# Hashes that are no table's.
EXEMPT = {
    HEADER: 4,
    "libprofile/src/base/key_hash.cc": 1,  # where there is no random source
    "libprofile/src/steps/loops.cc": 1,  # the factor of a polynomial over keyed hashes
    "formats/pprof/stack_interner.cc": 1,  # keyed by words that HashNumber makes
    "formats/pprof/sample_columns.cc": 1,  # which of the latest label sets a new one replaces
    "formats/memtool_file/section_reader.cc": 1,  # checksums of a file format
    "formats/memtool_file/section_writer.cc": 2,
    "formats/documents/digest/hash_file.cc": 3,  # what a digest stores
    "commands/flame/flame_svg.cc": 2,  # the tint of a name
}


def code_of(text):
    """Without comments; lines stay where they are."""
    return re.sub(r"//[^\n]*", "", text)


def faults_of(path, text):
    lines = sources.lines_of(code_of(text), UNKEYED)
    return [f"{path}:{line}: a hash that files know; base/key_hash.h has KeyMap, KeySet, HashNumber, "
            "HashBytes and HashRows" for line in lines]


def self_test():
    """The patterns match what they are meant for."""
    for bad in ("std::unordered_map<std::uint64_t, int> rows;",
                "std::unordered_multimap<std::uint64_t, Id> index_;",
                "#include <unordered_set>",
                "#include <boost/unordered_map.hpp>",
                "return std::hash<std::string>()(name);",
                "at = XXH3_64bits(text.data(), text.size()) & mask;",
                "hash = (hash ^ value) * 0xff51afd7ed558ccdULL;",
                "at = (key * 0x9E3779B97F4A7C15U >> 32U) & mask;"):
        assert faults_of("x.cc", bad), bad
    for good in ("KeyMap<std::uint64_t, int> rows;",
                 "// as std::unordered_map does",
                 "hash_->hex;",
                 "bits * 0x0101010101010101U",
                 "0x7f4a7c15U"):
        assert not faults_of("x.cc", good), good


if __name__ == "__main__":
    sys.exit(sources.main(__doc__, faults_of, EXEMPT, self_test, (*sources.ROOMS, "bindings")))
