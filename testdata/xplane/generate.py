#!/usr/bin/env python3
"""Writes the traces of this folder: XSpace messages as XLA's profiler writes them, by hand.

usage: generate.py FOLDER
"""
import gzip
import sys
from pathlib import Path

MIB = 1 << 20


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, *parts):
    body = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return varint(field << 3 | 2) + varint(len(body)) + body


class Plane:
    def __init__(self, name):
        self.name, self.lines, self.events, self.stats, self.own = name, [], {}, {}, []
        self.backwards = False  # events in the wrong order

    def stat(self, field, key, value):
        body = [number(1, self.stats.setdefault(key, len(self.stats) + 1))]
        if isinstance(value, str):
            body.append(number(7, self.stats.setdefault(value, len(self.stats) + 1)))  # by reference
        elif isinstance(value, bytes):
            body.append(message(5, value))
        else:
            body.append(number(4, value))
        return message(field, *body)

    def event(self, name, begin, duration=0, **stats):
        parts = [number(1, self.events.setdefault(name, len(self.events) + 1)), number(2, begin)]
        if duration:
            parts.append(number(3, duration))
        return message(4, *parts, *[self.stat(4, key, value) for key, value in stats.items()])

    def line(self, number_, name, timestamp, *events):
        events = events[::-1] if self.backwards else events
        self.lines.append(message(3, number(1, number_), message(2, name), number(3, timestamp), *events))

    def bytes(self, maps_first=False):
        maps = [message(4, number(1, key), message(2, number(1, key), message(2, name))) for name, key in self.events.items()]
        maps += [message(5, number(1, key), message(2, number(1, key), message(2, name))) for name, key in self.stats.items()]
        body = maps + self.lines if maps_first else self.lines + maps
        return message(1, message(2, self.name), *body, *self.own)


class Allocator:
    """What one allocator writes: its own count goes on from event to event."""
    def __init__(self, plane, name, in_use, limit):
        self.plane, self.name, self.in_use, self.limit, self.peak = plane, name, in_use, limit, in_use

    def change(self, begin, address, size, requested=None, **more):
        self.in_use += size
        self.peak = max(self.peak, self.in_use)
        return self.plane.event(
            "MemoryAllocation" if size > 0 else "MemoryDeallocation", begin, allocator_name=self.name, bytes_reserved=0,
            bytes_allocated=self.in_use, bytes_available=self.limit - self.in_use, fragmentation=0,
            peak_bytes_in_use=self.peak, requested_bytes=requested or abs(size), allocation_bytes=abs(size), addr=address,
            id=0, data_type=0, **more)


def hlo_program():
    """jit_loss: an arena of 16 MiB, in which dot_general has 10 MiB and tanh 4 MiB when most is in use."""
    def instruction(id_, name, op_name, file="", line=0):
        metadata = message(7, message(2, op_name), *([message(3, file), number(4, line)] if file else []))
        return message(2, message(1, name), message(2, name), metadata, number(35, id_))

    def buffer(id_, size, defined_by):
        return message(1, number(1, id_), number(2, size), message(3, number(4, defined_by)))

    module = message(1, message(1, "jit_loss"), message(2, "main"), message(
        3, message(1, "main"), number(5, 1), instruction(11, "dot.1", "jit(loss)/jit(main)/dot_general", "/home/ada/model.py", 7),
        instruction(12, "tanh.2", "jit(loss)/jit(main)/Dense_0/tanh")), number(6, 1))
    assigned = [message(9, number(1, id_), number(2, offset), number(3, size))
                for id_, offset, size in ((1, 0, 10 * MIB), (2, 10 * MIB, 4 * MIB))]
    assignment = message(3, buffer(1, 10 * MIB, 11), buffer(2, 4 * MIB, 12),
                         message(3, number(1, 0), number(2, 16 * MIB), *assigned),
                         message(4, *[message(1, number(1, kind), number(2, id_))
                                      for kind, id_ in ((0, 1), (0, 2), (1, 2), (1, 1))]))
    return module + assignment


