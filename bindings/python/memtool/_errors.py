"""What can go wrong."""
import os
from typing import Any, Dict, Optional


class Error(Exception):
    """memtool could not answer; the text says what, where and what to do.

    code:    "malformed", "limit", …: what kind of failure it is
    input:   the file that it is about, "" when none
    offset:  the byte in it, unpacked, where that is known
    message: what is wrong, without the place
    hint:    what to do about it, may be ""
    """

    def __init__(self, text: str, *, code: str = "", input: str = "", offset: Optional[int] = None,
                 message: str = "", hint: str = ""):
        super().__init__(text)
        self.code = code
        self.input = input
        self.offset = offset
        self.message = message or text
        self.hint = hint


class UsageError(Error, ValueError):
    """The question makes no sense: an option, a moment or a device that is not there."""


class InputError(Error, OSError):
    """A file that is damaged, unknown, or over a limit."""

    def __str__(self) -> str:
        return str(self.args[0])


class MemtoolWarning(UserWarning):
    """Something about the answer that should be known, such as damage that was read around."""


def of(error: Dict[str, Any]) -> Exception:
    """What to raise: FileNotFoundError and its like for what the operating system refused, else an Error."""
    text, file, number = error.pop("text"), os.fsdecode(error["input"]), error.pop("system_error")
    if number:
        return OSError(number, os.strerror(number), file or None)
    if error["code"] in ("memory", "internal"):
        return (MemoryError if error["code"] == "memory" else RuntimeError)(text)
    kind = UsageError if error["code"] == "usage" else InputError
    return kind(text, **{**error, "input": file})
