#!/usr/bin/env python3
"""Writes databases as torch_npu's profiler and msprof make them, as far as memtool reads them.

usage: generate.py FOLDER
       generate.py --large ROWS FILE
"""
import argparse
import random
import sqlite3
from pathlib import Path

TABLES = {
    "STRING_IDS": "id INTEGER PRIMARY KEY, value TEXT",
    "NPU_INFO": "id INTEGER, name TEXT",
    "META_DATA": "name TEXT, value TEXT",
    "HOST_INFO": "hostUid TEXT, hostName TEXT",
    "RANK_DEVICE_MAP": "rankId INTEGER, deviceId INTEGER",
    "ENUM_MODULE": "id INTEGER PRIMARY KEY, name TEXT",
    "ENUM_MEMORY": "id INTEGER PRIMARY KEY, name TEXT",
    "NPU_OP_MEM": "operatorName INTEGER, addr INTEGER, type INTEGER, size INTEGER, timestampNs INTEGER, globalTid INTEGER, "
                  "totalAllocate NUMERIC, totalReserve NUMERIC, component INTEGER, deviceId INTEGER",
    "OP_MEMORY": "name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER, activeReleaseTime INTEGER, "
                 "duration INTEGER, activeDuration INTEGER, allocationTotalAllocated INTEGER, allocationTotalReserved INTEGER, "
                 "allocationTotalActive INTEGER, releaseTotalAllocated INTEGER, releaseTotalReserved INTEGER, "
                 "releaseTotalActive INTEGER, streamPtr INTEGER, deviceId INTEGER",
    "MEMORY_RECORD": "component INTEGER, timestamp INTEGER, totalAllocated INTEGER, totalReserved INTEGER, totalActive INTEGER, "
                     "streamPtr INTEGER, deviceId INTEGER",
    "NPU_MODULE_MEM": "moduleId INTEGER, timestampNs INTEGER, totalReserved NUMERIC, deviceId INTEGER",
    "NPU_MEM": "type INTEGER, ddr NUMERIC, hbm NUMERIC, timestampNs INTEGER, deviceId INTEGER",
}
MODULES = {"HCCL": 3, "RUNTIME": 7, "APP": 33, "GE": 45}
MEMORY = {"app": 0, "device": 1, "read": 3, "write": 4, "allocate": 5, "release": 6}
KIB, MIB = 1 << 10, 1 << 20
START = 1_764_000_000_000_000_000
OPERATORS = ["aten::empty", "aten::add", "aten::mm", "aten::_softmax", "aten::t"]
PROCESS = 4242


class Database:
    def __init__(self, path, tables, enum=False):
        path.unlink(missing_ok=True)
        self.db = sqlite3.connect(path)
        self.db.execute("PRAGMA page_size = 1024")
        self.strings, self.enum = {}, enum
        for table in tables:
            self.db.execute(f"CREATE TABLE {table} ({TABLES[table]})")
        self.insert("NPU_INFO", [(0, "Ascend910B"), (1, "Ascend910B")])
        if enum:
            self.insert("ENUM_MEMORY", [(number, word) for word, number in MEMORY.items()])
        # What has the numbers of ENUM_MEMORY here is something else.
        for text in ("step 1", "step 2", "step 3", "step 4", "step 5", "step 6", "step 7"):
            self.text(text)

    def insert(self, table, rows):
        rows = list(rows)
        if rows:
            self.db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)

    def text(self, text):
        return self.strings.setdefault(text, len(self.strings))

    def word(self, word):
        return MEMORY[word] if self.enum else self.text(word)

    def close(self):
        self.insert("STRING_IDS", [(number, text) for text, number in self.strings.items()])
        self.db.commit()
        self.db.execute("VACUUM")
        self.db.close()


class Allocator:
    """Its counts; sizes as torch_npu rounds them."""

    def __init__(self, base, reserved):
        self.live, self.reserved = base, reserved

    def change(self, size):
        self.live += size
        while self.live > self.reserved:
            self.reserved += 20 * MIB
        return self.live, self.reserved