def jax(maps_first=False, program=False, backwards=False):
    """Two steps of a training loop: 3 MiB from before, 8 MiB of parameters, 16 MiB for a jitted function on another
    thread, whose line begins 1000 ns earlier."""
    host = Plane("/host:CPU")
    host.backwards = backwards
    gpu = Allocator(host, "GPU_0_bfc", 3 * MIB, 64 * MIB)
    pinned = Allocator(host, "xla_gpu_host_bfc", 0, 1024 * MIB)
    us = 1_000_000  # picoseconds
    host.line(7, "python", 5000,
              host.event("$train.py:30 main", 0, 100 * us),
              host.event("train", 1 * us, 40 * us, step_num=1, _r=1),
              host.event("$train.py:12 step", 2 * us, 38 * us),
              host.event("forward", 3 * us, 30 * us),
              host.event("$array_creation.py:98 zeros", 4 * us, 4 * us),
              pinned.change(5 * us, 0x100, 256, 4),
              gpu.change(6 * us, 0x1000000, 8 * MIB, 8 * MIB - 100),
              host.event("PjitFunction(loss)", 10 * us, 20 * us),
              host.event("PjRtStreamExecutorLoadedExecutable::Execute", 12 * us, 10 * us, _pt=5, _p=77),
              host.event("train", 50 * us, 40 * us, step_num=2, _r=1),
              host.event("$train.py:12 step", 51 * us, 38 * us))
    host.line(8, "py_xla_execute/1", 4000,
              host.event("PjRtStreamExecutorLoadedExecutable::EnqueueExecution", 14 * us, 9 * us, _ct=5, _c=77),
              host.event("Build buffer allocations", 15 * us, 2 * us),
              gpu.change(16 * us, 0x2000000, 16 * MIB),
              gpu.change(60 * us, 0x2000000, -16 * MIB),
              gpu.change(61 * us, 0x500000, -1 * MIB))
    device = Plane("/device:GPU:0")
    device.own = [device.stat(6, "memory_size", 80 << 30)]
    device.line(1, "Stream #1(Kernel)", 5000, device.event("fusion.3", 20 * us, 5 * us, correlation_id=5))
    environment = Plane("Task Environment")
    environment.own = [environment.stat(6, "profile_start_time", 1_771_595_660_000_000_000),
                       environment.stat(6, "profile_stop_time", 1_771_595_660_200_000_000)]
    planes = [device, host, environment]
    if program:
        metadata = Plane("/host:metadata")
        stat = message(5, number(1, 1), message(6, hlo_program()))
        metadata.own = [message(4, number(1, 15), message(2, number(1, 15), message(2, "jit_loss(15)"), stat)),
                        message(5, number(1, 1), message(2, number(1, 1), message(2, "Hlo Proto")))]
        planes.insert(0, metadata)
    return b"".join(plane.bytes(maps_first) for plane in planes) + message(4, "worker-3")


def holes():
    """An event is missing: the allocator's own count jumps by 2 MiB. An operation is called "12"."""
    host = Plane("/host:CPU")
    gpu = Allocator(host, "GPU_1_bfc", 0, 64 * MIB)
    first = gpu.change(0, 0x1000, 1 * MIB, tf_op="model/dense/MatMul", region_type="output", shape="[16,64]")
    gpu.in_use += 2 * MIB
    host.line(1, "tf_Compute/1", 1_700_000_000_000_000_000, first,
              gpu.change(1_000_000, 0x200000, 4 * MIB, tf_op=12, region_type="temp"))
    return host.bytes()


def strange():
    """What no profiler writes: two events that are left out, an id of a stat without a name, a name that is no UTF-8, and a
    line's begin behind its events."""
    host = Plane("/host:CPU")
    host.stats["nothing"] = 77
    events = [host.event("$train.py:30 main", 0, 50), message(4, number(1, 99), number(2, 1), number(3, 5)),
              host.event("MemoryAllocation", 20, allocation_bytes=MIB, requested_bytes=MIB, addr=0x1000, bytes_allocated=MIB,
                         allocator_name=b"GPU_0_\xff", nothing=5),
              message(4, number(1, 1), number(2, 30), number(3, -5))]
    del host.stats["nothing"]
    host.lines.append(message(3, number(1, 1), *events, message(2, "python"), number(3, 5000)))
    return host.bytes()


