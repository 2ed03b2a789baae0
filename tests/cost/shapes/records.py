"""What other allocators and monitors record: rocprofv3's traces and databases, RMM's and RAFT's logs, files of metrics."""
import sqlite3
import tempfile
from pathlib import Path

import inputs
import keys

from .common import AT, KIB, PAGE, shape, texts
from .traces import ends

PLACES = 200
ROCPROF = b"Kind,Operation,Agent_Id,Allocation_Size,Address,Correlation_Id,Start_Timestamp,End_Timestamp\n"
RMM = b"Thread,Time,Action,Pointer,Size,Stream\n"


@shape(".csv", "top", 5_000)
def rocprof_addresses(n, hostile):
    rows = [b'M,MEMORY_ALLOCATION_ALLOCATE,"Agent 1",%d,%#x,1,%d,%d\n' % (KIB, keys.multiple(i, n) if hostile else AT + PAGE * i, 10 * i, 10 * i + 5)
            for i in range(n)]
    return ROCPROF + b"".join(rows)


@shape(".csv", "info", 2_000)
def rocprof_agents(n, hostile):
    """More places than events can name, or as many as they can."""
    return ROCPROF + b"".join(b'M,MEMORY_ALLOCATION_ALLOCATE,"Agent %d",%d,%#x,1,%d,%d\n' % (i if hostile else i % PLACES, KIB, AT + PAGE * i, 10 * i, 10 * i + 5)
                              for i in range(n))


def rocpd(tables, names=1):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rocpd.db"
        db = sqlite3.connect(path)
        for name, columns, rows in [("rocpd_string", "id INTEGER PRIMARY KEY, string", [(i, f"call{i}") for i in range(names)]), *tables]:
            db.execute(f"CREATE TABLE {name}_1 ({columns})")
            db.executemany(f"INSERT INTO {name}_1 VALUES ({', '.join('?' * len(columns.split(',')))})", rows)
        db.commit()
        db.close()
        return path.read_bytes()


def rocpd_memory(n, address=lambda i: AT + PAGE * i):
    return ("rocpd_memory_allocate", "pid, tid, agent_id, type, level, start, end, address, size, queue_id, stream_id, event_id",
            [(1, 1, 1, "ALLOC", "REAL", 10 * i, 10 * i + 5, address(i), KIB, 0, 0, i) for i in range(n)])


@shape(".db", "top", 5_000)
def rocpd_addresses(n, hostile):
    return rocpd([rocpd_memory(n, (lambda i: keys.multiple(i, n)) if hostile else (lambda i: AT + PAGE * i))])


@shape(".db", "top", 3_000)
def rocpd_nested_regions(n, hostile):
    """Calls within each other, all of them or as many as --max depth keeps."""
    regions = [(1, 1, 10 * i, 10 * ends(i, n, hostile) - 1, i, i) for i in range(n)]
    return rocpd([("rocpd_region", "pid, tid, start, end, name_id, event_id", regions), rocpd_memory(n)], n)


@shape(".db", "top", 500)
def rocpd_call_stack_texts(n, hostile):
    """Call stacks as JSON: one deep one for all events, or as many bytes in n different ones."""
    def stack(frames):
        return '{"frames":[%s]}' % ",".join('{"program_counter":{"function":"%s"}}' % frame for frame in frames)
    long = stack([f"function{i:08d}" for i in range(n)])
    rows = [(i, long if hostile else stack([text]), "{}", "{}") for i, text in enumerate(texts(n, False, len(long)))]
    return rocpd([("rocpd_event", "id INTEGER PRIMARY KEY, call_stack, line_info, extdata", rows), rocpd_memory(n)])


@shape(".csv", "top", 5_000)
def rmm_addresses(n, hostile):
    return RMM + b"".join(b"1,10:00:00.%06d,allocate,%#x,%d,0x2\n" % (i % 1_000_000, keys.multiple(i, n) if hostile else AT + PAGE * i, KIB)
                          for i in range(n))


@shape(".csv", "oom --at oom", 3_000)
def rmm_failures(n, hostile):
    """Failures of one thread that are met at last, or of n threads that are met at once."""
    rows = []
    for i in range(n):
        rows.append(b"%d,10:00:00.%06d,allocate failure,(nil),%d,0x2\n" % (1 if hostile else i, i % 1_000_000, KIB))
        if not hostile or i + 1 == n:
            rows.append(b"%d,10:00:00.%06d,allocate,%#x,%d,0x2\n" % (1 if hostile else i, i % 1_000_000, AT + PAGE * i, KIB))
    return RMM + b"".join(rows) + b"5,10:00:01.000000,allocate failure,(nil),7,0x2\n"


@shape(".csv", "info", 2_000)
def raft_event_ranges(n, hostile):
    """Ranges within each other, of which each event has all, or as many bytes in n different ones."""
    path = " > ".join(f"range#{i}" for i in range(n // 20))
    head = b"timestamp_us,device_current,device_peak,device_total_alloc,device_total_freed,nvtx_depth,nvtx_range,event_source,event_bytes,alloc_range\n"
    return head + b"".join(b'%d,%d,%d,%d,0,1,"r",device,%d,"%s"\n' % (
        i, KIB * (i + 1), KIB * (i + 1), KIB * (i + 1), KIB, (path if hostile else f"{i:08d}".ljust(len(path), "f")).encode()) for i in range(n))


@shape(".csv", "info", 1_000)
def metrics_columns(n, hostile):
    """A table of n columns of memory and a row, or of one column and n rows."""
    if hostile:
        tags = ",".join(f"DeviceStatsMonitor.stage{i}/allocated_bytes.all.current" for i in range(n))
        return f"step,{tags}\n0,{','.join(['1024'] * n)}\n".encode()
    return b"step,DeviceStatsMonitor.stage/allocated_bytes.all.current\n" + b"".join(b"%d,1024\n" % i for i in range(n))


@shape(".wandb", "info", 1_000)
def wandb_names(n, hostile):
    """Devices of which each has one value, or fewer with several."""
    made = inputs.METRICS
    blocks = made.Blocks()
    for i in range(n):
        blocks.record(made.text(7, made.text(2, made.number(1, made.START + i)) + made.text(3, made.item(
            f"gpu.{i if hostile else i % PLACES}.memoryAllocatedBytes", KIB * (i + 1)))))
    return bytes(blocks.data)


@shape(".tfevents", "info", 1_000)
def tfevents_names(n, hostile):
    """Values of n tags of memory that nobody knows, or n values of one that is known."""
    made = inputs.METRICS
    return b"".join(made.event(made.START + i, i, f"my_mem_{i}" if hostile else "mem-allocated-bytes", made.simple(KIB * (i + 1)))
                    for i in range(n))
