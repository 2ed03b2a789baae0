"""What the tests that search the sources share: the files, the count of exceptions, the verdict."""

import argparse
import os
import sys

ROOMS = ("libprofile", "formats", "commands")


def sources(root, rooms):
    """(path below `root`, text) of every C++ source."""
    for room in rooms:
        for place, folders, names in os.walk(os.path.join(root, room)):
            folders.sort()
            for name in sorted(names):
                if name.endswith((".cc", ".h")):
                    path = os.path.relpath(os.path.join(place, name), root)
                    with open(os.path.join(root, path), encoding="utf-8") as file:
                        yield path, file.read()


def lines_of(text, patterns, position=lambda match: match.start()):
    """The numbers of the lines that any of `patterns` finds."""
    return sorted({text.count("\n", 0, position(match)) + 1
                   for pattern in patterns for match in pattern.finditer(text)})


def main(description, faults_of, exempt, self_test, rooms=ROOMS):
    """Exit status: 1 where a file has more faults than `exempt` counts for it."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("root")
    root = parser.parse_args().root
    self_test()
    faults = []
    for path, text in sources(root, rooms):
        found = faults_of(path, text)
        if len(found) > exempt.get(path, 0):
            faults += found
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0
