"""Traces: of PyTorch's profiler, of XLA's, of Nsight Systems."""
import json
import sqlite3
import tempfile
from pathlib import Path

import inputs
import keys

from .common import AT, KIB, PAGE, shape, texts

DEPTH = 1000  # what is deeper loses its outermost frames
Plane, Allocator = inputs.XPLANE.Plane, inputs.XPLANE.Allocator


def kineto(events):
    return json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}).encode()


def kineto_memory(i, n, address, change=KIB):
    return {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 100, "ts": 10 * i + 5, "args": {
        "Total Reserved": KIB * n, "Total Allocated": KIB, "Bytes": change, "Addr": address, "Device Id": 0, "Device Type": 1}}


@shape(".json", "top", 10_000)
def kineto_addresses(n, hostile):
    return kineto([kineto_memory(i, n, keys.multiple(i, n) if hostile else AT + PAGE * i) for i in range(n)])


def ends(i, n, hostile):
    """-> the step at which a scope ends that begins at step i: all within each other, or as many as --max depth keeps."""
    return 2 * n - i if hostile else min(n, (i // DEPTH + 1) * DEPTH)


def kineto_scope(name, begin, duration):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 100, "ts": begin, "dur": duration, "args": {}}


@shape(".json", "top --at end", 3_000)
def kineto_nested_scopes(n, hostile):
    scopes = [kineto_scope(f"aten::op{i}", 10 * i, 10 * (ends(i, n, hostile) - i) - 1) for i in range(n)]
    return kineto(sorted(scopes + [kineto_memory(i, n, AT + PAGE * i) for i in range(n)], key=lambda one: one["ts"]))


@shape(".json", "top", 5_000)
def kineto_nodes(n, hostile):
    """Nodes of (parent, name): n scopes, and in some of them one whose name makes them share a place."""
    events = [kineto_scope(f"op{i}", 10 * i, 9) for i in range(n)]
    for i, j in keys.pairs(n):
        events += [kineto_scope(f"op{j if hostile else i}", 10 * i + 1, 7), kineto_memory(i, n, AT + PAGE * i)]
    return kineto(events)


@shape(".json", "top", 3_000)
def kineto_threads(n, hostile):
    events = [{**kineto_memory(i, n, AT + PAGE * i), "tid": i if hostile else 1} for i in range(n)]
    return kineto([{**kineto_scope(f"op{i}", 10 * i, 9), "tid": i if hostile else 1} for i in range(n)] + events)


@shape(".trace.json", "top --at end", 5_000)
def trace_json_addresses(n, hostile):
    data = inputs.trace_json(n)
    for i, one in enumerate(data["traceEvents"][3::2]):
        one["args"]["addr"] = str(keys.multiple(i, n) if hostile else AT + KIB * i)
    return json.dumps(data).encode()


@shape(".xplane.pb", "top --at end", 5_000)
def xplane_addresses(n, hostile):
    plane = Plane("/host:CPU")
    gpu = Allocator(plane, "GPU_0_bfc", 0, 1 << 40)
    plane.line(1, "python", 0, *[gpu.change(10_000 * i, keys.multiple(i, n) if hostile else AT + KIB * i, KIB) for i in range(n)])
    return plane.bytes()


def xplane_names(n, name, id_=lambda i: i + 1, span=lambda i: (10_000 * i, 9000), lines=1):
    """An event of each name, and an allocation in it."""
    plane = Plane("/host:CPU")
    gpu = Allocator(plane, "GPU_0_bfc", 0, 1 << 40)
    per_line = [[] for _ in range(lines)]
    for i in range(n):
        plane.events[name(i)] = id_(i)
    plane.events |= {"MemoryAllocation": 7}
    for i in range(n):
        begin, duration = span(i)
        per_line[i % lines] += [(begin, plane.event(name(i), begin, duration)),
                                (10_000 * i + 500, gpu.change(10_000 * i + 500, AT + KIB * i, KIB))]
    for i, events in enumerate(per_line):
        plane.line(i + 1, f"python{i}", 0, *[one for _, one in sorted(events, key=lambda one: one[0])])
    return plane.bytes()


@shape(".xplane.pb", "top --at end", 5_000)
def xplane_ids(n, hostile):
    return xplane_names(n, lambda i: f"$model.py:{i} layer{i}", lambda i: keys.multiple(i, n) if hostile else 10_000_000 + 3 * i)


@shape(".xplane.pb", "top --at end", 3_000)
def xplane_nested_scopes(n, hostile):
    return xplane_names(n, lambda i: f"$model.py:{i} layer{i}", lambda i: i + 10,
                        lambda i: (10_000 * i, 10_000 * (ends(i, n, hostile) - i) - 1000))


@shape(".xplane.pb", "top --at end", 5_000)
def xplane_lines(n, hostile):
    return xplane_names(n, lambda i: f"$model.py:{i} layer{i}", lambda i: i + 10, lines=n if hostile else 1)


@shape(".xplane.pb", "traces --at end", 300)
def xplane_long_name(n, hostile):
    """One name of an outer scope above n others, or n short ones."""
    names = texts(n, hostile, 1 << 20)
    plane = Plane("/host:CPU")
    gpu = Allocator(plane, "GPU_0_bfc", 0, 1 << 40)
    events = []
    for i in range(n):
        events += [plane.event(names[i], 10_000 * i, 9000), plane.event(f"$model.py:{i} layer{i}", 10_000 * i + 100, 8000),
                   gpu.change(10_000 * i + 500, AT + KIB * i, KIB)]
    plane.line(1, "python", 0, *events)
    return plane.bytes()


def nsys(n, id_, thread=lambda i: 1 << 48 | 4242 << 24, text=lambda i: f"call{i}"):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "export.sqlite"
        db = sqlite3.connect(path)
        for name, columns, rows in [
                ("META_DATA_EXPORT", "name, value", [("EXPORT_SCHEMA_VERSION", "3.24.2")]),
                ("StringIds", "id INTEGER PRIMARY KEY, value", {id_(i): text(i) for i in range(n)}.items()),
                ("CUPTI_ACTIVITY_KIND_RUNTIME", "start, end, globalTid, correlationId, nameId, returnValue, callchainId",
                 [(i * 10, i * 10 + 9, thread(i), id_(i), id_(i), 0, id_(i)) for i in range(n)]),
                ("CUDA_CALLCHAINS", "id, symbol, module, unresolved, originalIP, stackDepth",
                 [(id_(i), id_(i), id_(i), 0, 4096 + i, 0) for i in range(n)]),
                ("CUDA_GPU_MEMORY_USAGE_EVENTS", "start, globalPid, deviceId, contextId, address, pc, bytes, memKind, "
                 "memoryOperationType, name, correlationId, streamId, localMemoryPoolAddress",
                 [(i * 10 + 5, 1 << 48 | 4242 << 24, 0, 1, AT + KIB * i, 0, KIB, 2, 0, None, id_(i), None, None) for i in range(n)])]:
            rows = list(rows)
            db.execute(f"CREATE TABLE {name} ({columns})")
            db.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        db.commit()
        db.close()
        return path.read_bytes()


@shape(".sqlite", "top --at end", 5_000)
def nsys_ids(n, hostile):
    return nsys(n, lambda i: keys.multiple(i, n) if hostile else 10_000_000 + 3 * i)


@shape(".sqlite", "top --at end", 5_000)
def nsys_threads(n, hostile):
    return nsys(n, lambda i: i + 1, lambda i: (1 << 48 | 4242 << 24) + (keys.multiple(i, n) if hostile else i))


@shape(".sqlite", "top --at end", 5_000)
def ascend_db_ids(n, hostile):
    """Names, addresses and components whose numbers share one place of a table."""
    number = (lambda i: keys.multiple(i, n)) if hostile else (lambda i: i + 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "msprof.db"
        db = sqlite3.connect(path)
        for name, columns, rows in [
                ("NPU_INFO", "id, name", [(0, "Ascend910B")]),
                ("STRING_IDS", "id INTEGER PRIMARY KEY, value", [(number(i), f"op{i}") for i in range(n)]),
                ("NPU_OP_MEM", "operatorName, addr, type, size, timestampNs, component, deviceId",
                 [(number(i), 512 * number(i), 5, KIB, i, number(i % 200), 0) for i in range(n)])]:
            db.execute(f"CREATE TABLE {name} ({columns})")
            db.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        db.commit()
        db.close()
        return path.read_bytes()


@shape(".sqlite", "traces --at end", 300)
def nsys_long_name(n, hostile):
    names = texts(n, hostile, 1 << 20)
    return nsys(n, (lambda i: 1 + i % 2) if hostile else (lambda i: i + 1), text=lambda i: names[i][i % 2:])
