#!/usr/bin/env python3
"""Makes small/program.hlo.pb: a compiled program with a parameter and a heap of four buffers."""
import pathlib


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def number(field, value):
    return varint(field << 3) + varint(value)


def part(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def array(kind, *dimensions):
    return number(2, kind) + part(3, b"".join(varint(d) for d in dimensions))


ID = 5 << 32  # the computation's number
F32, BF16, S8, TUPLE = 11, 16, 2, 13
ALLOC, FREE, SHARE_WITH = 0, 1, 2


def instruction(n, name, opcode, shape, metadata=b""):
    return part(2, part(1, name) + part(2, opcode) + part(3, shape) + part(7, metadata) +
                number(35, ID | n))


def module():
    scopes = "jit(f)/jit(main)/"
    frames = (part(1, "model.py") + part(1, "train.py") + part(2, "layer") + part(2, "main") +
              part(3, number(1, 1) + number(2, 1) + number(3, 12)) +
              part(3, number(1, 2) + number(2, 2) + number(3, 80)) +
              part(4, number(1, 2)) + part(4, number(1, 1) + number(2, 1)))
    computation = part(1, "main.1") + b"".join([
        instruction(1, "p0", "parameter", array(F32, 4), part(2, "params['w']")),
        instruction(2, "dot.1", "dot", array(BF16, 10),
                    part(2, scopes + "dot_general") + part(3, "model.py") + number(4, 7)),
        instruction(3, "add.1", "add",
                    number(2, TUPLE) + part(4, array(S8, 3)) + part(4, array(F32, 2)),
                    part(2, scopes + "add")),
        instruction(4, "exp.1", "exponential", array(F32, 2, 3),
                    part(2, scopes + "exp") + number(15, 2)),
        instruction(5, "neg.1", "negate", array(F32, 2)),
    ])
    return part(1, part(1, "jit_f") + part(2, "main.1") + part(3, computation) + part(17, frames))


def buffer(n, size, defined_at):
    return part(1, (number(1, n) if n else b"") + number(2, size) + part(3, defined_at))


def assigned(n, offset, size):
    return part(9, number(1, n) + number(2, offset) + number(3, size))


def step(kind, n, shared=None):
    return part(1, number(1, kind) + (number(2, n) if n else b"") +
                (number(5, shared) if shared is not None else b""))


def assignment():
    buffers = [
        buffer(0, 32, number(4, ID | 2)), buffer(1, 8, part(3, varint(1)) + number(4, ID | 3)),
        buffer(2, 24, number(4, ID | 4)), buffer(3, 8, number(4, ID | 5)),
        buffer(4, 16, number(4, ID | 1)),
    ]
    allocations = [
        part(3, number(1, 0) + number(2, 16) + number(5, 1) + number(7, 1) + assigned(4, 0, 16)),
        part(3, number(1, 1) + number(2, 64) + assigned(0, 0, 32) + assigned(1, 32, 8) +
             assigned(2, 0, 24) + assigned(3, 32, 8)),
    ]
    heap = [
        step(ALLOC, 0), step(ALLOC, 1), step(SHARE_WITH, 3, 1), step(FREE, 1), step(FREE, 0),
        step(ALLOC, 2), step(FREE, 3), step(FREE, 2),
    ]
    return part(3, b"".join(buffers + allocations) + part(4, b"".join(heap)))


folder = pathlib.Path(__file__).parent / "small"
(folder / "program.hlo.pb").write_bytes(module() + assignment())
