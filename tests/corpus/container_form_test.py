#!/usr/bin/env python3
"""memtool-formats(5) is enough to read the container: a reader written from it, in Python.

usage: container_form_test.py --memtool PATH --testdata DIR

Every file of DIR/memtool_file, and some others as convert --to memtool writes them, are read here and
compared row by row with what convert --to sqlite says of them. Skipped (77) without zstd's library.
"""
import argparse
import ctypes
import ctypes.util
import os
import sqlite3
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

OTHERS = ["torch/small/three_devices.pickle", "torch/fresh/annotated.json", "whatif/small/pressure.json",
          "kineto/trace.json", "xplane/program.xplane.pb", "pprof/jax_leak/memory9.prof"]
MASK = (1 << 64) - 1
ACTIONS = ["alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap",
           "oom", "adjust", "snapshot", "annotate", "other"]
OPENING = {0, 3, 5}


def library(name):
    path = ctypes.util.find_library(name)
    return ctypes.CDLL(path) if path else None


ZSTD, XXHASH = library("zstd"), library("xxhash")


def unpacked(data, size):
    room = ctypes.create_string_buffer(max(size, 1))
    ZSTD.ZSTD_decompress.restype = ctypes.c_size_t
    made = ZSTD.ZSTD_decompress(room, ctypes.c_size_t(size), data, ctypes.c_size_t(len(data)))
    assert made == size, (made, size)
    return room.raw[:size]


def checksum(data):
    if XXHASH is None:
        return None
    XXHASH.XXH3_64bits.restype = ctypes.c_uint64
    return XXHASH.XXH3_64bits(data, ctypes.c_size_t(len(data)))


def check_sum(data, wanted, bits=64):
    assert checksum(data) is None or checksum(data) & ((1 << bits) - 1) == wanted, "checksum"


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def zigzag(word):
    return word // 2 if word % 2 == 0 else -(word + 1) // 2


class Column:
    def __init__(self, data, at):
        self.number, at = varint(data, at)
        coding = data[at]
        self.transform, self.layout = coding & 3, coding >> 2 & 3
        assert coding >> 5 == 0
        self.base, at = varint(data, at + 1)
        if self.layout != 0:
            self.divisor, at = varint(data, at)
            size, at = varint(data, at)
            stored, at = varint(data, at)
            self.bytes = bytes(data[at:at + stored])
            at += stored
            if coding & 16:
                self.bytes = unpacked(self.bytes, size)
            assert len(self.bytes) == size
        self.end = at

    def words(self, count):
        if self.layout == 2:
            planes = len(self.bytes) // count
            return [sum(self.bytes[p * count + i] << 8 * p for p in range(planes)) for i in range(count)]
        words, at = [], 0
        for _ in range(count):
            word, at = varint(self.bytes, at)
            words.append(word)
        assert at == len(self.bytes)
        return words

    def values(self, count):
        if self.layout == 0:
            return [self.base] * count
        value, step, values = self.base, 0, []
        for word in self.words(count):
            if self.transform == 0:
                value = self.base + word * self.divisor
            else:
                step = zigzag(word) * self.divisor + (step if self.transform == 2 else 0)
                value += step
            values.append(value & MASK)
        return values


class Section:
    def __init__(self, rows, payload):
        self.rows, self.numbers, self.texts, at = rows, {}, {}, 0
        while at < len(payload):
            column = Column(payload, at)
            (self.texts if column.layout == 3 else self.numbers)[column.number] = column
            at = column.end

    def values(self, number, count=None):
        count = self.rows if count is None else count
        return self.numbers[number].values(count) if number in self.numbers else [0] * count

    def text(self, number):
        data = self.texts[number].bytes if number in self.texts else b""
        texts, at = [], 0
        for length in self.values(number):
            texts.append(data[at:at + length])
            at += length
        assert at == len(data)
        return texts


