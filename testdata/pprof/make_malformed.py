#!/usr/bin/env python3
"""Writes malformed/: small files, each wrong in one way, and manifest.tsv.

The manifest names a loose regular expression (case does not matter) that the
error line should match: it asks for the reason, not for a wording.
"""
import json
import zlib
from pathlib import Path

import wire
from wire import bytes_field, int_field, key, packed, varint

OUT = Path(__file__).resolve().parent / "malformed"

TYPES = [("allocations", "count"), ("space", "bytes")]


def profile(**changes):
    base = {
        "types": TYPES,
        "mappings": [(1, 0x1000, 0x2000, 0, "/bin/train", "", ())],
        "functions": [(1, "leaf", "leaf", "a.py", 1), (2, "root", "root", "a.py", 9)],
        "locations": [(1, 1, 0x1010, [(1, 2)]), (2, 1, 0x1020, [(2, 11)])],
        "samples": [((1, 2), [1, 4096], [("kind", "buffer")]), ((2,), [2, 100], [("kind", "buffer")])],
    }
    base.update(changes)
    return base


GOOD = wire.encode(profile())
TIMED = wire.encode(profile(time=1_700_000_000_000_000_000))
LOCATIONS, FUNCTIONS, MAPPINGS = (profile()[k] for k in ("locations", "functions", "mappings"))


def strings(*texts):
    return b"".join(bytes_field(6, t.encode()) for t in texts)


