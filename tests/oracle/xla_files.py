"""What the oracles of XLA's files share: the wire format of protobuf, and where real files are."""
import os
import sys
from pathlib import Path


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """-> (number, value) of a message's fields; what has a length is bytes"""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = {1: 8, 5: 4}[kind]
            value, at = data[at:at + size], at + size
        yield tag >> 3, value


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def of(data, wanted):
    """-> values of the fields of that number"""
    return [value for number, value in fields(data) if number == wanted]


def programs(trace):
    """-> HloProtos of a profiler's trace: the bytes of the statistics of what /host:metadata lists"""
    return [proto for plane in of(trace, 1) if b"/host:metadata" in of(plane, 2) for entry in of(plane, 4)
            for metadata in of(entry, 2) for stat in of(metadata, 5) for proto in of(stat, 6)]


def reference_files(*patterns):
    """Files below the folders in the colon separated MEMTOOL_REFERENCE_DATA; without any: exit 77."""
    folders = [Path(each) for each in os.environ.get("MEMTOOL_REFERENCE_DATA", "").split(":") if each]
    files = [file for folder in folders for pattern in patterns for file in sorted(folder.glob(pattern))]
    if not files:
        print("skipped: MEMTOOL_REFERENCE_DATA names no folder with real files")
        sys.exit(77)
    return files