def sections_of(data):
    assert data[:8] == b"\x89memtool"
    version, low = struct.unpack_from("<II", data, 8)
    check_sum(data[:12], low, 32)
    assert version == 1
    at, found = 16, {}
    count = 0
    while True:
        table, rows, size = struct.unpack_from("<IIQ", data, at)
        end = at + 16 + size
        check_sum(data[at:end], struct.unpack_from("<Q", data, end)[0])
        if table == 0:
            assert rows == count and end + 8 == len(data)
            return found
        found.setdefault(table, []).append(Section(rows, data[at + 16:end]))
        at, count = end + 8, count + 1


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def none(word):
    return word - 1 if word else None


class File:
    def __init__(self, data):
        self.sections = sections_of(data)
        self.strings = [b""] + [text for part in self.parts(2) for text in part.text(1)]

    def parts(self, table):
        return self.sections.get(table, [])

    def rows(self, table, columns):
        return [row for part in self.parts(table) for row in zip(*(part.values(number) for number in columns))]

    def lists(self, table, columns):
        for part in self.parts(table):
            lengths = part.values(1)
            items = list(zip(*(part.values(number, sum(lengths)) for number in columns)))
            at = 0
            for length in lengths:
                yield items[at:at + length]
                at += length

    def string(self, word):
        return self.strings[word - 1].decode(errors="replace") if word else ""

    def events(self):
        labels = self.parts(1)[0].values(28)[0]
        streams = [row[0] for row in self.rows(19, [1])]
        by_action, events = [[] for _ in ACTIONS], []
        for part in self.parts(21):
            kinds = part.values(1)
            refer = sum(kind >> 4 != 0 for kind in kinds)
            opens = [kind >> 4 == 0 or kind & 15 in OPENING for kind in kinds]
            counts = {1: len(kinds), 2: refer, 3: len(kinds) - refer, 6: len(kinds), 9: len(kinds), 10: len(kinds)}
            counts |= {number: sum(opens) for number in (4, 7, 11)} | {number: len(kinds) - sum(opens) for number in (5, 8, 12)}
            columns = {number: iter(part.values(number, count)) for number, count in counts.items()}
            for kind, opening in zip(kinds, opens):
                action, of = kind & 15, kind >> 4
                other = by_action[of - 1][-1 - next(columns[2])] if of else None
                key = other["key"] if of else next(columns[3])
                like = other or (by_action[action][-1] if by_action[action] else {"stream": 0, "ledger": 0})
                if opening:
                    size, stack = next(columns[4]), next(columns[7])
                    label = next(columns[11]) if labels else 1
                else:
                    size = (other["size"] + next(columns[5])) & MASK
                    word = next(columns[8])
                    stack = other["stack"] if word == 0 else word - 1
                    word = next(columns[12]) if labels else 1
                    label = other["label"] if word == 0 else word
                event = {"action": action, "key": key, "size": size, "stack": stack, "label": label,
                         "time": next(columns[6]), "stream": (like["stream"] + next(columns[9])) % (1 << 16),
                         "ledger": (like["ledger"] + next(columns[10])) % (1 << 8)}
                by_action[action].append(event)
                events.append(event)
        for event in events:
            time = signed(event["time"])
            yield (ACTIONS[event["action"]], signed(event["key"]), signed(event["size"]), None if time == -(1 << 63) else time,
                   none(event["stack"]), signed(streams[event["stream"]]), event["label"] - 1 if labels else None, event["ledger"])


def tables_here(data):
    file = File(data)
    text, streams = file.string, [row[0] for row in file.rows(19, [1])]
    sets = enumerate(file.lists(7, [2, 3, 4, 5, 6]), 1)
    samples = file.rows(15, [1, 2])
    types = len(file.rows(14, [1]))
    values = [row for part in file.parts(15) for row in zip(*(part.values(16 + t) for t in range(types)))]
    return {
        "functions": [(text(a), text(b), text(c), signed(d)) for a, b, c, d in file.rows(4, [1, 2, 3, 4])],
        "frames": [(none(f), signed(line)) for lines in file.lists(5, [5, 6]) for f, line in lines],
        "locations": [(none(m), signed(a)) for m, a in file.rows(5, [2, 3])],
        "stacks": [(row, at, item[0] - 1) for row, items in enumerate(file.lists(6, [2])) for at, item in enumerate(items)],
        "labels": sorted((row, text(key), None if numeric else text(words), signed(number) if numeric else None,
                          text(unit) if numeric else None)
                         for row, labels in sets for key, words, number, unit, numeric in labels),
        "samples": [(stack - 1, label - 1) for stack, label in samples],
        "sample_values": [tuple(map(signed, row)) for row in values],
        "events": list(file.events()),
        "segments": [(signed(d), signed(a), *map(signed, rest), none(k), signed(streams[s]))
                     for d, a, *rest, k, s in file.rows(24, [6, 1, 2, 3, 4, 5, 8, 7])],
        "blocks": [(signed(a), signed(s), none(k)) for a, s, k in file.rows(25, [1, 2, 4])],
    }


