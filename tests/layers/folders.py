#!/usr/bin/env python3
"""The shape of the sources, read from their #include "..." lines.

Fails on a circle between folders of one room, on an include that runs back up to the files beside
them, on an include of an upper room (libprofile <- formats
<- commands; capture stands alone), and on a folder with more sources side by side than a person
takes in. Prints what it counted.
"""

import argparse
import collections
import os
import re
import sys

MOST_SOURCES = 22
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
PUBLIC = "(public)"  # a room's headers that stand below its folders
ROOT = "(root)"

# Where a room's sources are, and how its public headers are included.
ROOMS = {
    "libprofile": (["libprofile/src", "libprofile/include/memtool/profile"], "memtool/profile/"),
    "formats": (["formats", "formats/include/memtool/formats"], "memtool/formats/"),
    "commands": (["commands"], None),
    "capture": (["capture/src"], None),
}
MAY_USE = {
    "libprofile": {"libprofile"},
    "formats": {"formats", "libprofile"},
    "commands": {"commands", "formats", "libprofile"},
    "capture": {"capture"},
}
# Shared by two rooms: the layout of capture logs.
SHARED = {"capture/wire.h", "capture/include/memtool_capture.h"}


def sources(folder):
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".cc", ".h")):
                yield os.path.join(place, name)


class Sources:
    def __init__(self, root):
        self.root = root
        self.place = {}  # path -> (room, folder)
        for room, (folders, _) in ROOMS.items():
            for folder in folders:
                for path in sources(os.path.join(root, folder)):
                    path = os.path.relpath(path, root)
                    self.place[path] = (room, self.folder_of(path, folders))

    @staticmethod
    def folder_of(path, folders):
        base = max((f for f in folders if path.startswith(f + "/")), key=len)
        inside = os.path.dirname(os.path.relpath(path, base))
        if inside:
            return inside
        return PUBLIC if "/include/" in path else ROOT

    def find(self, path, name):
        """The file that `path` means by `name`; None for headers of other projects."""
        room = self.place[path][0]
        tries = [os.path.join(os.path.dirname(path), name)]
        tries += [os.path.join(folder, name) for folder in ROOMS[room][0]]
        for other, (folders, prefix) in ROOMS.items():
            if prefix and name.startswith(prefix):
                tries.append(os.path.join(folders[1], name[len(prefix):]))
            tries += [os.path.join(folder, name) for folder in folders]
        for candidate in map(os.path.normpath, tries):
            if candidate in self.place or candidate in SHARED:
                return candidate
        return None

    def includes(self):
        for path in sorted(self.place):
            with open(os.path.join(self.root, path), encoding="utf-8") as file:
                for name in INCLUDE.findall(file.read()):
                    target = self.find(path, name)
                    if target and target not in SHARED:
                        yield path, target


def circles(arrows):
    """Sets of folders that reach each other (Tarjan, without recursion)."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for start in sorted(arrows):
        if start in index:
            continue
        work = [(start, iter(sorted(arrows[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    group = []
                    while not group or group[-1] != node:
                        group.append(stack.pop())
                        on_stack.discard(group[-1])
                    if len(group) > 1:
                        found.append(sorted(group))
            elif target not in index:
                index[target] = low[target] = len(index)
                stack.append(target)
                on_stack.add(target)
                work.append((target, iter(sorted(arrows.get(target, ())))))
            elif target in on_stack:
                low[node] = min(low[node], index[target])
    return found


def crowds(root):
    """Sources side by side, per folder."""
    for room in ("libprofile", "formats", "commands", "capture", "tests"):
        counts = collections.Counter(os.path.dirname(os.path.relpath(path, root))
                                     for path in sources(os.path.join(root, room)))
        for folder, count in sorted(counts.items()):
            if "/include/" not in folder + "/":
                yield folder, count


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root")
    root = parser.parse_args().root
    faults = []
    tree = Sources(root)
    arrows = {room: collections.defaultdict(dict) for room in ROOMS}
    for path, target in tree.includes():
        (room, folder), (other, below) = tree.place[path], tree.place[target]
        if other not in MAY_USE[room]:
            faults.append(f"{path} includes {target}: {room} may not use {other}")
        elif room == other and folder != below:
            if below == ROOT:
                faults.append(f"{path} includes {target}, which stands above its folder")
            arrows[room][folder].setdefault(below, (path, target))
    for room, folders in arrows.items():
        for group in circles(folders):
            lines = [f"  {folder} -> {below}: {path} includes {target}"
                     for folder in group for below, (path, target) in sorted(folders[folder].items())
                     if below in group]
            faults.append(f"{room}: a circle of {', '.join(group)}\n" + "\n".join(lines))
    for folder, count in crowds(root):
        print(f"{count:3} {folder}")
        if count > MOST_SOURCES:
            faults.append(f"{folder}: {count} sources side by side, at most {MOST_SOURCES}")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
