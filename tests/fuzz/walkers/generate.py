#!/usr/bin/env python3
"""The seeds of what the capture shim reads of strangers. usage: generate.py (writes here)"""
import struct
from pathlib import Path

HERE = Path(__file__).resolve().parent


def entry(body):
    body += bytes(-len(body) % 4)
    return struct.pack("<I", len(body)) + body


def cfi(name, augmentation, common, program):
    """One CIE and one FDE for all addresses from its begin on, as fuzz_capture_shim.cc reads them."""
    cie = entry(struct.pack("<I", 0) + b"\x01" + augmentation + b"\0\x01\x78\x10" +
                (b"\x01\x1b" if b"z" in augmentation else b"") + common)
    back = len(cie) + 4
    location = -(20 + len(cie) + 8)  # relative to itself: where the table begins
    fde = entry(struct.pack("<IiI", back, location, 4096) + (b"\0" if b"z" in augmentation else b"") + program)
    (HERE / f"cfi_{name}").write_bytes(struct.pack("<H", len(cie)) + cie + fde)


COMMON = b"\x0c\x07\x08\x90\x01"
cfi("plain", b"zR", COMMON, b"\x41\x0e\x10\x86\x02\x43\x0d\x06\x42\x0c\x07\x08")
cfi("realigned", b"zR", COMMON, b"\x45\x0c\x0a\x00\x10\x06\x02\x76\x00\x41\x0f\x03\x76\x78\x06\x0a\x42\x0b")
cfi("signal", b"zRS", COMMON, b"\x00")
cfi("wide", b"zR", COMMON, b"\x02\x01\x03\x01\x00\x04\x01\x00\x00\x00\x05\x06\x02\x11\x06\x7e\x12\x07\x70\x13\x7f\x16\x06\x01\x30")
cfi("undefined", b"zR", COMMON, b"\x07\x10\x08\x06\x06\x06\x2e\x08\x09\x03\x04")

ARENA, TYPE = 0x10000000, 0x10000200
# Offsets: capture/src/stacks/python_frames.cc.
LAYOUTS = {9: (24, None, 24, 32, 104, 0, 112, 104, 120, 48), 10: (24, None, 24, 32, 96, 0, 112, 104, 120, 48),
           11: (56, 8, 48, 32, 56, 0, 128, 112, 136, 48), 12: (56, 0, 8, 0, 56, 70, 128, 112, 136, 40),
           13: (72, None, 8, 0, 56, 70, 128, 112, 136, 40)}
for minor, (head, indirect, previous, code, position, owner, name, file, lines, text) in LAYOUTS.items():
    memory = bytearray(4096)

    def put(at, value):
        struct.pack_into("<Q", memory, at, value)
    put(head, ARENA + (0x180 if indirect is not None else 0x400))
    if indirect is not None:
        put(0x180 + indirect, ARENA + 0x400)
    for i in range(3):
        frame, body, word = 0x400 + i * 0x100, 0x800 + i * 0x100, 0xc00 + i * 0x100
        put(frame + previous, ARENA + frame + 0x100 if i < 2 else 0)
        put(frame + code, ARENA + body)
        put(frame + position, ARENA + body + 200)
        if owner and i == 1:
            memory[frame + owner] = 3
        put(body + 8, TYPE)
        put(body + name, ARENA + word)
        put(body + file, ARENA + word)
        put(body + lines, ARENA + word + 0x80)
        put(word + 16, 6)
        kind = (1, 2, 4)[i]
        put(word + 32, kind << 2 | 1 << 5 | (kind == 1) << 6)
        memory[word + text:word + text + 24] = "spælled".encode(("latin-1", "utf-16-le", "utf-32-le")[i])[:24].ljust(24, b"\0")
        put(word + 0x80 + 16, 9)
    (HERE / f"python_3.{minor}").write_bytes(bytes([minor - 9]) + memory)
