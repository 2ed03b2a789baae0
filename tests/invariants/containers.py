"""Changes in the program's own two forms, with the checksums made good: .memtool (memtool-formats(5), CONTAINER) and .mtcap."""
import ctypes
import ctypes.util
import struct

import wire
from extremes import number, read_varint

MAGIC = b"\x89memtool"
FIRST_OF_AMOUNTS = 17  # tables of ledgers, traces, events, segments, blocks
CHUNK, FIRST = 65536, 4096


def library(name, result, *arguments):
    """A function of a C library that the program itself links; None where it is not installed."""
    path = ctypes.util.find_library(name[0])
    function = getattr(ctypes.CDLL(path), name[1], None) if path else None
    if function:
        function.restype, function.argtypes = result, arguments
    return function


XXH3 = library(("xxhash", "XXH3_64bits"), ctypes.c_uint64, ctypes.c_char_p, ctypes.c_size_t)
UNPACK = library(("zstd", "ZSTD_decompress"), ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)


def columns(data):
    """[[number, coding, base, divisor, bytes]], unpacked"""
    at, out = 0, []
    while at < len(data):
        number, at = read_varint(data, at)
        coding, at = data[at], at + 1
        base, at = read_varint(data, at)
        divisor, body = None, b""
        if coding >> 2 & 3:
            divisor, at = read_varint(data, at)
            size, at = read_varint(data, at)
            stored, at = read_varint(data, at)
            body, at = data[at:at + stored], at + stored
            if coding & 0x10:
                if not UNPACK or size > 1 << 24:
                    raise ValueError
                target = ctypes.create_string_buffer(size)
                if UNPACK(target, size, body, stored) != size:
                    raise ValueError
                body, coding = target.raw, coding & ~0x10
        out.append([number, coding, base, divisor, body])
    return out


def packed(parsed):
    out = b""
    for number, coding, base, divisor, body in parsed:
        out += wire.varint(number) + bytes([coding]) + wire.varint(base)
        if coding >> 2 & 3:
            out += wire.varint(divisor) + wire.varint(len(body)) * 2 + body
    return out


def change_column(column, rng):
    """Another base, or another of the words."""
    layout = column[1] >> 2 & 3
    if layout == 0 or layout != 3 and rng.random() < 0.3 or not column[4]:
        column[2] = number(rng, column[2]) % 2**64
        return f"base {column[2]}"
    body = column[4]
    if layout == 1:
        words, at = [], 0
        while at < len(body):
            word, at = read_varint(body, at)
            words.append(word)
        place = rng.randrange(len(words))
        words[place] = number(rng, words[place]) % 2**64
        column[4] = b"".join(map(wire.varint, words))
        return f"word {place} = {words[place]}"
    place = rng.randrange(len(body))
    byte = rng.choice([0, 1, 0x1B, 0x7F, 0x80, 0xFF, body[place] ^ 1])
    column[4] = body[:place] + bytes([byte]) + body[place + 1:]
    return f"byte {place} = {byte}"


def change_container(data, rng):
    if not XXH3:
        raise ValueError
    sections, at = [], 16
    while at + 24 <= len(data):
        table, rows, size = struct.unpack_from("<IIQ", data, at)
        sections.append([table, rows, data[at + 16:at + 16 + size]])
        at += 24 + size
    # Mostly what says how much, less what says where.
    weights = [3 if table >= FIRST_OF_AMOUNTS else 1 if section else 0 for table, _, section in sections]
    chosen = rng.choices(sections, weights)[0]
    parsed = columns(chosen[2])
    column = rng.choice(parsed)
    done = f"table {chosen[0]}, column {column[0]}: {change_column(column, rng)}"
    chosen[2] = packed(parsed)
    out = data[:16]
    for table, rows, section in sections:
        whole = struct.pack("<IIQ", table, rows, len(section)) + section
        out += whole + struct.pack("<Q", XXH3(whole, len(whole)))
    return out, done


def crc_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def change_capture_log(data, rng):
    """A byte of a chunk's records, or one of them for a longer one."""
    chunks = [at for at in range(FIRST, len(data) - 32, CHUNK) if struct.unpack_from("<4I", data, at)[2]]
    if not chunks:
        raise ValueError
    at = rng.choice(chunks)
    magic, sequence, used, _, base, more = struct.unpack_from("<4I2Q", data, at)
    body = bytearray(data[at + 32:at + 32 + used])
    done = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        place = rng.randrange(len(body))
        if rng.random() < 0.4:
            # A varint of one byte becomes a long one.
            body[place:place + 1] = wire.varint(rng.choice([2**31, 2**40, 2**62, 2**63 - 1, 2**64 - 1]))
            done.append(f"byte {place} longer")
        else:
            body[place] = rng.choice([0, 1, 0x1B, 0x7F, 0x80, 0xFF, body[place] ^ 1])
            done.append(f"byte {place} = {body[place]}")
    if 32 + len(body) > CHUNK:
        raise ValueError
    chunk = struct.pack("<4I2Q", magic, sequence, len(body), crc32c(body), base, more) + bytes(body)
    rest = data[at + 32 + used:at + CHUNK]
    grown = len(body) - used
    if len(data) > at + CHUNK:
        rest = data[at + len(chunk):at + CHUNK] if grown >= 0 else rest + bytes(-grown)
        return data[:at] + chunk + rest + data[at + CHUNK:], ", ".join(done)
    committed = struct.unpack_from("<Q", data, 24)[0] + grown
    return data[:24] + struct.pack("<Q", committed) + data[32:at] + chunk + rest, ", ".join(done)
