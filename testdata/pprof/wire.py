"""A small writer (and a smaller reader) of the pprof wire format.

The test data is written with this instead of a protobuf library because the
makers must be able to choose what a library hides: packed or not, the order
of fields, padded varints, unknown fields, and damage.
"""
import gzip
import zlib

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5

# Field numbers of Profile that the makers name.
SAMPLE_TYPE, SAMPLE, MAPPING, LOCATION, FUNCTION, STRINGS = 1, 2, 3, 4, 5, 6
DROP, KEEP, TIME, DURATION, PERIOD_TYPE, PERIOD, COMMENT, DEFAULT = range(7, 15)


def varint(n, pad=0):
    """Base 128; `pad` adds that many bytes that carry nothing (legal up to 10)."""
    n &= (1 << 64) - 1
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    for _ in range(min(pad, 10 - len(out))):
        out[-1] |= 0x80
        out.append(0)
    return bytes(out)


def key(field, wire):
    return varint(field << 3 | wire)


def int_field(field, n):
    return key(field, VARINT) + varint(n)


def bytes_field(field, payload):
    return key(field, BYTES) + varint(len(payload)) + payload


def packed(field, numbers):
    return bytes_field(field, b"".join(map(varint, numbers)))


def gz(data, level=9):
    return gzip.compress(data, level, mtime=0)


def save(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def fields(buf):
    """Yields (field, wire, value) of well-formed data: the reading half."""
    i = 0

    def number():
        nonlocal i
        n = shift = 0
        while True:
            b = buf[i]
            i += 1
            n |= (b & 0x7F) << shift
            shift += 7
            if b < 0x80:
                return n

    while i < len(buf):
        k = number()
        wire = k & 7
        if wire == VARINT:
            yield k >> 3, wire, number()
            continue
        size = {FIXED64: 8, FIXED32: 4}.get(wire)
        if size is None:
            size = number()
        yield k >> 3, wire, buf[i:i + size]
        i += size


def unpacked_file(data):
    """Undoes the gzip or zlib layer, if there is one."""
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:1] == b"\x78" and (data[0] << 8 | data[1]) % 31 == 0:
        return zlib.decompress(data)
    return data


class Style:
    """How one logical profile is put into bytes.  Every choice here is legal,
    so every style must read back as the same profile."""

    def __init__(self, lists="packed", order=None, backwards=False, unknown=False,
                 pad=0, location_id=None, function_id=None, mapping_id=None,
                 first_strings=()):
        same = lambda i: i
        self.lists = lists              # packed, unpacked or split
        self.order = order              # top level field numbers, in the order written
        self.backwards = backwards      # fields inside a message in reverse
        self.unknown = unknown          # unknown fields in every message
        self.pad = pad                  # extra bytes per varint
        self.location_id = location_id or same
        self.function_id = function_id or same
        self.mapping_id = mapping_id or same
        self.first_strings = first_strings


