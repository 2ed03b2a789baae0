"""Inputs in pairs: one that is made to cost more than it weighs, and its plain twin of as many bytes or records.

A shape is a function of (n, hostile) that returns an input's bytes; SHAPES says what its files are called and which command
shows it. What is hostile about it stands in its name: keys that collide (keys.py), one long text that many rows share, one
count that is high, records without content. The encoders are those of growth/inputs.py."""
import gzip
from pathlib import Path

from .common import SHAPES
from . import logs, pprof, records, torch, traces  # noqa: F401  each fills SHAPES


def write(one, n, hostile, folder):
    """-> the path of an input, and its size before it was packed"""
    path = Path(folder) / f"{one.name}_{n}_{'hostile' if hostile else 'plain'}{one.ending}"
    data = one.make(n, hostile)
    path.write_bytes(gzip.compress(data, 6) if one.ending.endswith(".gz") else data)
    return path, len(data)
