"""What can go wrong."""
import errno
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


def _errno_of(code: str, message: str) -> Optional[int]:
    """What the operating system refused: the end of such a message is in its own words."""
    if message == "is a folder, not a file":
        return errno.EISDIR
    # A folder of ranks calls whatever it cannot read malformed.
    said = message if code in ("io", "output") or message.startswith("cannot be opened: ") else ""
    return next((number for number in errno.errorcode if said.endswith(f": {os.strerror(number)}")), None)


def of(error: Dict[str, Any]) -> Exception:
    """What to raise: FileNotFoundError and its like for what the operating system refused, else an Error."""
    text, file = error.pop("text"), os.fsdecode(error["input"])
    number = _errno_of(error["code"], error["message"])
    if number is not None:
        return OSError(number, os.strerror(number), file or None)
    kind = UsageError if error["code"] == "usage" else InputError
    return kind(text, **{**error, "input": file})