def tables_there(path, histories):
    base = sqlite3.connect(path)
    base.text_factory = lambda data: data.decode(errors="replace")

    def ask(query):
        return base.execute(query).fetchall()

    types = len(ask("SELECT id FROM sample_types"))
    values = ask("SELECT sample_id, type_id, value FROM sample_values ORDER BY 1, 2")
    answer = {
        "functions": ask("SELECT name, system_name, file, start_line FROM functions ORDER BY id"),
        "frames": ask("SELECT function_id, line FROM frames ORDER BY id"),
        "locations": ask("SELECT mapping_id, address FROM locations ORDER BY id"),
        "stacks": ask("SELECT id, position, location_id FROM stacks ORDER BY 1, 2"),
        "labels": sorted(ask("SELECT set_id, key, text, number, unit FROM labels"), key=repr),
        "events": ask("SELECT action, address, size, time_ns, stack_id, stream, label_set, ledger_id FROM events ORDER BY id"),
        "segments": ask("SELECT device, address, size, allocated, active, requested, stack_id, stream FROM segments ORDER BY id"),
        "blocks": ask("SELECT address, size, stack_id FROM blocks ORDER BY id"),
    }
    if not histories:  # of a history the database has the samples of a moment
        answer["samples"] = ask("SELECT stack_id, label_set FROM samples ORDER BY id")
        rows = [value for _, _, value in values]
        answer["sample_values"] = [tuple(rows[i:i + types]) for i in range(0, len(rows), types)]
    return answer


def compare(memtool, path, folder):
    """-> how many rows were compared, or what differs."""
    if path.suffix != ".memtool":
        made = Path(folder) / "made.memtool"
        subprocess.run([memtool, "convert", "--to", "memtool", "-o", made, path], check=True)
        here = tables_here(made.read_bytes())
    else:
        here = tables_here(path.read_bytes())
    base = Path(folder) / "made.sqlite"
    subprocess.run([memtool, "convert", "--to", "sqlite", "-o", base, path], check=True)
    there = tables_there(base, bool(here["events"]))
    here["labels"].sort(key=repr)
    if here["events"]:  # the database also has the stacks and labels of its moment, behind the file's
        for table in ("functions", "frames", "locations", "stacks"):
            there[table] = there[table][:len(here[table])]
        last = max((row[0] for row in here["labels"]), default=0)
        there["labels"] = [row for row in there["labels"] if row[0] <= last]
    compared = 0
    for table, rows in there.items():
        compared += len(rows)
        if rows != here[table]:
            at = next((i for i, (a, b) in enumerate(zip(rows, here[table])) if a != b), min(len(rows), len(here[table])))
            return f"{path}: {table}: {len(here[table])} rows here, {len(rows)} there; row {at}: " \
                   f"{here[table][at:at + 1]}, {rows[at:at + 1]}"
    return compared


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--memtool", required=True)
    parser.add_argument("--testdata", required=True, type=Path)
    args = parser.parse_args()
    if ZSTD is None:
        print("skipped: no library of zstd")
        return 77
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for path in [*sorted((args.testdata / "memtool_file").glob("*.memtool")), *(args.testdata / name for name in OTHERS)]:
            results.append(compare(os.path.abspath(args.memtool), path, folder))
    faults = [result for result in results if isinstance(result, str)]
    for fault in faults:
        print(fault)
    print(f"{len(results)} files, {sum(r for r in results if isinstance(r, int))} rows compared, {len(faults)} files differ")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
