#!/usr/bin/env python3
"""Writes rocpd databases as rocprofv3 makes them, as far as memtool reads them, after the tables of schemas 3 and 4.

usage: generate.py FOLDER
       generate.py --large ROWS FILE [--schema 3|4]
"""
import argparse
import json
import sqlite3
from pathlib import Path

GUID = "0000a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
ABOUT = {
    "metadata": "tag TEXT, value TEXT",
    "string": "guid TEXT, string TEXT",
    "info_node": "guid TEXT, hash BIGINT, machine_id TEXT, system_name TEXT, hostname TEXT, release TEXT, version TEXT",
    "info_process": "guid TEXT, nid INTEGER, ppid INTEGER, pid INTEGER, init BIGINT, fini BIGINT, start BIGINT, "
                    "end BIGINT, command TEXT, environment JSONB, extdata JSONB",
    "info_thread": "guid TEXT, nid INTEGER, ppid INTEGER, pid INTEGER, tid INTEGER, name TEXT",
    "info_agent": "guid TEXT, nid INTEGER, pid INTEGER, type TEXT CHECK (type IN ('CPU', 'GPU')), absolute_index INTEGER, "
                  "logical_index INTEGER, type_index INTEGER, name TEXT, product_name TEXT",
}
WHERE = "nid INTEGER, pid INTEGER, tid INTEGER"
MEMORY = ("type TEXT CHECK (type IN ('ALLOC', 'FREE', 'REALLOC', 'RECLAIM')), "
          "level TEXT CHECK (level IN ('REAL', 'VIRTUAL', 'SCRATCH'))")
SCHEMAS = {
    3: {**ABOUT,
        "track": f"guid TEXT, {WHERE}, name_id INTEGER",
        "event": "guid TEXT, category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER, "
                 "call_stack JSONB, line_info JSONB, extdata JSONB",
        "region": f"guid TEXT, {WHERE}, start BIGINT, end BIGINT, name_id INTEGER, event_id INTEGER, extdata JSONB",
        "memory_allocate": f"guid TEXT, {WHERE}, agent_id INTEGER, {MEMORY}, start BIGINT, end BIGINT, address INTEGER, "
                           "size INTEGER, queue_id INTEGER, stream_id INTEGER, event_id INTEGER, extdata JSONB"},
    4: {**ABOUT,
        "info_category": "guid TEXT, name TEXT",
        "info_pc": "guid TEXT, nid INTEGER, pid INTEGER, function TEXT, address_id INTEGER, file TEXT, line INTEGER",
        "track": f"guid TEXT, {WHERE}, ppid INTEGER, agent_id INTEGER, queue_id INTEGER, stream_id INTEGER, name_id INTEGER",
        "timestamp": "guid TEXT, value BIGINT, phase INTEGER, track_id INTEGER",
        "event": "guid TEXT, category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER, "
                 "extdata JSONB",
        "call_stack": "guid TEXT, event_id INTEGER, pc_id INTEGER, depth INTEGER",
        "region": "guid TEXT, track_id INTEGER, name_id INTEGER, start_id INTEGER, end_id INTEGER, event_id INTEGER",
        "memory_allocate": f"guid TEXT, track_id INTEGER, {MEMORY}, start_id INTEGER, end_id INTEGER, name_id INTEGER, "
                           "address INTEGER, size INTEGER, region_name_id INTEGER, event_id INTEGER, extdata JSONB"},
}