def tensors(dice, count, allocator, device):
    """Rows of OP_MEMORY in the order of allocation, and the counts after each change: (time, live, reserved)."""
    changes, rows = [], []
    for i in range(count):
        begin = START + 1000 * (1 + i) + dice.randrange(900)
        size = dice.choice((512, 4 * KIB, 64 * KIB, MIB, 6 * MIB))
        end = begin + dice.randrange(20_000, 80_000) if dice.random() < 0.8 else None
        late = end + dice.randrange(1, 5_000) if end and dice.random() < 0.3 else end
        rows.append([dice.choice(OPERATORS), size, begin, end, late])
        changes += [(begin, i, size, "begin")] + ([(end, i, -size, "end")] if end else [])
    after = {}
    records = []
    for time, i, size, what in sorted(changes):
        after[i, what] = allocator.change(size)
        records.append((time, *after[i, what]))
    made = []
    for i, (name, size, begin, end, late) in enumerate(rows):
        live, reserved = after[i, "begin"]
        freed, kept = after.get((i, "end"), (None, None))
        made.append((name, size, begin, end, late, end and end - begin, late and late - begin, live, reserved, live,
                     freed, kept, freed, 0x5500 if i % 7 else 0x6600, device))
    return made, records


def operations(dice, count, allocator, step=700):
    """Rows of NPU_OP_MEM without their texts' numbers: (name, address, word, size, time, live, reserved)."""
    rows, live = [], {}
    for i in range(count):
        time = START + step * (1 + i)
        if live and dice.random() < 0.45:
            address = dice.choice(sorted(live))
            name, size = live.pop(address)
            rows.append((name, address, "release", size, time, *allocator.change(-size)))
        else:
            address = 0x12C040000000 + 0x200000 * dice.randrange(64)
            while address in live:
                address += 0x200000
            name, size = f"Graph_{dice.randrange(5)}", 64 * KIB * dice.randrange(1, 16)
            live[address] = name, size
            rows.append((name, address, "allocate", size, time, *allocator.change(size)))
    return rows


def op_mem(database, rows, component, device=0):
    return [(database.text(name), address, database.word(word), size, time, PROCESS << 32 | 77, live, reserved,
             database.text(component), device) for name, address, word, size, time, live, reserved in rows]


def graph_copy(database, rows, device=0):
    """What torch_npu appends to OP_MEMORY: the graph engine's rows, joined."""
    begun, made = {}, []
    for name, address, word, size, time, live, reserved in rows:
        if word == "allocate":
            begun[name, address] = size, time, live, reserved
        elif (name, address) in begun:
            _, begin, at, kept = begun.pop((name, address))
            made.append((database.text(name), size, begin, time, None, time - begin, None, at, kept, None, live, reserved, None,
                         None, device))
    return made


def pytorch(path):
    """A run of torch_npu: two devices, a graph engine on the first."""
    dice = random.Random(1)
    tables = [table for table in TABLES if table != "ENUM_MEMORY"]
    database = Database(path, tables)
    database.insert("META_DATA", [("SCHEMA_VERSION", "1.2.0")])
    database.insert("HOST_INFO", [("a1", "node7")])
    database.insert("RANK_DEVICE_MAP", [(3, 0)])
    database.insert("ENUM_MODULE", [(number, name) for name, number in MODULES.items()])
    graph = operations(dice, 14, Allocator(2 * MIB, 40 * MIB))
    rows, records = tensors(dice, 60, Allocator(512 * MIB, 600 * MIB), 0)
    others, _ = tensors(dice, 20, Allocator(64 * MIB, 80 * MIB), 1)
    database.insert("OP_MEMORY", [(database.text(row[0]), *row[1:]) for row in rows + others] + graph_copy(database, graph))
    database.insert("NPU_OP_MEM", op_mem(database, graph, "GE"))
    database.insert("MEMORY_RECORD", [(database.text("PTA"), time, live, reserved, live, 0x5500, 0)
                                      for time, live, reserved in records]
                    + [(database.text("PTA+GE"), time, live + 2 * MIB, reserved + 40 * MIB, live, 0x5500, 0)
                       for time, live, reserved in records]
                    + [(database.text("WORKSPACE"), START + 5000 * i, size * MIB, 32 * MIB, size * MIB, 0x5500, 0)
                       for i, size in enumerate((4, 24, 0))])
    database.insert("NPU_MODULE_MEM", [(MODULES[name], START + 20_000 * i, int(size * MIB), 0) for name, sizes in
                                       (("HCCL", (600, 1016.5, 1016.5)), ("RUNTIME", (84.25, 84.25, 90)),
                                        ("APP", (2400, 2800, 2760))) for i, size in enumerate(sizes)])
    database.insert("NPU_MEM", [(database.word(word), 0, size * MIB, START + 10_000 * i, 0) for word, sizes in
                                (("app", (2400, 2810)), ("device", (3000, 3400))) for i, size in enumerate(sizes)])
    database.close()


