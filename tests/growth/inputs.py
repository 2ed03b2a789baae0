"""An input of n records for each reader, with n different names, stacks and addresses: what could be looked up in a loop."""
import json
import pickle
import sqlite3
import sys
from pathlib import Path

TESTDATA = Path(__file__).resolve().parents[2] / "testdata"


def maker(folder, module):
    """The program that wrote a folder of testdata, for its encoders."""
    sys.path.insert(0, str(TESTDATA / folder))
    try:
        sys.modules.pop(module, None)
        return __import__(module)
    finally:
        sys.path.pop(0)


XPLANE, HLO, MTCAP = maker("xplane", "generate"), maker("hlo", "make_programs"), maker("capture_log", "generate")
AT, KIB, SECOND = 0x7F0000000000, 1024, 1_000_000


def pprof(n):
    number, message = XPLANE.number, XPLANE.message
    texts = ["", "space", "bytes"] + [f"function_{i}" for i in range(n)]
    yield message(1, number(1, 1), number(2, 2))
    for i in range(n):
        yield message(2, number(1, i + 1), number(1, (i * 7) % n + 1), number(2, KIB * (i + 1)))
        yield message(4, number(1, i + 1), message(4, number(1, i + 1), number(2, i)))
        yield message(5, number(1, i + 1), number(2, i + 3))
    yield from (message(6, text) for text in texts)


def snapshot(n):
    def frames(i):
        return [{"name": f"f{i}", "filename": f"model/part{i % 97}.py", "line": i}, {"name": "main", "filename": "t.py", "line": 1}]

    def event(i, action):
        return {"action": action, "addr": AT + KIB * i, "size": KIB, "stream": 0, "time_us": SECOND + i, "frames": frames(i)}

    blocks = [{"address": AT + KIB * i, "size": KIB, "requested_size": KIB - 1, "state": "active_allocated", "frames": frames(i)}
              for i in range(n)]
    segment = {"device": 0, "address": AT, "total_size": KIB * n, "allocated_size": KIB * n, "active_size": KIB * n,
               "requested_size": (KIB - 1) * n, "stream": 0, "segment_type": "large", "is_expandable": False, "blocks": blocks}
    events = [{"action": "segment_alloc", "addr": AT, "size": KIB * n, "stream": 0, "time_us": 1, "frames": []}]
    events += [event(i, "alloc") for i in range(n)]
    for i in range(0, n, 2):  # freed, and handed out again
        events += [event(i, "free_requested"), event(i, "free_completed"), event(i, "alloc")]
    return {"segments": [segment], "device_traces": [events], "external_annotations": [], "allocator_settings": {}}


def mxnet(n):
    yield b'"Attribute Name","Requested Size","Device","Actual Size","Reuse?"\n'
    yield from (b'"stage%d_conv:in_arg:w%d","%d","0","%d","0"\n' % (i % 9, i, i + 1, KIB * (i + 1)) for i in range(n))


def mxnet_stacks(n):
    for i in range(n):
        yield (f"[mxnet:profiler:gpu_memory_profiler:W] Allocating 0.5 with unknown memory tag unknown:_op{i}\nStack trace:\n"
               f"  [bt] (0) /opt/libmxnet.so(Alloc{i}()+0x1f2) [{AT + 64 * i:#x}]\n"
               f"  [bt] (1) /opt/libmxnet.so(MXImperativeInvokeEx+0x63) [{AT:#x}]\n\n").encode()