class Writer:
    """The tables of one process."""

    def __init__(self, db, schema, pid, guid=GUID):
        self.db, self.schema, self.pid, self.guid = db, schema, pid, guid
        self.suffix = "_" + guid.replace("-", "_")
        self.strings, self.tracks, self.pcs = {}, {}, {}
        for name, columns in SCHEMAS[schema].items():
            quoted = ", ".join('"{}" {}'.format(*column.strip().split(" ", 1)) if column.count("(") == column.count(")")
                               else column for column in split(columns))
            db.execute(f'CREATE TABLE "rocpd_{name}{self.suffix}" ("id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, {quoted})')
        self.add("metadata", tag="schema_version", value=str(schema))
        self.add("metadata", tag="guid", value=guid)
        self.add("info_node", id=1, hash=17, machine_id="m", hostname="node7")
        self.add("info_process", id=pid, nid=1, pid=pid, command="python train.py")
        for at, (kind, index) in enumerate([("CPU", 0), ("GPU", 0), ("GPU", 1)]):
            self.add("info_agent", id=at, nid=1, pid=pid, type=kind, absolute_index=at, logical_index=at, type_index=index,
                     name="gfx942" if kind == "GPU" else "EPYC", product_name="MI300X" if kind == "GPU" else "EPYC")

    def add(self, table, **row):
        if "guid" in SCHEMAS[self.schema][table]:
            row.setdefault("guid", self.guid)
        names = ", ".join(f'"{name}"' for name in row)
        return self.db.execute(f'INSERT INTO "rocpd_{table}{self.suffix}" ({names}) VALUES ({", ".join("?" * len(row))})',
                               list(row.values())).lastrowid

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = self.add("string", string=text)
        return self.strings[text]

    def track(self, **where):
        key = tuple(where.items())
        if key not in self.tracks:
            self.tracks[key] = self.add("track", nid=1, pid=self.pid, **where)
        return self.tracks[key]

    def time(self, value, phase, track):
        return self.add("timestamp", value=value, phase=phase, track_id=track)

    def event(self, extdata="{}", frames=()):
        if self.schema == 3:
            call_stack, line_info = (json.dumps(part) for part in texts(frames))
            return self.add("event", call_stack=call_stack, line_info=line_info, extdata=extdata)
        row = self.add("event", extdata=extdata)
        for depth, (function, file, line) in enumerate(frames):
            if function not in self.pcs:
                self.pcs[function] = self.add("info_pc", nid=1, pid=self.pid, function=function, file=file, line=line)
            self.add("call_stack", event_id=row, pc_id=self.pcs[function], depth=depth)
        return row

    def region(self, name, start, end, tid=7, message=None):
        event = self.event('{"message":"%s"}' % message if message else "{}")
        where = {"name_id": self.string(name), "event_id": event}
        if self.schema == 3:
            self.add("region", nid=1, pid=self.pid, tid=tid, start=start, end=end, **where)
        else:
            track = self.track(tid=tid)
            self.add("region", track_id=track, start_id=self.time(start, 1, track), end_id=self.time(end, 2, track), **where)

    def memory(self, kind, start, end, address=0, size=0, agent=None, level="REAL", tid=7, queue=0, stream=0, frames=()):
        what = {"type": kind, "level": level, "address": address, "size": size, "event_id": self.event(frames=frames),
                "extdata": "{}"}
        if self.schema == 3:
            self.add("memory_allocate", nid=1, pid=self.pid, tid=tid, agent_id=agent, start=start, end=end, queue_id=queue,
                     stream_id=stream, **what)
        else:
            track = self.track(tid=tid, agent_id=agent, queue_id=queue, stream_id=stream)
            self.add("memory_allocate", track_id=track, start_id=self.time(start, 1, track), end_id=self.time(end, 2, track),
                     name_id=self.string("MEMORY_ALLOCATION_ALLOCATE"), **what)


def texts(frames):
    """A call stack and its lines in schema 3: several frames as profiler-hub writes them, two of which the first was inlined
    into the second as rocprof-sys does."""
    if len(frames) == 2:
        (inlined, location, line), (function, file, _) = frames
        return ({"name": function, "pc": "1F00", "file": file},
                {"line_address": "1F00", "name": function, "inlined": {"name": inlined, "location": location, "line": str(line)}})
    counters = [{"function": function, **({"filename": file, "line_number": line} if file else {})} for function, file, line in frames]
    return {"frames": [{"program_counter": counter} for counter in counters]} if counters else {}, {}


def split(columns):
    """Columns of a table; commas within brackets separate none."""
    depth, column = 0, ""
    for c in columns:
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == "," and depth == 0:
            yield column.strip()
            column = ""
        else:
            column += c
    yield column.strip()


def create(path, page=512):
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA page_size = {page}")
    return db