def tpu_frees():
    """A TPU: frees give an address and the totals. 16 MiB from before, of which 2 MiB are freed; 4 MiB of parameters; twice
    the arena of jit_loss, on a thread of the runtime that has no span of the program around it."""
    host = Plane("/host:CPU")
    us = 1_000_000  # picoseconds

    def change(begin, address, in_use, size=None, **more):
        sizes = dict(requested_bytes=size, allocation_bytes=size) if size else {}
        return host.event("MemoryAllocation" if size else "MemoryDeallocation", begin, index_on_host=1, bytes_reserved=0,
                          bytes_allocated=in_use, bytes_available=64 * MIB - in_use, peak_bytes_in_use=48 * MIB, addr=address,
                          **sizes, **more)
    host.line(1, "python", 5000,
              host.event("$train.py:30 main", 0, 100 * us),
              host.event("load", 4 * us, 8 * us),
              change(5 * us, 0x1000, 20 * MIB, 4 * MIB, tf_op="dummy"))
    host.line(2, "TfrtTpuClient/7", 5000,
              change(1 * us, 0x100, 16 * MIB),  # nothing tells its size
              host.event("Output buffers", 40 * us, 30 * us),
              change(41 * us, 0x9000, 36 * MIB, 16 * MIB, tf_op="dummy"),
              change(45 * us, 0x9000, 20 * MIB),
              change(46 * us, 0x700, 18 * MIB),
              change(50 * us, 0x9000, 34 * MIB, 16 * MIB, tf_op="dummy"),
              change(55 * us, 0x9000, 18 * MIB))
    metadata = Plane("/host:metadata")
    stat = message(5, number(1, 1), message(6, hlo_program()))
    metadata.own = [message(4, number(1, 15), message(2, number(1, 15), message(2, "jit_loss(15)"), stat)),
                    message(5, number(1, 1), message(2, number(1, 1), message(2, "Hlo Proto")))]
    return Plane("/device:TPU:1").bytes() + metadata.bytes() + host.bytes()


def rounding():
    """Chunks of 2 MiB for 1.5 MiB and 1.75 MiB by one line, and for 1 MiB by nobody that is known."""
    host = Plane("/host:CPU")
    gpu = Allocator(host, "GPU_0_bfc", 0, 64 * MIB)
    us = 1_000_000
    host.line(1, "python", 5000,
              host.event("$train.py:30 main", 0, 100 * us),
              gpu.change(5 * us, 0x1000, 2 * MIB, 3 * MIB // 2),
              gpu.change(6 * us, 0x2000, 2 * MIB, 7 * MIB // 4),
              gpu.change(7 * us, 0x3000, 2 * MIB))
    host.line(2, "tf_Compute/1", 5000, gpu.change(8 * us, 0x4000, 2 * MIB, MIB))
    return host.bytes()


def without_memory(device=None):
    host = Plane("/host:CPU")
    host.line(1, "python", 0, host.event("$train.py:30 main", 0, 5))
    return host.bytes() + (Plane(device).bytes() if device else b"")


def nothing_usable():
    """The only memory event has no address."""
    host = Plane("/host:CPU")
    host.line(1, "python", 0, host.event("MemoryAllocation", 0, allocation_bytes=MIB))
    return host.bytes()


def main():
    folder = Path(sys.argv[1])
    files = {"train.xplane.pb": jax(), "maps_first.xplane.pb": jax(True), "program.xplane.pb": jax(program=True), "holes.xplane.pb": holes(),
             "tpu.xplane.pb": without_memory("/device:TPU:0"), "gpu.xplane.pb": without_memory("/device:GPU:0"),
             "cpu.xplane.pb": without_memory(), "unusable.xplane.pb": nothing_usable(), "cut.xplane.pb": jax()[:-100], "backwards.xplane.pb": jax(backwards=True),
             "tpu_frees.xplane.pb": tpu_frees(), "rounding.xplane.pb": rounding(),
             "strange.xplane.pb": strange(), "packed.xplane.pb.gz": gzip.compress(jax(), mtime=0),
             # As jax.profiler.trace("logdir") leaves them: two runs, the later one of two hosts.
             "logdir/plugins/profile/2026_02_20_13_54_20/worker-3.xplane.pb": jax(),
             "logdir/plugins/profile/2026_02_20_13_54_20/worker-4.xplane.pb": holes(),
             "logdir/plugins/profile/2026_02_19_00_00_00/worker-3.xplane.pb": holes()}
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


if __name__ == "__main__":
    main()
