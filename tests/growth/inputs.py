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
METRICS = maker("metrics", "make_metrics")
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


def ascend(n):
    """Tensors with names of their own, of which half outlive the recording."""
    yield (b"Name,Size(KB),Allocation Time(us),Release Time(us),Duration(us),Allocation Total Allocated(MB),"
           b"Allocation Total Reserved(MB),Stream Ptr,Device Type\n")
    for i in range(n):
        end = b"%d.500\t" % (SECOND * SECOND + 2 * i + 999) if i % 2 else b""
        yield b"aten::op%d,1.0,%d.250\t,%s,,%r,%d.0,%d,NPU:%d\n" % (i, SECOND * SECOND + i, end, (i + 1) / KIB, n, i % 999, i % 8)


def memscope(n):
    """Calls of addresses of their own inside of operators, half of them freed; stacks of two lines."""
    yield b"ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),Call Stack(C)\n"
    for i in range(n):
        at, where = SECOND ** 3 + 100 * i, AT + KIB * i
        stack = b'"part.py(%d): f%d\nmain.py(3): main"' % (i, i) if i % 3 else b""
        yield b"%d,OP_LAUNCH,ATEN_START,aten.op%d,%d,7,8,0,N/A,,,\n" % (5 * i, i, at)
        yield (b'%d,MALLOC,PTA,N/A,%d,7,8,0,%#x,"{addr:%#x,size:1024,total:%d,used:%d,owner:PTA@part%d}",%s,\n' %
               (5 * i + 1, at + 10, where, where, KIB * n, KIB * (i + 1), i, stack))
        yield b"%d,OP_LAUNCH,ATEN_END,aten.op%d,%d,7,8,0,N/A,,,\n" % (5 * i + 2, i, at + 20)
    for i in range(0, n, 2):
        yield b'%d,FREE,PTA,N/A,%d,7,8,0,%#x,"{addr:%#x,size:1024}",,\n' % (5 * n + i, SECOND ** 3 + 100 * n + i, AT + KIB * i, AT + KIB * i)


def write_database(path, tables):
    """Of (name, columns, rows) each."""
    db = sqlite3.connect(path)
    for name, columns, rows in tables:
        db.execute(f"CREATE TABLE {name} ({columns})")
        db.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    db.commit()
    db.close()


def nsys(n, path):
    process = 1 << 48 | 4242 << 24
    write_database(path, [
            ("META_DATA_EXPORT", "name, value", [("EXPORT_SCHEMA_VERSION", "3.24.2")]),
            ("StringIds", "id INTEGER PRIMARY KEY, value", [(i, f"call{i}") for i in range(n)]),
            ("CUPTI_ACTIVITY_KIND_RUNTIME", "start, end, globalTid, correlationId, nameId, returnValue, callchainId",
             [(i * 10, i * 10 + 9, process, i, i, 0, i) for i in range(n)]),
            ("CUDA_CALLCHAINS", "id, symbol, module, unresolved, originalIP, stackDepth",
             [(i, i, 0, 0, 4096 + i, 0) for i in range(n)]),
            ("CUDA_GPU_MEMORY_USAGE_EVENTS", "start, globalPid, deviceId, contextId, address, pc, bytes, memKind, "
             "memoryOperationType, name, correlationId, streamId, localMemoryPoolAddress",
             [(i * 10 + 5, process, 0, 1, AT + KIB * i, 0, KIB, 2, 0, None, i, None, None) for i in range(n)])])