def finish(db, *writers):
    """Views of the tables of all processes, as rocprofv3 adds them."""
    for name in SCHEMAS[writers[0].schema]:
        tables = " UNION ALL ".join(f'SELECT * FROM "rocpd_{name}{writer.suffix}"' for writer in writers)
        db.execute(f"CREATE VIEW rocpd_{name} AS {tables}")
    db.commit()
    db.execute("VACUUM")
    db.close()


def run(writer):
    """One process on two GPUs: ranges, calls, every type and level."""
    first, second, third, host, handle = 0x7f0000000000, 0x7f0000001000, 0x7f0000002000, 0x7e0000000000, 0x5581a0
    frames = [("hipMalloc", "", 0), ("alloc(unsigned long)", "alloc.cpp", 12), ("main", "train.cpp", 40)]
    frees = 1 if writer.schema == 4 else None  # before 2026 a free had no agent
    writer.region("roctxRangePushA", 900, 3500, message="step 1")
    writer.region("roctxRangePushA", 950, 1500, message="forward")
    writer.region("hipMalloc", 990, 1020)
    writer.region("hsa_amd_memory_pool_allocate", 995, 1015)
    writer.region("hipMalloc", 1990, 2020)
    writer.region("hipFree", 2990, 3020)
    writer.region("hipMalloc", 5980, 6030, tid=8)
    writer.region("hipLaunchKernel", 1600, 1700)  # nothing is allocated in it
    writer.region("roctxRangePushA", 8000, 9000, message="save")
    memory = writer.memory
    memory("ALLOC", 1000, 1010, first, 1000, 1, frames=frames)
    memory("ALLOC", 2000, 2010, second, 4000, 1, frames=[("grow", "pool.h", 7), ("resize(unsigned long)", "pool.cpp", 90)])
    memory("FREE", 3000, 3010, first, agent=frees)
    memory("ALLOC", 3100, 3110, third, 700, 2, stream=3)
    memory("ALLOC", 3300, 3310, handle, 2 << 20, 1, "VIRTUAL")
    memory("FREE", 3400, 3410, 0)
    memory("ALLOC", 4100, 4110, host, 512, 0)
    memory("REALLOC", 4500, 4510, second, 6000, 1)
    memory("FREE", 5000, 5010, handle, level="VIRTUAL", agent=frees)
    memory("FREE", 5100, 5110, 0x7f00000f0000)  # allocated before the recording
    memory("ALLOC", 5200, 5210, None, 64, 1)  # damaged: no address
    memory("ALLOC", 5990, 6020, third, 300, 2, tid=8)  # waits for the free below
    memory("FREE", 6000, 6015, third, agent=2 if frees else None)
    # Scratch memory comes after the rest, and has no address.
    memory("ALLOC", 3200, 3210, 0, 8192, 1, "SCRATCH", queue=1)
    memory("FREE", 4000, 4010, 0, level="SCRATCH", queue=1)
    memory("ALLOC", 6500, 6510, 0, 16384, 1, "SCRATCH", queue=2)
    memory("RECLAIM", 7000, 7010, 0, level="SCRATCH", queue=2)


