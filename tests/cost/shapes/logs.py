"""Logs of memtool run, of compilers, of allocators."""
import json

import inputs
import keys

from .common import AT, KIB, SECOND, shape

MTCAP, HLO = inputs.MTCAP, inputs.HLO


def capture_log(n, key=lambda i: AT + KIB * i, id_=lambda i: i + 1, threads=1, scopes=1):
    """n allocations, n frees; a chunk's keys are differences, which wrap around."""
    chunk, chunks = None, []

    def new():
        nonlocal chunk
        chunk = MTCAP.Chunk(1000 + 100 * len(chunks))
        chunks.append(chunk)

    def room():
        if len(chunk.data) > 60_000:
            new()

    new()
    chunk.define(0x01, 1, 0x400000, 1 << 40, 0, 0x400000, MTCAP.text("/nonexistent/lib/libx.so"), MTCAP.text(b"\x01"))
    chunk.define(0x05, 1, 0, 1, 0, 1)
    chunk.define(0x08, 1, 0, 0, 0, 1, MTCAP.text("device"))
    for i in range(threads):
        room()
        chunk.define(0x07, id_(i), 4711 + i, MTCAP.text("main"))
        chunk.define(0x09, id_(i), id_(i), 1, 0x77, 0, 0, 0)
    chunk.frame(1, 0, 0x400010)
    for i in range(scopes):
        room()
        chunk.define(0x06, id_(i), 1, 0)
    for free in (False, True):
        for i in range(n):
            room()
            wrapped = chunk.key + keys.signed(key(i) - chunk.key & keys.WORD)
            chunk.compact(chunk.time + 1, id_(i % threads), wrapped, *(() if free else (KIB, id_(i % scopes))))
    body = b"".join(one.bytes(i).ljust(65536, b"\0") for i, one in enumerate(chunks))
    return MTCAP.header(4096 + len(body), 2 * n, 0) + body


@shape(".mtcap", "top --at peak", 10_000)
def capture_log_addresses(n, hostile):
    return capture_log(n, (lambda i: keys.multiplied(i, n)) if hostile else (lambda i: AT + KIB * i * 3))


@shape(".mtcap", "top --at peak", 10_000)
def capture_log_ids(n, hostile):
    return capture_log(n, id_=(lambda i: keys.multiple(i, n)) if hostile else (lambda i: 10_000_000 + 3 * i), threads=n, scopes=n)


@shape(".hlo.pb", "top", 5_000)
def hlo_names(n, hostile):
    """Buffers that name their instruction, as old programs do, instead of giving its id."""
    return hlo(n, keys.texts(n) if hostile else [f"dot.{i:012d}" for i in range(n)], n, by_name=True)


@shape(".hlo.pb", "top", 5_000)
def hlo_positions(n, hostile):
    """Buffers of one instruction, or of one each."""
    return hlo(n, [f"dot.{i}" for i in range(n)], 1 if hostile else n)


def hlo(n, names, defining, by_name=False):
    part = HLO.part
    ids = [HLO.ID | i + 1 for i in range(n)]
    instructions = [part(2, part(1, names[i]) + part(2, "dot") + part(3, HLO.array(HLO.F32, 8)) +
                         part(7, part(2, f"jit(f)/layer{i}/dot_general")) + HLO.number(35, ids[i])) for i in range(n)]
    buffers = [HLO.buffer(i, 32, part(2, names[i % defining]) if by_name else HLO.number(4, ids[i % defining])) for i in range(n)]
    heap = [HLO.step(HLO.ALLOC, i) for i in range(n)] + [HLO.step(HLO.FREE, i) for i in range(n)]
    return part(1, part(1, "jit_f") + part(2, "main.1") + part(3, part(1, "main.1") + b"".join(instructions))) + part(
        3, b"".join(buffers) + part(3, HLO.number(1, 0) + HLO.number(2, 32 * n) + b"".join(HLO.assigned(i, 32 * i, 32) for i in range(n)))
        + part(4, b"".join(heap)))


@shape(".txt", "top", 3_000)
def hlo_text_positions(n, hostile):
    """As many positions, of one value or of one each."""
    lines = ["BufferAssignment:"]
    values = 1 if hostile else n
    lines += [f"allocation {i}: size 32, preallocated-temp:\n value: <{i} dot.{i} @0> (size=32,offset=0): f32[8]{{0}}" for i in range(values)]
    lines += ["", f"Total bytes used: {32 * values}", "", "Used values:"]
    for i in range(values):
        lines += [f"<{i} dot.{i} @0>", " positions:"] + [f"  dot.{j}" for j in (range(n) if hostile else [i])]
        lines += [" uses:", f" from instruction:%dot.{i} = f32[8]{{0}} dot(f32[8]{{0}} %p)"]
    return ("\n".join(lines) + "\n").encode()


@shape(".csv", "top", 10_000)
def mxnet_names_of_one_xxh3(n, hostile):
    names = [keys.run_of_bytes(i) if hostile else b"function" + b"%08d" % i + b"sixteen bytes of" for i in range(n)]
    return b'"Attribute Name","Requested Size","Device","Actual Size","Reuse?"\n' + b"".join(
        b'"%s","%d","0","%d","0"\n' % (name, i + 1, KIB) for i, name in enumerate(names))