def msprof(path):
    """Calls with addresses, numbered as ENUM_MEMORY does, as msprof wrote them in 2024."""
    dice = random.Random(2)
    database = Database(path, ["STRING_IDS", "NPU_INFO", "ENUM_MEMORY", "NPU_OP_MEM"], enum=True)
    rows = operations(dice, 40, Allocator(MIB, 64 * MIB))
    database.insert("NPU_OP_MEM", op_mem(database, rows[:20] + rows[30:] + rows[20:30], "GE"))
    # Its own sum of two components says the last row once more.
    database.insert("NPU_OP_MEM", op_mem(database, rows[-1:], "PTA+GE"))
    database.close()


def damaged(path):
    """By hand, in KiB: 64 from before are released at 10; 8 at 20, 24 at 30; the release of the 8 is missing, as at 40 another 4
    come to their address; a row without a time, one whose type is no word, one without a name."""
    database = Database(path, ["STRING_IDS", "NPU_INFO", "ENUM_MEMORY", "NPU_OP_MEM"], enum=True)
    rows = [("a", 0x1000, "release", 64, 10, 100), ("b", 0x2000, "allocate", 8, 20, 108), ("c", 0x3000, "allocate", 16, 30, 124),
            ("d", 0x2000, "allocate", 4, 40, 120)]
    rows = op_mem(database, [(name, address, word, size * KIB, START + time, live * KIB, MIB)
                             for name, address, word, size, time, live in rows], "GE")
    bad = [(*rows[1][:4], None, *rows[1][5:]), (*rows[1][:2], MEMORY["read"], *rows[1][3:])]
    database.insert("NPU_OP_MEM", rows + bad + [(999, 0x4000, 5, KIB, START + 50, None, 121 * KIB, MIB, rows[0][8], 0)])
    database.close()


def totals(path):
    """Recorded without operators: components, the process and the device."""
    database = Database(path, ["STRING_IDS", "NPU_INFO", "MEMORY_RECORD", "NPU_MEM"])
    samples = [("PTA", 0, 100), ("GE", 1, 20), ("PTA+GE", 1, 120), ("PTA", 2, 150), ("PTA+GE", 2, 170)]
    database.insert("MEMORY_RECORD", [(database.text(name), START + 1000 * at, size * MIB, 2 * size * MIB, size * MIB, None, 0)
                                      for name, at, size in samples])
    database.insert("NPU_MEM", [(database.word(word), 4 * MIB, size * MIB, START + 1000 * i, 0) for word, sizes in
                                (("app", (400, 450)), ("device", (800, 900))) for i, size in enumerate(sizes)])
    database.close()


def large(path, rows):
    """Half of them calls with addresses, half tensors."""
    dice = random.Random(3)
    database = Database(path, ["STRING_IDS", "NPU_INFO", "NPU_OP_MEM", "OP_MEMORY"])
    allocator = Allocator(0, 1 << 40)
    calls = (("allocate" if i % 2 == 0 else "release", 0x100000 + 512 * (i // 2 % 4096), i) for i in range(rows // 2))
    database.insert("NPU_OP_MEM", ((database.text(f"Graph_{i // 2 % 500}"), address, database.word(word), 4 * KIB, START + i,
                                    PROCESS << 32, *allocator.change(4 * KIB if word == "allocate" else -4 * KIB),
                                    database.text("GE"), 0) for word, address, i in calls))
    live = 0
    made = []
    for i in range(rows // 2):
        size = 512 * dice.randrange(1, 64)
        live += size
        made.append((database.text(f"aten::op{i % 500}"), size, START + i, None, None, None, None, live, 1 << 50, live, None, None,
                     None, 0x5500, 0))
    database.insert("OP_MEMORY", made)
    database.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--large", type=int, metavar="ROWS")
    parser.add_argument("place", type=Path)
    args = parser.parse_args()
    if args.large:
        return large(args.place, args.large)
    for make in (pytorch, msprof, damaged, totals):
        make(args.place / f"{make.__name__}.db")
    Database(args.place / "no_memory.db", ["STRING_IDS", "NPU_INFO", "NPU_OP_MEM"]).close()
    # An endless view in place of the table.
    database = Database(args.place / "view.db", ["STRING_IDS", "NPU_INFO"])
    database.db.execute("CREATE VIEW NPU_OP_MEM AS WITH RECURSIVE n(addr) AS (SELECT 1 UNION ALL SELECT addr + 1 FROM n) SELECT "
                        "addr, 5 AS type, 1 AS size, addr AS timestampNs FROM n")
    database.close()
    return None


if __name__ == "__main__":
    main()
