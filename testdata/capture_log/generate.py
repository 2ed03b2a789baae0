#!/usr/bin/env python3
"""Writes small/log.mtcap from the description in capture/FORMAT.md alone: no code of the shim.

Adresses, ids and times are made up; README.md says what is in it."""
import struct
from pathlib import Path

POLY = 0x82F63B78
START = 1_700_000_000_000_000_000


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (POLY if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def zigzag(value):
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def text(value):
    data = value.encode() if isinstance(value, str) else value
    return varint(len(data)) + data


def record(tag, *fields):
    return bytes([tag]) + b"".join(f if isinstance(f, bytes) else varint(f) for f in fields)


class Chunk:
    def __init__(self, base):
        self.data, self.base, self.time, self.key, self.address = b"", base, base, 0, 0

    def define(self, tag, *fields):
        self.data += record(tag, *fields)

    def frame(self, id_, parent, address):
        self.define(0x03, id_, parent, zigzag(address - self.address))
        self.address = address

    def event(self, tag, time, *fields):
        self.data += record(tag, time - self.time, *fields)
        self.time = time

    def compact(self, time, attributes, key, size=None, stack=None):
        flags = 0x80 | 0x08 | 0x20 | (0x40 if size is None else 0x10 | 0x04)
        body = [varint(time - self.time), varint(attributes), zigzag(key - self.key)]
        if size is not None:
            body += [varint(size), varint(stack)]
        self.data += bytes([flags]) + b"".join(body)
        self.time, self.key = time, key

    def bytes(self, sequence, sealed=True):
        used = len(self.data) if sealed else 0
        head = struct.pack("<4I2Q", 0x4B43544D, sequence, used,
                           crc32c(self.data) if sealed else 0, self.base, 0)
        return head + self.data


def header(committed, events, dropped):
    head = b"MTCAP\r\n\x1a" + struct.pack("<4I3Q2iQ2I6Q2I", 1, 0x01020304, 4096, 65536, committed,
                                          START, 12345, 4711, 4710, 99, 1, 0, events, dropped, 0, 0,
                                          0, 0, 1, 0x30B)
    head += b"host1".ljust(64, b"\0") + b"RANK=3".ljust(64, b"\0")
    head += b"/nonexistent/bin/train".ljust(512, b"\0")
    return head.ljust(4096, b"\0")


# PEP 657: 4 code units on the first line, 4 one line further, 4 eleven lines back up and long.
LINES = bytes([0x80 | 13 << 3 | 3]) + b"\x00" + bytes([0x80 | 11 << 3 | 3, 0, 0]) + \
    bytes([0x80 | 14 << 3 | 3]) + bytes([20, 0, 1, 1])


def main():
    a = Chunk(1000)
    a.define(0x01, 1, 0x10000, 0x8000, 0x1000, 0xF000, text(""), text(b"\xaa\xbb"))
    a.define(0x01, 2, 0x400000, 0x1000, 0, 0x400000, text("/nonexistent/lib/libx.so"), text(b"\x01"))
    a.frame(1, 0, 0x10010)
    a.frame(2, 1, 0x400020)
    a.define(0x04, 1, 0x30B, 10, text("Model.forward"), text("model.py"), text(LINES))
    a.define(0x05, 1, 0, 1, 0, 1)
    a.define(0x05, 2, 0, 1, 9, 1)
    a.define(0x05, 3, 2, 1, 17, 0)
    a.define(0x06, 1, 2, 0)
    a.define(0x06, 2, 2, 3)
    a.define(0x07, 1, 4711, text("main"))
    a.define(0x08, 1, 0, 0, 0, 1, text("device"))
    a.define(0x08, 2, 1, 2, 0, 0, text("pinned"))
    a.define(0x08, 3, 2, 4, 0, 1, text("vmm"))
    a.define(0x08, 4, 0, 0, 0, 0, text("free"))
    a.define(0x08, 5, 16, 0, 2, 1, text("arena"))
    a.define(0x0A, 1, text("layer1"))
    a.define(0x09, 1, 1, 1, 0x77, 0, 0, 0)
    a.define(0x09, 2, 1, 2, 0x77, 0, 0, 0)
    a.define(0x09, 3, 1, 3, 0, 0, 0, 0)
    a.define(0x09, 4, 1, 4, 0, 0, 0, 0)
    a.define(0x09, 5, 1, 1, 0x77, 0x5, 0x9, 1)
    a.define(0x09, 6, 1, 5, 0, 0, 0, 0)
    a.compact(2000, 1, 0x7000000, 1000, 1)
    a.compact(3000, 2, 0x9000000, 500, 2)
    a.compact(4000, 5, 0x7100000, 2000, 2)
    a.compact(5000, 6, 0x7100000, 100, 2)        # the arena hands out a part of it
    a.event(0x2B, 5500, 1, zigzag(3), text("epoch"))
    a.compact(6000, 4, 0x7000000)
    a.event(0x20, 7000, 1, 2, 1 << 20, 2, 4097)  # out of memory: 1 MiB asked, 4096 free
    b = Chunk(8000)
    b.compact(8000, 3, 0x100, 4096, 1)
    b.event(0x24, 8100, 3, 0x100, 0x500000, 4096, 0)
    b.event(0x22, 8200, 3, 0x100)            # released, still mapped
    b.event(0x25, 8300, 3, 0x500000, 4096)   # unmapped: gone
    b.compact(8400, 1, 0x7000000, 3000, 1)
    b.compact(8500, 4, 0x7000000)                # refused by the driver
    b.event(0x21, 8600, 4, 0x7000000, 1)
    b.compact(8700, 4, 0x1234)                   # of nobody
    b.event(0x29, 9000, 4, 0x77, 0)          # the context ends: all device and pinned memory of it
    b.compact(9500, 1, 0x7200000, 64, 1)
    b.event(0x2F, 9600)
    first = a.bytes(0).ljust(65536, b"\0")
    second = b.bytes(1)
    committed = 4096 + len(first) + len(second)
    folder = Path(__file__).parent / "small"
    (folder / "log.mtcap").write_bytes(header(committed, 17, 2) + first + second)


if __name__ == "__main__":
    main()