def containers():
    zipped = wire.gz(GOOD)
    broken = bytearray(zipped)
    broken[-8] ^= 1
    size = bytearray(zipped)
    size[-4] ^= 1
    body = bytearray(zipped)
    body[10] |= 0x06  # block type 3 does not exist
    adler = bytearray(zlib.compress(GOOD, 9))
    adler[-1] ^= 1
    return [
        ("empty.pb", b"", "empty"),
        ("empty.pb.gz", wire.gz(b""), "empty"),
        ("text.pb", b"Out of memory.\nTrying to allocate 16.00GiB\n", "format|recogni"),
        ("json.pb", json.dumps({"samples": [1, 2], "unit": "bytes"}).encode(), "format|recogni"),
        ("truncated_gzip.pb.gz", zipped[:len(zipped) // 2], "truncat|unexpected end|gzip.*end"),
        ("truncated_gzip_trailer.pb.gz", zipped[:-3], "truncat|unexpected end|gzip.*end"),
        ("truncated_gzip_header.pb.gz", zipped[:6], "truncat|unexpected end|gzip.*(end|header)"),
        ("bad_crc.pb.gz", bytes(broken), "crc|checksum|data check"),
        ("bad_length.pb.gz", bytes(size), "length|size|checksum"),
        ("bad_deflate.pb.gz", bytes(body), "gzip|inflate|deflate|block|corrupt"),
        ("garbage_short_after_gzip.pb.gz", zipped + b"tail", "trailing|garbage|after|gzip"),
        ("garbage_long_after_gzip.pb.gz", zipped + b"this is not another member", "trailing|garbage|after|gzip"),
        ("bad_adler.pb.zz", bytes(adler), "adler|crc|checksum|data check"),
    ]


def wires():
    inside = bytes_field(2, bytes_field(1, b"\x01") + key(2, 2) + varint(9) + b"\x01\x02")
    return [
        ("truncated.pb", GOOD[:-3], "truncat|past|end"),
        ("truncated_in_sample.pb", GOOD[:24], "truncat|past|end"),
        ("bad_varint.pb", GOOD + key(12, 0) + b"\x80\x80", "varint|truncat|end"),
        ("overlong_varint.pb", GOOD + key(12, 0) + b"\x80" * 10 + b"\x01", "varint"),
        ("overlong_varint_packed.pb", GOOD + bytes_field(2, bytes_field(1, b"\x81" * 11 + b"\x01") + packed(2, [1, 1])), "varint"),
        ("length_past_end.pb", GOOD + key(6, 2) + varint(1000) + b"short", "length|truncat|past|end"),
        ("length_past_message.pb", GOOD + inside, "length|truncat|past|end"),
        ("length_2_63.pb", GOOD + key(6, 2) + varint(1 << 63) + b"x", "length|truncat|past|end|limit"),
        ("length_2_64_minus_1.pb", GOOD + key(6, 2) + varint((1 << 64) - 1) + b"x", "length|truncat|past|end|limit"),
    ] + [
        (f"wire_type_{n}.pb", GOOD + key(20, n) + b"\x00" * 8, "wire") for n in (3, 4, 6, 7)
    ] + [
        ("wire_type_3_in_sample.pb", GOOD + bytes_field(2, key(9, 3)), "wire"),
        ("sample_as_varint.pb", GOOD + int_field(2, 5), "wire|sample"),
        ("string_as_fixed64.pb", GOOD + key(6, 1) + b"\x00" * 8, "wire|string"),
        ("time_as_bytes.pb", GOOD + bytes_field(9, b"12"), "wire|time"),
        ("location_id_as_fixed32.pb", GOOD + bytes_field(2, key(1, 5) + b"\x01\x00\x00\x00"), "wire|location"),
    ]


def tables():
    pair = lambda t, u: bytes_field(1, int_field(1, t) + int_field(2, u))
    types = pair(1, 2)
    many = "string.*(range|index|table|\\d)"
    return [
        ("string_out_of_range.pb", types + strings("", "space", "bytes") + bytes_field(
            5, int_field(1, 1) + int_field(2, 99)), many),
        ("type_string_out_of_range.pb", pair(7, 2) + strings("", "space", "bytes"), many),
        ("label_string_out_of_range.pb", types + strings("", "space", "bytes") + bytes_field(
            2, bytes_field(2, b"\x01") + bytes_field(3, int_field(1, 1) + int_field(2, 50))), many),
        ("string_negative.pb", types + strings("", "space", "bytes") + int_field(14, -1), many),
        ("first_string_not_empty.pb", types + strings("oops", "space", "bytes"), "string"),
        ("no_string_table.pb", types + bytes_field(2, bytes_field(2, b"\x01")), "string"),
        # What `cat a b` makes.  JAX writes no time, so only the odd types and ids tell.
        ("concatenated_time.pb", TIMED + TIMED, "concat|twice|two profiles|time_nanos"),
        ("concatenated_no_time.pb", GOOD + GOOD, "concat|two profiles|values|duplicate|same id"),
        ("concatenated_no_time.pb.gz", wire.gz(GOOD) + wire.gz(GOOD), "concat|two profiles|values|duplicate|same id"),
    ]


def graph():
    made = lambda **changes: wire.encode(profile(**changes))
    sample = lambda *values: [((1, 2), list(values), [])]
    twice = "(twice|duplicate|multiple|same|already)"
    zero = r"(reserved|id.*\b0\b|zero)"
    return [
        ("unknown_location.pb", made(samples=[((1, 9), [1, 10], [])]), r"location.*(\b9\b|unknown|nil)"),
        ("location_id_0_in_sample.pb", made(samples=[((1, 0), [1, 10], [])]), "location.*(0|unknown|nil)"),
        ("unknown_function.pb", made(locations=[(1, 1, 0, [(77, 1)]), LOCATIONS[1]]),
         r"function.*(\b77\b|unknown|nil)"),
        ("unknown_mapping.pb", made(locations=[(1, 55, 0, [(1, 1)]), LOCATIONS[1]]),
         None),  # read, with a warning
        ("duplicate_location.pb", made(locations=LOCATIONS + [LOCATIONS[0]]), "location.*" + twice + "|" + twice + ".*location"),
        ("duplicate_function.pb", made(functions=FUNCTIONS + [FUNCTIONS[0]]), "function.*" + twice + "|" + twice + ".*function"),
        ("duplicate_mapping.pb", made(mappings=MAPPINGS + [MAPPINGS[0]]), "mapping.*" + twice + "|" + twice + ".*mapping"),
        ("location_id_0.pb", made(locations=LOCATIONS + [(0, 1, 0, [(1, 1)])]), "location.*" + zero),
        ("function_id_0.pb", made(functions=FUNCTIONS + [(0, "f", "f", "", 0)]), "function.*" + zero),
        ("mapping_id_0.pb", made(mappings=MAPPINGS + [(0, 1, 2, 0, "m", "", ())]), "mapping.*" + zero),
        ("too_few_values.pb", made(samples=sample(1)), "sample.*(1 value|values?|types?)"),
        ("too_many_values.pb", made(samples=sample(1, 2, 3)), "sample.*(3 value|values?|types?)"),
        ("no_values.pb", made(samples=sample()), "sample.*(0 value|no value|values?|types?)"),
        ("samples_without_types.pb", made(types=[]), "sample.*types?|types?.*sample"),
    ]


def main():
    if OUT.exists():
        for old in OUT.glob("*.pb*"):
            old.unlink()
    rows = containers() + wires() + tables() + graph()
    assert len({name for name, _, _ in rows}) == len(rows)
    for name, data, _ in rows:
        wire.save(OUT / name, data)
    lines = ["# file\terror line matches (regular expression, any case)"]
    lines += [f"{name}\t{pattern}" for name, _, pattern in rows if pattern]
    wire.save(OUT / "manifest.tsv", ("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    main()
