#!/usr/bin/env python3
"""Writes a large trace in the form of XLA's profiler: the shape of real ones, the same bytes on every run.

usage: make_xplane.py MEGABYTES OUT [--memory-events N] [--seed S]

As in real files: one plane of the host whose names come after its lines; a thread with nested Python functions, jitted ones
and the runtime's calls (a twelfth of its events with figures, half of these lead to another thread), a worker that runs what
the first began, allocators' events among both, a plane of a device with kernels, and a compiled program. The memory events
are N whatever the size is, so that two sizes tell what memory grows with.
"""
import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "testdata" / "xplane"))
from generate import Allocator, Plane, hlo_program, message, number, varint  # noqa: E402

MIB = 1 << 20
BLOCK = 4000  # calls of the first thread that are worked out; the rest of the file is the same calls later
US = 1_000_000  # picoseconds


class Event:
    """What an event is but for its time and the id of what it begins or does."""
    def __init__(self, plane, name, begin, duration=0, ident=None, ends="p", **stats):
        self.begin, self.ident = begin, ident
        self.head = number(1, plane.events.setdefault(name, len(plane.events) + 1))
        self.rest = number(3, duration) if duration else b""
        self.rest += b"".join(plane.stat(4, key, value) for key, value in stats.items())
        self.key = b""
        if ident is not None:
            self.rest += plane.stat(4, f"_{ends}t", 5)
            self.key = number(1, plane.stats.setdefault(f"_{ends}", len(plane.stats) + 1))

    def bytes(self, later, ids):
        rest = self.rest if self.ident is None else self.rest + message(4, self.key, number(4, self.ident + ids))
        body = self.head + b"\x10" + varint(self.begin + later) + rest
        return b"\x22" + varint(len(body)) + body


def calls(plane, rng):
    """A block of the first thread: callers before what they call. -> events, span"""
    names = [f"$layers{i % 40}.py:{i} call{i % 170}" for i in range(600)]
    out, stack, now, begun = [], [], 0, 0
    for i in range(BLOCK):
        now += rng.randint(US, 5 * US // 2)
        while stack and (stack[-1] <= now or len(stack) > 22):
            now = max(now, stack.pop())
        most = stack[-1] - now - 1 if stack else 400 * US
        length = rng.randint(most // 3, most) if most > 3 else 1
        if i % 24 == 7:
            begun += 1
            out.append(Event(plane, "PjRtStreamExecutorLoadedExecutable::Execute", now, length, ident=begun))
        elif i % 24 == 19:
            out.append(Event(plane, "PjitFunction(loss)", now, length, _r=1))
        else:
            out.append(Event(plane, rng.choice(names), now, length))
        stack.append(now + length)
    return out, max(now, stack[0]) + US


def work(plane, rng, first):
    """What the first thread began, done by another."""
    out = []
    for event in first:
        if event.ident is not None:
            out.append(Event(plane, "EnqueueExecution", event.begin + 50_000, 400_000, ident=event.ident, ends="c"))
            out.append(Event(plane, "Build buffer allocations", event.begin + 100_000, rng.randint(1000, 99_000)))
    return out


def memory(rng, gpu, begin, step, count, live):
    """-> (time, bytes) of allocators' events"""
    out = []
    for at in range(begin, begin + count * step, step):
        if len(live) < 900 and (not live or rng.random() < 0.52):
            live.append((0x7F0000000000 + rng.randrange(1 << 30) * 256, rng.choice((256, 65536, MIB, 16 * MIB))))
            out.append((at, gpu.change(at, *live[-1])))
        else:
            address, size = live.pop(rng.randrange(len(live)))
            out.append((at, gpu.change(at, address, -size)))
    return out


def write(file, events, later, ids, changes):
    """A block, with the allocators' events in their places."""
    at = 0
    out = []
    for event in events:
        while at < len(changes) and changes[at][0] < event.begin + later:
            out.append(changes[at][1])
            at += 1
        out.append(event.bytes(later, ids))
    out.extend(each for _, each in changes[at:])
    file.write(b"".join(out))


def append(out, field, start, spools, end=b""):
    """A message of the bytes `start`, the spooled ones and `end`."""
    size = len(start) + sum(spool.tell() for spool in spools) + len(end)
    out.write(varint(field << 3 | 2) + varint(size) + start)
    for spool in spools:
        spool.seek(0)
        shutil.copyfileobj(spool, out, 1 << 20)
    out.write(end)


def line(ident, name, spool):
    """-> a spooled line of spooled events"""
    out = tempfile.TemporaryFile()
    append(out, 3, number(1, ident) + message(2, name) + number(3, 5000), [spool])
    return out


def maps(plane):
    entries = [(4, plane.events), (5, plane.stats)]
    return b"".join(message(field, number(1, key), message(2, number(1, key), message(2, name)))
                    for field, names in entries for name, key in names.items()) + b"".join(plane.own)


def compiled():
    plane = Plane("/host:metadata")
    stat = message(5, number(1, 1), message(6, hlo_program()))
    plane.own = [message(4, number(1, 15), message(2, number(1, 15), message(2, "jit_loss(15)"), stat)),
                 message(5, number(1, 1), message(2, number(1, 1), message(2, "Hlo Proto")))]
    return plane.bytes()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("megabytes", type=int)
    parser.add_argument("out")
    parser.add_argument("--memory-events", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    host, device = Plane("/host:CPU"), Plane("/device:GPU:0")
    device.own = [device.stat(6, "memory_size", 80 << 30)]
    gpu, live = Allocator(host, "GPU_0_bfc", 0, 80 << 30), []
    first, span = calls(host, rng)
    second = work(host, rng, first)
    kernels = [Event(device, f"fusion.{i % 300}", i * US, 800_000, correlation_id=i) for i in range(BLOCK // 4)]
    begun = sum(event.ident is not None for event in first)
    of_block = sum(len(event.bytes(1 << 45, 1 << 20)) for event in [*first, *second, *kernels])
    blocks = max(round((options.megabytes * 1_000_000 - options.memory_events * 110) / of_block), 1)
    each, more = divmod(options.memory_events, blocks)
    spools = [tempfile.TemporaryFile() for _ in range(3)]
    for block in range(blocks):
        later, count = block * span, each + (block < more)
        changes = memory(rng, gpu, later, span // (count + 1) + 1, count, live)
        write(spools[0], first, later, block * begun, [one for i, one in enumerate(changes) if i % 3])
        write(spools[1], second, later, block * begun, changes[::3])
        write(spools[2], kernels, later, 0, [])
    with open(options.out, "wb") as out:
        out.write(compiled())
        append(out, 1, message(2, device.name), [line(1, "Stream #1(Kernel)", spools[2])], maps(device))
        append(out, 1, message(2, host.name), [line(7, "python", spools[0]), line(8, "py_xla_execute/1", spools[1])], maps(host))
        out.write(message(4, "worker-3"))


if __name__ == "__main__":
    main()
