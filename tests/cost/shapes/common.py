"""What shapes are made of: an input in two forms, one that is made to cost more than it weighs and its plain twin."""
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "growth")]
import inputs  # noqa: E402

number, message, varint = inputs.XPLANE.number, inputs.XPLANE.message, inputs.XPLANE.varint
AT, KIB, SECOND = inputs.AT, inputs.KIB, inputs.SECOND
PAGE = 512  # what PyTorch's addresses and sizes are multiples of


@dataclass(frozen=True)
class Shape:
    name: str
    make: Callable
    ending: str
    command: str  # one that shows it
    n: int  # for a short test
    counted: bool  # in instructions


SHAPES = {}


def shape(ending, command, n, counted=True):
    def keep(make):
        name = make.__name__
        SHAPES[name] = Shape(name, make, ending, command, n, counted)
        return make
    return keep


def texts(n, hostile, long):
    """-> n texts of as many bytes as `long` has in all; or the long one, n times"""
    size = long // n
    return ["f" * long] * n if hostile else [f"{i:08d}".ljust(size, "f") for i in range(n)]