@shape(".csv", "buckets", 10_000)
def mxnet_long_name(n, hostile):
    """One name of n scopes, or n names."""
    names = [b":".join(b"s%d" % i for i in range(n))] if hostile else [b"s%d" % i for i in range(n)]
    return b'"Attribute Name","Requested Size","Device","Actual Size","Reuse?"\n' + b"".join(
        b'"%s","1","0","1024","0"\n' % name for name in names)


ASCEND = b"Name,Size(KB),Allocation Time(us),Release Time(us),Allocation Total Allocated(MB),Device Type\n"


@shape(".csv", "top", 10_000)
def ascend_names_of_one_xxh3(n, hostile):
    names = [keys.run_of_bytes(i) if hostile else b"function" + b"%08d" % i + b"sixteen bytes of" for i in range(n)]
    return ASCEND + b"".join(b'"%s",1,%d,,%r,NPU:0\n' % (name, 10**15 + i, (i + 1) / KIB) for i, name in enumerate(names))


@shape(".csv", "info", 10_000)
def ascend_waiting(n, hostile):
    """Tensors that all outlive the last allocation, and end in turn; or each before the next one."""
    end = (lambda i: 10**15 + 2 * n - i) if hostile else (lambda i: 10**15 + i)
    return ASCEND + b"".join(b"aten::add,1,%d,%d,,NPU:0\n" % (10**15 + i, end(i)) for i in range(n))


@shape(".csv", "top --at end", 10_000)
def memscope_addresses(n, hostile):
    at = (lambda i: keys.multiple(i, n)) if hostile else (lambda i: 10_000_000 + 3 * i)
    return (b"ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr\n" +
            b"".join(b'%d,MALLOC,PTA,,%d,1,1,0,%d,"{size:512}"\n' % (i, 10**18 + i, at(i)) for i in range(n)))


@shape(".csv", "info", 10_000)
def memscope_open_operators(n, hostile):
    """Ends of operators that never began, below many that are open; or pairs."""
    head = b"ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr\n"
    kind = (lambda i: (b"START", 0) if i < n // 2 else (b"END", 1)) if hostile else (lambda i: (b"END" if i % 2 else b"START", 0))
    rows = [b"%d,OP_LAUNCH,ATEN_%s,op%d,%d,1,1,0,N/A,\n" % (i, *kind(i), 10**18 + i) for i in range(n)]
    return head + b"".join(rows) + b'0,MALLOC,PTA,,%d,1,1,0,1,"{size:512}"\n' % (10**18 + n)


@shape(".log", "oom", 5_000)
def oom_one_line(n, hostile):
    """Messages on one line, or on one each."""
    one = (b"RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 15.78 GiB total capacity; 14.10 GiB already "
           b"allocated; 11.75 MiB free; 14.56 GiB reserved in total by PyTorch)")
    return (b" " if hostile else b"\n").join([one] * n) + b"\n"


@shape(".log", "oom", 300_000)
def oom_one_number(n, hostile):
    """A message with n digits, or lines with as many."""
    digits = b"1" * n if hostile else b"1\n" * (n // 2)
    return b"RuntimeError: CUDA out of memory. Tried to allocate " + digits + b".00 MiB (GPU 0; 15.78 GiB total capacity)\n"


@shape(".log", "top", 20_000)
def log_buffers_replaced(n, hostile):
    """Amounts that replace others behind buffers that add up, of the same device or before them."""
    buffers = [b"load_tensors: CUDA0 model buffer size = 1.00 MiB\n"] * n
    replaced = [b"x] Available KV cache memory: %d.50 GiB\n" % (i % 70 + 1) for i in range(n)]
    return b"".join(buffers + replaced if hostile else [line for pair in zip(replaced, buffers) for line in pair])


@shape(".log", "info", 20_000)
def log_processes(n, hostile):
    """Lines of n processes, or of two."""
    return b"".join(b"(Worker_TP%d pid=%d) x] Available KV cache memory: %d.50 GiB\n" % (
        (i if hostile else i % 2) % 200, i if hostile else i % 2, i % 70 + 1) for i in range(n))


@shape(".log", "leaks", 20_000)
def log_stages(n, hostile):
    """Levels that fall back to the first of n stages, or by one of them."""
    def line(i, level):
        return b"[Rank 0] (stage %d) memory (MB) | allocated: %d.00 | max allocated: 1.00 | reserved: 1.00 | max reserved: 1.00\n" % (i, level)
    levels = [*range(1, n // 2), *([1, n // 2] * (n // 4))] if hostile else [i % 100 for i in range(n)]
    return b"".join(line(i, level) for i, level in enumerate(levels))


@shape(".log", "oom", 20_000)
def log_one_line(n, hostile):
    """Amounts on one line, or on one each."""
    return (b" " if hostile else b"\n").join([b"x] Available KV cache memory: 1.50 GiB"] * n) + b"\n"


@shape(".csv", "timeline", 20_000)
def smi_processes(n, hostile):
    """A round of n processes, or n rounds of one."""
    rows = (b"2026/11/27 10:%02d:%02d.000, %d, python, %d MiB\n" % (
        *((0, 0) if hostile else (i // 60 % 60, i % 60)), i if hostile else 7, i % 900 + 1) for i in range(n))
    return b"timestamp, pid, process_name, used_gpu_memory [MiB]\n" + b"".join(rows)


@shape(".json", "info", 20_000)
def torch_timeline_categories(n, hostile):
    return json.dumps([[SECOND * SECOND * 1000 + 1000 * i, 2, KIB, i if hostile else i % 7] for i in range(n)]).encode()