def large(path, rows, schema):
    """A loop of `rows` rows: each allocation is freed 1,000 rows later."""
    db = create(path, 4096)
    writer = Writer(db, schema, 4242)
    writer.region("roctxRangePushA", 1, 100 * rows + 1000, message="train")
    column = writer.string("hipMalloc")
    columns = "id, guid, stack_id, extdata" + (", call_stack, line_info" if schema == 3 else "")
    values = "?, ?, ?, '{}'" + (", '{}', '{}'" if schema == 3 else "")
    db.executemany(f'INSERT INTO "rocpd_event{writer.suffix}" ({columns}) VALUES ({values})',
                   ((10 + i, GUID, i) for i in range(rows)))
    if schema == 3:
        db.executemany(f'INSERT INTO "rocpd_region{writer.suffix}" (guid, nid, pid, tid, start, end, name_id, event_id, extdata) '
                       "VALUES (?, 1, 4242, 7, ?, ?, ?, ?, '{}')",
                       ((GUID, 100 * i + 5, 100 * i + 60, column, 10 + i) for i in range(0, rows, 2)))
    else:
        track = writer.track(tid=7, agent_id=1, queue_id=0, stream_id=0)
        stamp = f'INSERT INTO "rocpd_timestamp{writer.suffix}" (id, guid, value, phase, track_id) VALUES (?, ?, ?, ?, {track})'
        db.executemany(stamp, ((10 + i, GUID, 100 * (i // 2) + (10 if i % 2 == 0 else 50), 1 + i % 2) for i in range(2 * rows)))

    def row(i):
        frees = i % 2 == 1 and i >= 1000
        address = 0x7f0000000000 + 4096 * ((i - 999) if frees else i)
        kind, size, agent = ("FREE", 0, None) if frees else ("ALLOC", 256 * (1 + i % 37), 1)
        return kind, size, agent, address

    if schema == 3:
        insert = (f'INSERT INTO "rocpd_memory_allocate{writer.suffix}" (guid, nid, pid, tid, agent_id, type, level, start, end, '
                  "address, size, queue_id, stream_id, event_id, extdata) VALUES (?, 1, 4242, 7, ?, ?, 'REAL', ?, ?, ?, ?, 0, 0, ?, '{}')")
        db.executemany(insert, ((GUID, agent, kind, 100 * i + 10, 100 * i + 50, address, size, 10 + i)
                                for i in range(rows) for kind, size, agent, address in [row(i)]))
    else:
        insert = (f'INSERT INTO "rocpd_memory_allocate{writer.suffix}" (guid, track_id, type, level, start_id, end_id, name_id, '
                  f"address, size, event_id, extdata) VALUES (?, {track}, ?, 'REAL', ?, ?, {column}, ?, ?, ?, '{{}}')")
        db.executemany(insert, ((GUID, kind, 10 + 2 * i, 11 + 2 * i, address, size, 10 + i)
                                for i in range(rows) for kind, size, agent, address in [row(i)]))
    db.commit()
    db.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--large", type=int, metavar="ROWS")
    parser.add_argument("--schema", type=int, choices=(3, 4), default=3)
    parser.add_argument("place", type=Path)
    args = parser.parse_args()
    if args.large:
        return large(args.place, args.large, args.schema)
    for schema in (3, 4):
        db = create(args.place / f"schema{schema}.db")
        writer = Writer(db, schema, 4242)
        run(writer)
        finish(db, writer)
    # The process of capture_log/join/snapshot.pickle: its segment, and what others took. All of it is freed at the end.
    db = create(args.place / "join.db")
    writer, mib = Writer(db, 3, 4711), 1 << 20
    for at, (call, address, size) in enumerate([("c10::cuda::CUDACachingAllocator::raw_alloc", 0x7F0000000000, 20),
                                                ("ncclMemAlloc", 0x7F0002000000, 4), ("hipblasCreate", 0x7F0003000000, 8)], 1):
        writer.region(call, 100 * at, 100 * at + 50)
        writer.memory("ALLOC", 100 * at + 10, 100 * at + 20, address, size * mib, 1)
        writer.memory("FREE", 1000 + at, 1000 + at, address)
    finish(db, writer)
    # Two processes in one file, which use the same addresses.
    db = create(args.place / "two.db")
    writers = [Writer(db, 3, pid, GUID[:-1] + digit) for pid, digit in ((100, "1"), (200, "2"))]
    for at, writer in enumerate(writers, 1):
        writer.region("roctxRangePushA", 1, 90, message=f"rank {at}")
        writer.memory("ALLOC", 10 * at, 10 * at + 1, 0x1000, 100 * at, 1)
    writers[0].memory("FREE", 40, 41, 0x1000)
    finish(db, *writers)
    for name, table in (("no_memory", None), ("view", "memory_allocate")):
        db = create(args.place / f"{name}.db")
        writer = Writer(db, 3, 4242)
        if table:  # an endless view in its place
            db.execute(f'DROP TABLE "rocpd_{table}{writer.suffix}"')
            db.execute(f'CREATE VIEW "rocpd_{table}{writer.suffix}" AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL '
                       "SELECT start + 1 FROM n) SELECT start, start AS end, 'ALLOC' AS type, 'REAL' AS level, start AS address, "
                       "1 AS size FROM n")
        db.commit()
        db.close()
    return None


if __name__ == "__main__":
    main()