def kineto(n):
    events, total = [], 0
    for i in range(n):
        common = {"pid": 1, "tid": 100, "ts": 10 * i}
        events.append({"ph": "X", "cat": "cpu_op", "name": f"aten::op{i}", **common, "dur": 8, "args": {"Ev Idx": 2 * i}})
        total += KIB
        events.append({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", **common, "args": {
            "Total Reserved": KIB * n, "Total Allocated": total, "Bytes": KIB, "Addr": AT + KIB * i, "Device Id": 0,
            "Device Type": 1, "Ev Idx": 2 * i + 1}})
    return {"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}


def hlo(n):
    number, part, array = HLO.number, HLO.part, HLO.array
    ids = [HLO.ID | i + 1 for i in range(n)]
    computation = part(1, "main.1") + b"".join(
        part(2, part(1, f"dot.{i}") + part(2, "dot") + part(3, array(HLO.F32, 8)) +
             part(7, part(2, f"jit(f)/layer{i}/dot_general") + part(3, "model.py") + number(4, i)) + number(35, ids[i]))
        for i in range(n))
    buffers = [HLO.buffer(i, 32, number(4, ids[i])) for i in range(n)]
    assigned = b"".join(HLO.assigned(i, 32 * i, 32) for i in range(n))
    heap = [HLO.step(HLO.ALLOC, i) for i in range(n)] + [HLO.step(HLO.FREE, i) for i in range(n)]
    yield part(1, part(1, "jit_f") + part(2, "main.1") + part(3, computation))
    yield part(3, b"".join(buffers) + part(3, number(1, 0) + number(2, 32 * n) + assigned) + part(4, b"".join(heap)))


def hlo_text(n):
    yield b"BufferAssignment:\n"
    for i in range(n):
        yield b"allocation %d: size 32, preallocated-temp:\n value: <%d dot.%d @0> (size=32,offset=0): f32[8]{0}\n" % (i, i, i)
    yield b"\nTotal bytes used: %d\n\nUsed values:\n" % (32 * n)
    for i in range(n):
        yield (f"<{i} dot.{i} @0>\n positions:\n  dot.{i}\n uses:\n from instruction:%dot.{i} = f32[8]{{0}} dot(f32[8]{{0}} %p), "
               f'metadata={{op_name="jit(f)/layer{i}/dot"}}\n').encode()


def torch_timeline(n):
    return [[SECOND * SECOND * 1000 + 1000 * i, 2, KIB, i % 7] for i in range(n)]


def xplane(n):
    plane = XPLANE.Plane("/host:CPU")
    gpu = XPLANE.Allocator(plane, "GPU_0_bfc", 0, 1 << 40)
    events = []
    for i in range(n):
        events += [plane.event(f"$model.py:{i} layer{i}", 10_000 * i, 9000), gpu.change(10_000 * i + 5000, AT + KIB * i, KIB)]
    plane.line(1, "python", 0, *events)
    yield plane.bytes()


def trace_json(n):
    events = [{"ph": "M", "pid": 7, "name": "process_name", "args": {"name": "/host:CPU"}},
              {"ph": "M", "pid": 7, "tid": 1, "name": "thread_name", "args": {"name": "python"}}]
    for i in range(n):
        events.append({"ph": "X", "pid": 7, "tid": 1, "ts": 10 * i, "dur": 9, "name": f"$model.py:{i} layer{i}"})
        sizes = {"bytes_reserved": 0, "bytes_allocated": KIB * (i + 1), "bytes_available": KIB * n, "fragmentation": 0,
                 "peak_bytes_in_use": KIB * (i + 1), "requested_bytes": KIB, "allocation_bytes": KIB, "addr": AT + KIB * i}
        events.append({"ph": "X", "pid": 7, "tid": 1, "ts": 10 * i + 5, "dur": 0.001, "name": "MemoryAllocation", "args": {
            "allocator_name": "GPU_0_bfc", **{key: str(value) for key, value in sizes.items()}}})
    return {"displayTimeUnit": "ns", "metadata": {"highres-ticks": True}, "traceEvents": events}


def oom_text(n):
    for i in range(n):
        yield (f"step {i} of {n}\nRuntimeError: CUDA out of memory. Tried to allocate {i % 900 + 1}.00 MiB (GPU 0; 15.78 GiB total "
               f"capacity; 14.{i % 90 + 10} GiB already allocated; 11.75 MiB free; 14.56 GiB reserved in total by PyTorch)\n").encode()


def log(n):
    """Buffers that add up, amounts that are replaced, levels by stage: of n lines each."""
    for i in range(n):
        yield (f"load_tensors: CUDA{i % 8} model buffer size = {i % 900 + 1}.00 MiB\n"
               f"INFO 08-21 10:29:12 x] Available KV cache memory: {i % 70 + 1}.25 GiB\n"
               f"[Rank {i % 200}] (after {i} iterations) memory (MB) | allocated: {i % 900}.00 | max allocated: 900.00 | "
               f"reserved: 900.00 | max reserved: 900.00\n").encode()


def bfc_dump(n):
    head = b"2020-10-12 23:45:51.958146: I tensorflow/core/common_runtime/bfc_allocator.cc:"
    yield head.replace(b": I", b": W") + (b"419] Allocator (GPU_0_bfc) ran out of memory trying to allocate 512.00MiB "
                                          b"(rounded to 536870912)\n")
    yield head + b"869] BFCAllocator dump for GPU_0_bfc\n" + head + b"892] Next region of size %d\n" % (256 * n)
    for i in range(n):
        after = i + 1 if i + 1 < n else 2**64 - 1
        yield head + b"905] %s at %x next %d of size 256\n" % ((b"Free ", b"InUse")[i % 2], AT + 256 * i, after)


def nsys(n, path):
    process = 1 << 48 | 4242 << 24
    db = sqlite3.connect(path)
    for name, columns, rows in [
            ("META_DATA_EXPORT", "name, value", [("EXPORT_SCHEMA_VERSION", "3.24.2")]),
            ("StringIds", "id INTEGER PRIMARY KEY, value", [(i, f"call{i}") for i in range(n)]),
            ("CUPTI_ACTIVITY_KIND_RUNTIME", "start, end, globalTid, correlationId, nameId, returnValue, callchainId",
             [(i * 10, i * 10 + 9, process, i, i, 0, i) for i in range(n)]),
            ("CUDA_CALLCHAINS", "id, symbol, module, unresolved, originalIP, stackDepth",
             [(i, i, 0, 0, 4096 + i, 0) for i in range(n)]),
            ("CUDA_GPU_MEMORY_USAGE_EVENTS", "start, globalPid, deviceId, contextId, address, pc, bytes, memKind, "
             "memoryOperationType, name, correlationId, streamId, localMemoryPoolAddress",
             [(i * 10 + 5, process, 0, 1, AT + KIB * i, 0, KIB, 2, 0, None, i, None, None) for i in range(n)])]:
        db.execute(f"CREATE TABLE {name} ({columns})")
        db.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    db.commit()
    db.close()


def capture_log(n):
    chunks, per_chunk = [], 500
    for first in range(0, n, per_chunk):
        chunk = MTCAP.Chunk(1000 + 100 * first)
        if first == 0:
            chunk.define(0x01, 1, 0x400000, 1 << 40, 0, 0x400000, MTCAP.text("/nonexistent/lib/libx.so"), MTCAP.text(b"\x01"))
            chunk.define(0x05, 1, 0, 1, 0, 1)
            chunk.define(0x07, 1, 4711, MTCAP.text("main"))
            chunk.define(0x08, 1, 0, 0, 0, 1, MTCAP.text("device"))
            chunk.define(0x09, 1, 1, 1, 0x77, 0, 0, 0)
        for i in range(first, min(n, first + per_chunk)):
            chunk.frame(i + 1, 0, 0x400010 + 16 * i)
            chunk.define(0x06, i + 1, i + 1, 0)
            chunk.compact(1100 + 100 * i, 1, AT + KIB * i, KIB, i + 1)
        chunks.append(chunk.bytes(len(chunks)).ljust(65536, b"\0"))
    yield MTCAP.header(4096 + 65536 * len(chunks), n, 0) + b"".join(chunks)


# Reader: the end of its files' names, and what makes one: an object for JSON and pickle, else the parts of a file;
# a database is written to its path.
MAKERS = {
    "pprof": (".pb", pprof),
    "torch_snapshot": (".pickle", snapshot),
    "torch_snapshot, JSON": (".json", snapshot),
    "mxnet": (".csv", mxnet),
    "mxnet-stacks": (".log", mxnet_stacks),
    "capture_log": (".mtcap", capture_log),
    "kineto": (".json", kineto),
    "hlo": (".hlo.pb", hlo),
    "hlo-text": (".txt", hlo_text),
    "torch_timeline": (".json", torch_timeline),
    "xplane": (".xplane.pb", xplane),
    "trace-json": (".trace.json", trace_json),
    "log": (".log", log),
    "oom-text": (".log", oom_text),
    "bfc-dump": (".log", bfc_dump),
    "nsys": (".sqlite", nsys),
}


def write(reader, n, folder):
    """-> the path of an input of n records"""
    ending, make = MAKERS[reader]
    path = Path(folder) / f"{reader.replace(', ', '_')}_{n}{ending}"
    if make is nsys:
        nsys(n, path)
    elif ending == ".pickle":
        path.write_bytes(pickle.dumps(make(n), protocol=2))
    elif ending.endswith(".json"):
        path.write_text(json.dumps(make(n)))
    else:
        path.write_bytes(b"".join(make(n)))
    return path
