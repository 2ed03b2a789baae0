"""libmemtool_c.so, as its memtool.h declares it."""
import ctypes
import os
import struct
from ctypes import (POINTER, Structure, c_char, c_char_p, c_int, c_int64, c_size_t, c_ubyte, c_uint, c_uint64,
                    c_void_p)
from typing import Any, Optional

FOLDER = os.path.dirname(os.path.abspath(__file__))
library = ctypes.CDLL(os.path.join(FOLDER, "libmemtool_c.so"))


class Text(Structure):
    _fields_ = [("bytes", c_void_p), ("size", c_size_t)]

    def raw(self) -> bytes:
        return ctypes.string_at(self.bytes, self.size) if self.size else b""

    def text(self) -> str:
        return self.raw().decode("utf-8", "replace")


class InputFields(Structure):
    _fields_ = [("format", c_char_p), ("has_history", c_int)]


class ErrorFields(Structure):
    _fields_ = [("code", c_char_p), ("text", Text), ("input", Text), ("message", Text), ("hint", Text),
                ("offset", c_int64), ("system_error", c_int)]


class ColumnFields(Structure):
    _fields_ = [("key", c_char_p), ("title", c_char_p), ("unit", c_char_p), ("type", c_char), ("data", c_void_p),
                ("missing", c_void_p), ("word_count", c_size_t), ("words", c_void_p), ("word_ends", POINTER(c_int64))]


class TableFields(Structure):
    _fields_ = [("question", c_char_p), ("unit", c_char_p), ("sample_type", c_char_p), ("rows", c_size_t),
                ("column_count", c_size_t), ("columns", POINTER(ColumnFields)), ("inputs", Text),
                ("diagnostics", Text), ("figures", Text)]


class OutcomeFields(Structure):
    _fields_ = [("code", c_int), ("out", Text), ("err", Text), ("error", POINTER(ErrorFields)),
                ("table", POINTER(TableFields)), ("input", POINTER(InputFields))]


class NamedInput(Structure):
    _fields_ = [("name", c_char_p), ("input", POINTER(InputFields))]


def _declare(name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(library, f"memtool_{name}")
    function.restype, function.argtypes = result, arguments
    return function


_OUTCOME = POINTER(OutcomeFields)
outcome_free = _declare("outcome_free", None, _OUTCOME)
load = _declare("load", c_void_p, c_char_p, c_char_p)
ask = _declare("ask", c_void_p, POINTER(c_char_p), c_size_t, POINTER(NamedInput), c_size_t, c_int)
wait = _declare("wait", c_int, c_void_p, c_uint)
bytes_read = _declare("bytes_read", c_uint64, c_void_p)
bytes_total = _declare("bytes_total", c_int64, c_void_p)
reads_pipe = _declare("reads_pipe", c_int, c_void_p)
cancel = _declare("cancel", None, c_void_p)
finish = _declare("finish", _OUTCOME, c_void_p)
task_free = _declare("task_free", None, c_void_p)
nested = _declare("nested", _OUTCOME, _OUTCOME, c_size_t)
stream = _declare("stream", c_void_p, _OUTCOME)
version = _declare("version", c_char_p)
vocabulary = _declare("vocabulary", _OUTCOME)
show = _declare("show", _OUTCOME, c_char_p, c_size_t, c_size_t)
main = _declare("main", c_int, c_int, POINTER(c_char_p), c_char_p)


def view(address: int, kind: str, rows: int, owner: object) -> memoryview:
    """Numbers where they are, read-only, which keep `owner`; `kind` is of Python's struct module."""
    size = struct.calcsize(kind)
    if not rows:
        return memoryview(bytes(size)).cast(kind)[:0]
    memory = (c_ubyte * (rows * size)).from_address(address)
    memory.owner = owner  # type: ignore[attr-defined]
    return memoryview(memory).cast("B").cast(kind).toreadonly()


def _capsule_maker() -> Optional[Any]:
    """-> what makes a capsule of a stream's address; None where Python has no such C interface (PyPy)."""
    try:
        new = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", ctypes.pythonapi))
    except AttributeError:
        return None
    name, free = b"arrow_array_stream", ctypes.cast(library.memtool_capsule_free, c_void_p)
    return lambda address: new(address, name, free)


capsule = _capsule_maker()
