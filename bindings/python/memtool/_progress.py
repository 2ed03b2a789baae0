"""How far reading has come, shown to people."""
import contextlib
import os
import sys
from typing import Callable, Iterator, Optional, Union

from ._shown import shown

# Called with the bytes read and the bytes that there are; None where only reading tells.
Report = Callable[[int, Optional[int]], object]


class _Line:
    """One line on stderr; nothing where that is no terminal."""

    def __init__(self, name: str):
        self._name = name
        self._written = False

    def report(self, read: int, total: Optional[int]) -> None:
        if sys.stderr.isatty():
            part = f"{100 * read // max(total, 1)} %" if total is not None else f"{read:,} bytes"
            sys.stderr.write(f"\r{self._name}: {part}")
            sys.stderr.flush()
            self._written = True

    def close(self) -> None:
        if self._written:
            sys.stderr.write("\n")


class _Bar:
    """tqdm's, which notebooks draw as they like."""

    def __init__(self, tqdm: Callable, name: str):
        self._bar = tqdm(desc=name, unit="B", unit_scale=True, unit_divisor=1024)

    def report(self, read: int, total: Optional[int]) -> None:
        self._bar.total = total
        self._bar.update(read - self._bar.n)

    def close(self) -> None:
        self._bar.close()


@contextlib.contextmanager
def reporting(progress: Union[bool, Report], path: str) -> Iterator[Optional[Report]]:
    """What to call while `path` is read, if anything."""
    if progress is not True:
        if progress and not callable(progress):
            raise TypeError("load: progress is True, False or a function of bytes read and total")
        yield progress or None
        return
    name = shown(os.path.basename(path), 40)
    try:
        from tqdm.auto import tqdm
        display = _Bar(tqdm, name)
    except ImportError:
        display = _Line(name)
    with contextlib.closing(display):
        yield display.report
