#!/usr/bin/env python3
"""Writes the databases of this folder: what `nsys export --type sqlite` makes, as far as memtool reads it.

usage: generate.py FOLDER
"""
import sqlite3
import sys
from pathlib import Path

STRINGS = {1: "cudaMalloc_v3020", 2: "cudaFree_v3020", 3: "train(int)", 4: "main", 5: "/app/train",
           6: "/usr/lib/libcudart.so.12", 7: "cudaMalloc", 8: "forward", 9: "step 1",
           10: "cudaMallocHost_v3020", 11: "0x7f0011223344", 12: "cudaMallocAsync_v11020"}


def packed(pid, tid=0):
    """A globalPid or globalTid: a virtual machine's number, 24 bits of process, 24 of thread."""
    return 1 << 48 | pid << 24 | tid


def table(db, name, columns, rows):
    db.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
    db.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", rows)


def database(path, **tables):
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    db.execute("PRAGMA page_size = 512")
    for name, (columns, rows) in tables.items():
        table(db, name, columns, rows)
    db.commit()
    db.execute("VACUUM")
    return db


def common(version):
    return {
        "META_DATA_EXPORT": (["name TEXT", "value TEXT"],
                             [("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"),
                              ("EXPORT_PRODUCT_VERSION", "2025.5.1.121"), ("EXPORT_SCHEMA_VERSION", version)]),
        "StringIds": (["id INTEGER NOT NULL PRIMARY KEY", "value TEXT NOT NULL"], sorted(STRINGS.items())),
        "ENUM_CUDA_MEM_KIND": (["id INTEGER NOT NULL PRIMARY KEY", "name TEXT", "label TEXT"],
                               [(2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device")]),
    }


def small(folder):
    """One process and device: call chains, ranges, a pool, a static variable, frees without a size."""
    process = packed(4242)
    columns = ["start INTEGER NOT NULL", "globalPid INTEGER", "deviceId INTEGER NOT NULL",
               "contextId INTEGER NOT NULL", "address INTEGER", "pc INTEGER", "bytes INTEGER",
               "memKind INTEGER", "memoryOperationType INTEGER", "name TEXT", "correlationId INTEGER",
               "streamId INTEGER", "localMemoryPoolAddress INTEGER", "localMemoryPoolReleaseThreshold INTEGER",
               "localMemoryPoolSize INTEGER", "localMemoryPoolUtilizedSize INTEGER",
               "importedMemoryPoolAddress INTEGER", "importedMemoryPoolProcessId INTEGER"]

    def event(time, address, size, operation, kind=2, name=None, call=None, stream=None, pool=None):
        return (time, process, 0, 1, address, 0, size, kind, operation, name, call, stream, pool,
                None, None, None, None, None)

    one, two, host = 0x7f0000000000, 0x7f0000001000, 0x500000
    events = [
        event(2000, two, 4000, 0, call=102),  # not in the order of time
        event(1000, one, 1000, 0, call=101),
        event(500, 0x600000, 256, 0, kind=5, name="lookup"),
        event(2500, host, 512, 0, kind=1, call=103),
        event(3000, one, None, 1, call=104),
        event(4000, one, 2000, 0, call=105, stream=7, pool=0xabc),
        event(5000, two, 4000, 1),
        event(6000, host, 512, 1, kind=7),  # its kind is that of the allocation
        event(7000, 0x7f0000009000, 300, 1),  # allocated before the recording
        event(7500, 0x7f000000a000, None, 1),  # of unknown size
        event(8000, None, 64, 0),  # damaged: no address
    ]
    thread = packed(4242, 4243)
    runtime = (["start INTEGER NOT NULL", "end INTEGER NOT NULL", "eventClass INTEGER NOT NULL",
                "globalTid INTEGER", "correlationId INTEGER", "nameId INTEGER NOT NULL",
                "returnValue INTEGER NOT NULL", "callchainId INTEGER"],
               [(990, 1010, 0, thread, 101, 1, 0, 1), (1990, 2010, 0, thread, 102, 1, 0, 2),
                (2490, 2510, 0, thread, 103, 10, 0, None), (2990, 3010, 0, thread, 104, 2, 0, 1),
                (3990, 4010, 0, thread, 105, 12, 0, 2), (3995, 4005, 0, packed(1, 1), 101, 2, 0, 2)])
    chains = (["id INTEGER NOT NULL", "symbol INTEGER NOT NULL", "module INTEGER NOT NULL",
               "unresolved INTEGER", "originalIP INTEGER", "stackDepth INTEGER NOT NULL"],
              [(1, 7, 6, 0, 0x10, 0), (1, 3, 5, 0, 0x20, 1), (1, 4, 5, 0, 0x30, 2),
               (2, 7, 6, 0, 0x10, 0), (2, 11, 5, 1, 0x7f0011223344, 1), (2, 4, 5, 0, 0x30, 2)])
    ranges = (["start INTEGER", "end INTEGER", "eventType INTEGER", "rangeId INTEGER", "category INTEGER",
               "text TEXT", "globalTid INTEGER", "endGlobalTid INTEGER", "textId INTEGER"],
              [(900, 3500, 59, None, None, None, thread, None, 9),
               (950, 1500, 59, None, None, None, thread, None, 8),
               (950, 9000, 59, None, None, "elsewhere", packed(4242, 1), None, None),
               (600, 700, 60, 1, None, "loading", thread, thread, None),
               (4500, None, 34, None, None, "half way", thread, None, None),
               (0, 1, 75, None, None, "a domain", thread, None, None)])
    make = common("3.23.3")
    make.update({
        "CUDA_GPU_MEMORY_USAGE_EVENTS": (columns, events),
        "CUPTI_ACTIVITY_KIND_RUNTIME": runtime,
        "CUDA_CALLCHAINS": chains,
        "NVTX_EVENTS": ranges,
        "TARGET_INFO_GPU": (["vmId INTEGER NOT NULL", "id INTEGER NOT NULL", "name TEXT", "totalMemory INTEGER",
                             "cuDevice INTEGER"], [(1 << 48, 3, "NVIDIA H100", 80 << 30, 0)]),
        "PROCESSES": (["globalPid INTEGER", "pid INTEGER", "name TEXT"],
                      [(packed(1), 1, "init"), (process, 4242, "python")]),
        "TARGET_INFO_SESSION_START_TIME": (["utcEpochNs INTEGER", "utcTime TEXT", "localTime TEXT"],
                                           [(1763851018220901611, "2025-11-22T22:36:58", None)]),
    })
    database(folder / "small.sqlite", **make)


def old(folder):
    """An older schema: columns in another order, none for pools and correlations, two processes."""
    columns = ["globalPid INTEGER", "start INTEGER NOT NULL", "address INTEGER", "bytes INTEGER",
               "deviceId INTEGER NOT NULL", "memoryOperationType INTEGER", "memKind INTEGER"]
    first, second = packed(100), packed(200)
    events = [(first, 10, 0x1000, 100, 0, 0, 2), (second, 20, 0x1000, 200, 1, 0, 2),
              (first, 30, 0x2000, 50, 1, 0, 4), (first, 40, 0x1000, 100, 0, 1, 2),
              (second, 50, 0x3000, 25, 1, 0, 2)]
    make = common("2.4.1")
    make["CUDA_GPU_MEMORY_USAGE_EVENTS"] = (columns, events)
    make["PROCESSES"] = (["globalPid INTEGER", "pid INTEGER", "name TEXT"], [(first, 100, "rank0")])
    database(folder / "old.sqlite", **make)


def refused(folder):
    database(folder / "no_memory.sqlite", **common("3.23.3"))
    database(folder / "other.sqlite", fruit=(["name TEXT"], [("apple",)]))
    # A view in place of the table, and a table whose column computes: neither is read.
    db = database(folder / "view.sqlite", **common("3.23.3"))
    db.execute("CREATE VIEW CUDA_GPU_MEMORY_USAGE_EVENTS AS WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL "
               "SELECT start + 1 FROM n) SELECT start, 16 * start AS address, 1 AS bytes, 0 AS deviceId, "
               "0 AS memoryOperationType, 2 AS memKind FROM n")
    db.commit()
    db = database(folder / "generated.sqlite", **common("3.23.3"))
    db.execute("CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, address INTEGER, deviceId INTEGER, "
               "memoryOperationType INTEGER, memKind INTEGER, bytes INTEGER AS (length(zeroblob(100000000))))")
    db.execute("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (1, 2, 0, 0, 2)")
    db.commit()


def main():
    folder = Path(sys.argv[1])
    small(folder)
    old(folder)
    refused(folder)


if __name__ == "__main__":
    main()