def rocpd(n, path):
    write_database(path, [
            ("rocpd_metadata_1", "tag, value", [("schema_version", "4")]),
            ("rocpd_string_1", "id INTEGER PRIMARY KEY, string", [(i, f"roctx{i}" if i % 2 else f"call{i}") for i in range(n)]),
            ("rocpd_track_1", "id INTEGER PRIMARY KEY, pid, tid, agent_id, queue_id, stream_id", [(i, i % 7, i, i % 5, i, i) for i in range(n)]),
            ("rocpd_timestamp_1", "id INTEGER PRIMARY KEY, value", [(i + i // 3, i * 10) for i in range(2 * n)]),
            ("rocpd_event_1", "id INTEGER PRIMARY KEY, extdata", [(i, '{"message":"range %d"}' % i) for i in range(n)]),
            ("rocpd_info_pc_1", "id INTEGER PRIMARY KEY, function, file, line", [(i, f"f{i}", "a.cpp", i) for i in range(n)]),
            ("rocpd_call_stack_1", "event_id, pc_id, depth", [(i - i % 2, i, i % 2) for i in range(n)]),
            ("rocpd_region_1", "track_id, name_id, start_id, end_id, event_id", [(i, i, i + i // 3, i + 1 + (i + 1) // 3, i) for i in range(n)]),
            ("rocpd_memory_allocate_1", "track_id, type, level, start_id, end_id, address, size, event_id",
             [(i, "ALLOC", "REAL", i + i // 3, i + 1 + (i + 1) // 3, AT + KIB * i, KIB, i) for i in range(n)])])


def ascend_db(n, path):
    write_database(path, [
            ("NPU_INFO", "id, name", [(0, "Ascend910B")]),
            ("STRING_IDS", "id INTEGER PRIMARY KEY, value", [(i, f"op{i}") for i in range(n)]),
            ("NPU_OP_MEM", "operatorName, addr, type, size, timestampNs, component, deviceId",
             [(i, AT + KIB * (i // 3), 5 + i % 3 // 2, KIB, 10 * (i ^ 1), i % 99, i % 3) for i in range(n)]),
            ("OP_MEMORY", "name, size, allocationTime, releaseTime, streamPtr, deviceId",
             [(i, KIB, 10 * i, 10 * i + 5000 if i % 2 else None, i, i % 3) for i in range(n)]),
            ("NPU_MODULE_MEM", "moduleId, timestampNs, totalReserved, deviceId", [(i, i, KIB * i, i % 5) for i in range(n)])])


def rocprof(n):
    yield b"Kind,Operation,Agent_Id,Allocation_Size,Address,Correlation_Id,Start_Timestamp,End_Timestamp\n"
    for i in range(n):
        yield b'M,MEMORY_ALLOCATION_ALLOCATE,"Agent %d",%d,%#x,1,%d,%d\n' % (i, KIB + i, AT + KIB * i, 10 * (n - i), 10 * (n - i) + 5)


def rmm(n):
    yield b"Thread,Time,Action,Pointer,Size,Stream\n"
    for i in range(n):
        yield b"%d,%02d:00:00.%06d,allocate%s,%#x,%d,%#x\n" % (i, i % 24, i % 1_000_000, b" failure" if i % 3 == 0 else b"", AT + KIB * i,
                                                               KIB + i, i)


def raft(n):
    yield b"timestamp_us,nvtx_depth,nvtx_range,device_current,device_total,workspace_current,workspace_total\n"
    for i in range(n):
        yield b'%d,1,"range %d",%d,%d,%d,%d\n' % (i, i, KIB * i, KIB * i, KIB * (i % 7), KIB * i * 7)


def raft_events(n):
    yield b"timestamp_us,device_current,device_peak,device_total_alloc,device_total_freed,nvtx_depth,nvtx_range,event_source,event_bytes,alloc_range\n"
    for i in range(n):
        current = KIB * (i + 1)
        yield b'%d,%d,%d,%d,0,1,"range %d",device,%d,"outer#%d > range %d#%d"\n' % (i, current, current, current, i, KIB, i % 97, i, i)


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


def tfevents(n):
    for i in range(n):
        yield METRICS.event(1_790_000_000 + i, i, "mem-allocated-bytes", METRICS.simple(KIB * (i + 1)))


def wandb(n):
    blocks = METRICS.Blocks()
    for i in range(n):
        blocks.record(METRICS.text(7, METRICS.text(2, METRICS.number(1, 1_790_000_000 + i)) +
                                   METRICS.text(3, METRICS.item("gpu.0.memoryAllocatedBytes", KIB * (i + 1)))))
    yield bytes(blocks.data)


def metrics_csv(n):
    yield b"step,reserved_bytes.all.current,allocated_bytes.all.current\n"
    for i in range(n):
        yield b"%d,%d,%d\n" % (i, KIB * (i + 2), KIB * (i + 1))


def metrics_json(n):
    return {"global_step": n, "log_history": [{"step": i, "mem-allocated-bytes": KIB * (i + 1)} for i in range(n)]}


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
    "tfevents": (".tfevents", tfevents),
    "wandb": (".wandb", wandb),
    "metrics-csv": (".csv", metrics_csv),
    "metrics-json": (".json", metrics_json),
    "nsys": (".sqlite", nsys),
    "rocpd": (".sqlite", rocpd),
    "ascend-db": (".sqlite", ascend_db),
    "rocprof": (".csv", rocprof),
    "rmm": (".csv", rmm),
    "raft": (".csv", raft),
    "raft, events": (".csv", raft_events),
    "ascend": (".csv", ascend),
    "memscope": (".csv", memscope),
}


def write(reader, n, folder):
    """-> the path of an input of n records"""
    ending, make = MAKERS[reader]
    path = Path(folder) / f"{reader.replace(', ', '_')}_{n}{ending}"
    if make in (nsys, rocpd, ascend_db):
        make(n, path)
    elif ending == ".pickle":
        path.write_bytes(pickle.dumps(make(n), protocol=2))
    elif ending.endswith(".json"):
        path.write_text(json.dumps(make(n)))
    else:
        path.write_bytes(b"".join(make(n)))
    return path
