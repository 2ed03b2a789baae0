#!/usr/bin/env python3
"""Makes small/: a compiled program with a parameter and a heap of four buffers, the same as JSON in both spellings, and
grown.hlo.pb, where one buffer is larger."""
import json
import pathlib
import re


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


def assignment(more=0):
    buffers = [
        buffer(0, 32, number(4, ID | 2)), buffer(1, 8, part(3, varint(1)) + number(4, ID | 3)),
        buffer(2, 24 + more, number(4, ID | 4)), buffer(3, 8, number(4, ID | 5)),
        buffer(4, 16, number(4, ID | 1)),
    ]
    allocations = [
        part(3, number(1, 0) + number(2, 16) + number(5, 1) + number(7, 1) + assigned(4, 0, 16)),
        part(3, number(1, 1) + number(2, 64 + 2 * more) + assigned(0, 0, 32) + assigned(1, 32, 8) +
             assigned(2, 40 if more else 0, 24 + more) + assigned(3, 32, 8)),
    ]
    heap = [
        step(ALLOC, 0), step(ALLOC, 1), step(SHARE_WITH, 3, 1), step(FREE, 1), step(FREE, 0),
        step(ALLOC, 2), step(FREE, 3), step(FREE, 2),
    ]
    return part(3, b"".join(buffers + allocations) + part(4, b"".join(heap)))


def as_json():
    """The same program, written down a second time."""
    scopes = "jit(f)/jit(main)/"

    def instruction(n, name, opcode, shape, **metadata):
        return {"name": name, "opcode": opcode, "shape": shape, "metadata": metadata, "id": str(ID | n)}

    def array(kind, *dimensions):
        return {"elementType": kind, "dimensions": [str(d) for d in dimensions],
                "layout": {"minorToMajor": [str(d) for d in range(len(dimensions))], "tiles": [{"dimensions": ["8"]}]}}

    def buffer(n, size, instruction, *index):
        return {"id": str(n), "size": str(size),
                "definedAt": {"shapeIndex": [str(i) for i in index], "instructionId": str(ID | instruction)}}

    def place(n, offset, size):
        return {"logicalBufferId": str(n), "offset": str(offset), "size": str(size)}

    def step(kind, n, **more):
        return {"kind": kind, "bufferId": str(n), **more}

    instructions = [
        instruction(1, "p0", "parameter", array("F32", 4), opName="params['w']"),
        instruction(2, "dot.1", "dot", array("BF16", 10), opName=scopes + "dot_general", sourceFile="model.py", sourceLine=7),
        instruction(3, "add.1", "add", {"elementType": "TUPLE", "tupleShapes": [array("S8", 3), array("F32", 2)]},
                    opName=scopes + "add"),
        instruction(4, "exp.1", "exponential", array("F32", 2, 3), opName=scopes + "exp", stackFrameId=2),
        instruction(5, "neg.1", "negate", array("F32", 2)),
    ]
    frames = {"fileNames": ["model.py", "train.py"], "functionNames": ["layer", "main"],
              "fileLocations": [{"fileNameId": 1, "functionNameId": 1, "line": 12},
                                {"fileNameId": 2, "functionNameId": 2, "line": 80}],
              "stackFrames": [{"fileLocationId": 2}, {"fileLocationId": 1, "parentFrameId": 1}]}
    return {
        "hloModule": {"name": "jit_f", "entryComputationName": "main.1",
                      "computations": [{"name": "main.1", "instructions": instructions}], "stackFrameIndex": frames},
        "bufferAssignment": {
            "logicalBuffers": [buffer(0, 32, 2), buffer(1, 8, 3, 1), buffer(2, 24, 4), buffer(3, 8, 5), buffer(4, 16, 1)],
            "bufferAllocations": [
                {"index": "0", "size": "16", "isEntryComputationParameter": True, "maybeLiveOut": True,
                 "assigned": [place(4, 0, 16)]},
                {"index": "1", "size": "64", "isThreadLocal": False,
                 "assigned": [place(0, 0, 32), place(1, 32, 8), place(2, 0, 24), place(3, 32, 8)]},
            ],
            "heapSimulatorTraces": [{"events": [
                step("ALLOC", 0), step("ALLOC", 1), step("SHARE_WITH", 3, shareWithCanonicalId="1"), step("FREE", 1),
                step("FREE", 0), step("ALLOC", 2), step("FREE", 3), step("FREE", 2)]}],
        },
    }


def plain(value):
    """With underscores, numbers for numbers and for enums."""
    if isinstance(value, dict):
        return {re.sub("([A-Z])", lambda m: "_" + m[1].lower(), key): plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [plain(each) for each in value]
    kinds = {"ALLOC": ALLOC, "FREE": FREE, "SHARE_WITH": SHARE_WITH, "F32": F32, "BF16": BF16, "S8": S8, "TUPLE": TUPLE}
    if not isinstance(value, str):
        return value
    return kinds[value] if value in kinds else int(value) if value.isdigit() else value


folder = pathlib.Path(__file__).parent / "small"
(folder / "program.hlo.pb").write_bytes(module() + assignment())
(folder / "grown.hlo.pb").write_bytes(module() + assignment(40))
(folder / "program.json").write_text(json.dumps(as_json(), indent=1) + "\n")
(folder / "underscores.json").write_text(json.dumps(plain(as_json())) + "\n")