class Encoder:
    """Profiles are dicts:

    types [(type, unit)]            samples [(location ids, values, labels)]
    mappings [(id, start, limit, offset, file, build id, flags)]
    locations [(id, mapping id, address, [(function id, line)])]
    functions [(id, name, system name, file, start line)]
    and comments, period_type, period, time, duration, default, drop, keep.
    A label is (key, text) or (key, number, unit); texts are str or bytes.
    """

    def __init__(self, style):
        self.style = style
        self.strings = {b"": 0}
        for s in style.first_strings:
            self.sid(s)

    def sid(self, s):
        raw = s if isinstance(s, bytes) else s.encode()
        return self.strings.setdefault(raw, len(self.strings))

    def num(self, field, n):
        """Proto3 leaves out zeros, and so do the writers seen in the field."""
        if not n:
            return b""
        pad = self.style.pad
        return varint(field << 3, pad and 1) + varint(n, pad)

    def text(self, field, s):
        return self.num(field, self.sid(s))

    def blob(self, field, payload):
        pad = self.style.pad
        return varint(field << 3 | BYTES, pad and 1) + varint(len(payload), pad) + payload

    def ints(self, field, numbers):
        """A repeated integer field as a list of pieces."""
        pad = self.style.pad
        one = lambda n: key(field, VARINT) + varint(n, pad)
        run = lambda ns: self.blob(field, b"".join(varint(n, pad) for n in ns))
        if self.style.lists == "unpacked":
            return [one(n) for n in numbers]
        if self.style.lists == "split" and len(numbers) > 1:
            # One run, one lone number, an empty run, then the rest.
            cut = max(1, len(numbers) // 2)
            rest = numbers[cut + 1:]
            return [run(numbers[:cut]), one(numbers[cut]), run([])] + ([run(rest)] if rest else [])
        return [run(numbers)] if numbers else []

    def message(self, groups):
        """Groups are fields; a group's own pieces must keep their order."""
        groups = [g if isinstance(g, list) else [g] for g in groups]
        if self.style.backwards:
            groups.reverse()
        body = [b"".join(g) for g in groups]
        if self.style.unknown:
            body.insert(0, int_field(100, 7) + key(101, FIXED64) + b"\xff" * 8)
            body.insert(len(body) // 2 + 1, bytes_field(1000, b"\x08\x01 not ours"))
            body.append(key(102, FIXED32) + b"\x00\x01\x02\x03" + bytes_field(103, b""))
        return b"".join(body)

    def label(self, label):
        if len(label) == 2:
            return self.message([self.text(1, label[0]), self.text(2, label[1])])
        return self.message([self.text(1, label[0]), self.num(3, label[1]), self.text(4, label[2])])

    def top_level(self, p):
        s = self.style
        pair = lambda t: self.message([self.text(1, t[0]), self.text(2, t[1])])
        out = {}
        out[SAMPLE_TYPE] = [self.blob(1, pair(t)) for t in p["types"]]
        out[SAMPLE] = [self.blob(2, self.message([
            self.ints(1, [s.location_id(i) for i in locs]),
            self.ints(2, list(values)),
            [self.blob(3, self.label(l)) for l in labels]])) for locs, values, labels in p["samples"]]
        out[MAPPING] = [self.blob(3, self.message([
            self.num(1, s.mapping_id(i)), self.num(2, start), self.num(3, limit), self.num(4, offset),
            self.text(5, file), self.text(6, build)] +
            [self.num(7 + k, int(flag)) for k, flag in enumerate(flags)]))
            for i, start, limit, offset, file, build, flags in p.get("mappings", ())]
        out[LOCATION] = [self.blob(4, self.message([
            self.num(1, s.location_id(i)), self.num(2, m and s.mapping_id(m)), self.num(3, address),
            [self.blob(4, self.message([self.num(1, s.function_id(f)), self.num(2, line)]))
             for f, line in lines]])) for i, m, address, lines in p.get("locations", ())]
        out[FUNCTION] = [self.blob(5, self.message([
            self.num(1, s.function_id(i)), self.text(2, name), self.text(3, system),
            self.text(4, file), self.num(5, start)]))
            for i, name, system, file, start in p.get("functions", ())]
        for field, name in ((DROP, "drop"), (KEEP, "keep"), (DEFAULT, "default")):
            out[field] = [self.text(field, p.get(name, ""))]
        for field, name in ((TIME, "time"), (DURATION, "duration"), (PERIOD, "period")):
            out[field] = [self.num(field, p.get(name, 0))]
        out[PERIOD_TYPE] = [self.blob(11, pair(p["period_type"]))] if "period_type" in p else []
        out[COMMENT] = self.ints(COMMENT, [self.sid(c) for c in p.get("comments", ())])
        out[STRINGS] = [self.blob(6, t) for t in self.strings]
        return out

    def encode(self, p):
        groups = self.top_level(p)
        order = self.style.order or sorted(groups)
        assert sorted(order) == sorted(groups), "an order names every field once"
        body = b"".join(b"".join(groups[f]) for f in order)
        if self.style.unknown:
            extra = self.message([])
            body = extra + body + extra
        return body


def encode(profile, style=None):
    return Encoder(style or Style()).encode(profile)
