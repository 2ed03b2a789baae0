#!/usr/bin/env python3
"""scripts/packages.txt is whole: every row has a name for every manager, every section is somebody's, and what
CMake found for the build at hand is named there (on Debian, where dpkg knows whose a file is).

usage: packages_test.py --memtool PROGRAM --build FOLDER
"""
import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

from packages import MANAGERS, SCRIPTS, table

# Sections of scripts that take Debian's own packages apart, and of the checks, which are for Debian 12.
DEBIAN_ALONE = {"ci", "page", "node", "portable", "across", "deb"}
# Packages that CMake finds something in and that come with one that is named.
COME_WITH = {"libelf-dev": "libdw-dev", "libboost-dev": "libboost-program-options-dev", "pkgconf": "pkg-config"}
# Used where they are there: nobody needs them to build.
HELPERS = {"COVERAGE_COMMAND", "GITCOMMAND", "MEMORYCHECK_COMMAND"}


def check_table(sections):
    wrong = []
    for section, rows in sections.items():
        wanted = MANAGERS[:1] if section in DEBIAN_ALONE else MANAGERS
        names = [row.cells["apt"] for row in rows]
        wrong += [f"[{section}] has {name} twice" for name in set(names) if names.count(name) > 1]
        for row in rows:
            name = row.cells["apt"]
            if list(row.cells) != wanted:
                wrong.append(f"[{section}] {name}: names for {', '.join(row.cells)}, not {', '.join(wanted)}")
            for manager, cell in row.cells.items():
                if not re.fullmatch(r"[A-Za-z0-9][\w.+-]*" if manager == "apt" else r"[A-Za-z0-9][\w.+-]*|[.-]", cell):
                    wrong.append(f"[{section}] {name}: '{cell}' is no package of {manager}")
            if ("-" in row.cells.values()) != bool(row.words):
                wrong.append(f"[{section}] {name}: '-' and words belong together")
    return wrong


def check_sections(sections):
    asked = set()
    for path in [*SCRIPTS.iterdir(), SCRIPTS.parent / ".ci/run"]:
        if path.is_file():
            for words in re.findall(r"^(?:.*[|;&] |stage '\w+' |  )?need_packages ([a-z ]+)$", path.read_text(), re.M):
                asked.update(words.split())
    return ([f"nobody asks for [{name}]" for name in sorted(set(sections) - asked)] +
            [f"[{name}] is asked for and is not there" for name in sorted(asked - set(sections))])


def check_found(sections, build):
    """What CMake's cache names belongs to packages of [build] and [test]."""
    if shutil.which("dpkg-query") is None:
        return [], 0
    named = {row.cells["apt"] for section in ("build", "test") for row in sections[section]}
    found = {}
    for line in (build / "CMakeCache.txt").read_text().splitlines():
        entry = re.fullmatch(r"([\w-]+):(?:FILEPATH|PATH)=(/usr/(?:bin|lib|share)/.+)", line)
        if entry and not entry[1].startswith("CMAKE_") and entry[1] not in HELPERS:
            found[entry[1]] = str(Path(entry[2]))
    done = subprocess.run(["dpkg-query", "-S", *found.values()], capture_output=True, text=True, check=False)
    owners = {}
    for line in done.stdout.splitlines():
        packages, _, path = line.partition(": ")
        owners[path] = {name.split(":")[0] for name in packages.split(", ")}
    wrong, known = [], 0
    for entry, path in found.items():
        # Without the version that is a part of a name.
        names = {re.sub(r"[\d.]+-dev$", "-dev", name) if "boost" in name else name for name in owners.get(path, ())}
        if names and not names & named and not {COME_WITH.get(name) for name in names} & named:
            wrong.append(f"CMake's {entry} is {path} of {', '.join(sorted(names))}, which packages.txt does not name")
        known += bool(names)
    return wrong + ([] if known > 20 else [f"only {known} of {len(found)} paths belong to packages"]), known


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--build", required=True, type=Path)
    args = parser.parse_args()
    sections = table()
    found, known = check_found(sections, args.build)
    wrong = check_table(sections) + check_sections(sections) + found
    print("\n".join(wrong) or f"{sum(map(len, sections.values()))} rows; {known} paths of CMake belong to them")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
