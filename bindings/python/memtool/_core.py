"""Files read, command lines answered: what the other modules know of the program behind them."""
import json
import os
import signal
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from . import _library

_LOOK = 50  # milliseconds, until signals are looked for: at once, to a person
# Reading stops at its next 256 KiB, and so within milliseconds; an answer that is being worked out does not look
# whether it is wanted. Seconds.
_PATIENCE, _PATIENCE_WITH_PIPES = 2.0, 0.1

Report = Callable[[int, Optional[int]], object]


class Outcome:
    """How work ended; it owns what the rest points to."""

    def __init__(self, outcome: Any):
        if not outcome:
            raise MemoryError("memtool")
        self.pointer = outcome
        self._fields = outcome.contents

    def __del__(self, free=_library.outcome_free) -> None:
        free(self.__dict__.get("pointer"))

    @property
    def code(self) -> int:
        return self._fields.code

    @property
    def out(self) -> str:
        return self._fields.out.text()

    @property
    def err(self) -> str:
        return self._fields.err.text()

    @property
    def error(self) -> Optional[Dict[str, Any]]:
        if not self._fields.error:
            return None
        error = self._fields.error.contents
        return {"text": error.text.text(), "code": error.code.decode(), "input": error.input.raw(),
                "offset": None if error.offset < 0 else error.offset, "message": error.message.text(),
                "hint": error.hint.text(), "system_error": error.system_error}

    @property
    def table(self) -> Optional["Table"]:
        return Table(self, self._fields.table.contents) if self._fields.table else None

    @property
    def input(self) -> Optional["Input"]:
        return Input(self, self._fields.input) if self._fields.input else None


class Input:
    """A file that was read, and its replayed history."""

    def __init__(self, outcome: Outcome, pointer: Any):
        self._outcome = outcome
        self.pointer = pointer

    @property
    def format(self) -> str:
        return self.pointer.contents.format.decode()

    @property
    def has_history(self) -> bool:
        return bool(self.pointer.contents.has_history)


class Column:
    """Its numbers stay where they are."""

    def __init__(self, outcome: Outcome, number: int, fields: Any, rows: int):
        self._outcome, self._number, self._fields, self.rows = outcome, number, fields, rows
        self.key: str = fields.key.decode()
        self.title: str = fields.title.decode()
        self.unit: str = fields.unit.decode()
        kind = fields.type
        self.data = None if kind == b"\0" else _library.view(fields.data, kind.decode(), rows, outcome)
        self.missing = _library.view(fields.missing, "?", rows, outcome) if fields.missing else None

    def words(self) -> Optional[List[str]]:
        fields = self._fields
        if not fields.word_ends:
            return None
        ends = fields.word_ends[:fields.word_count + 1]
        words = _library.Text(fields.words, ends[-1]).raw()
        if words.isascii():
            text = words.decode()
            return [text[begin:end] for begin, end in zip(ends, ends[1:])]
        return [words[begin:end].decode() for begin, end in zip(ends, ends[1:])]

    def objects(self) -> Optional[List[Any]]:
        if self.data is not None:
            return None
        return json.loads(Outcome(_library.nested(self._outcome.pointer, self._number)).out)


class Table:
    def __init__(self, outcome: Outcome, fields: Any):
        self._outcome = outcome
        self.question: str = fields.question.decode()
        self.unit: str = fields.unit.decode()
        self.sample_type: str = fields.sample_type.decode()
        self.rows: int = fields.rows
        self.columns = [Column(outcome, number, fields.columns[number], fields.rows)
                        for number in range(fields.column_count)]
        self.inputs: List[Dict[str, Any]] = json.loads(fields.inputs.text())
        self.diagnostics: List[Dict[str, Any]] = json.loads(fields.diagnostics.text())
        self.figures: Dict[str, Any] = json.loads(fields.figures.text())

    def stream(self) -> object:
        """Arrow's capsule."""
        address = _library.stream(self._outcome.pointer)
        if not address:
            raise MemoryError("memtool")
        assert _library.capsule is not None
        return _library.capsule(address)


class _Task:
    """Work on a thread of its own, which a signal leaves alone."""

    running: Set["_Task"] = set()

    def __init__(self, task: Optional[int]):
        if not task:
            raise MemoryError("memtool")
        self.pointer = task
        self.process = os.getpid()  # a fork has the object, and not the thread
        self.left = False
        for other in list(self.running):
            if other.left and _library.wait(other.pointer, 0):
                self.running.discard(other)
        self.running.add(self)

    def __del__(self, free=_library.task_free) -> None:
        free(self.__dict__.get("pointer"))

    def outcome(self, look: Callable[["_Task"], object]) -> Outcome:
        """Waits; meanwhile Python handles signals, and `look` is called. What one of them raises is raised at once, and
        the work goes on alone."""
        done = False
        try:
            while not done:
                done = bool(_library.wait(self.pointer, _LOOK))
                look(self)
            return Outcome(_library.finish(self.pointer))
        finally:
            if done:
                self.running.discard(self)
            else:
                self.left = True
                _library.cancel(self.pointer)


def stop() -> None:
    """When the process ends: gives what goes on alone a moment to stop, before the objects are destroyed that it may be
    using."""
    tasks = [task for task in _Task.running if task.process == os.getpid()]
    for task in tasks:
        _library.cancel(task.pointer)
    for patience, with_pipes in ((_PATIENCE_WITH_PIPES, True), (_PATIENCE, False)):
        until = time.monotonic() + patience
        for task in tasks:
            if with_pipes or not _library.reads_pipe(task.pointer):
                _library.wait(task.pointer, max(0, int(1000 * (until - time.monotonic()))))


def load(path: bytes, moment: Optional[bytes], report: Optional[Report]) -> Outcome:
    if b"\0" in path or b"\0" in (moment or b""):
        raise ValueError("embedded null byte")
    task = _Task(_library.load(path, moment))
    total = _library.bytes_total(task.pointer)
    shown = 0

    def tell(read: int) -> None:
        nonlocal shown
        # What is read with a file, from one beside it, is not in its size.
        read = min(read, total) if total >= 0 else read
        if report is not None and read > shown:
            shown = read
            report(read, None if total < 0 else total)

    outcome = task.outcome(lambda task: tell(_library.bytes_read(task.pointer)))
    if outcome.input is not None:
        tell(total)  # a reader may know enough before the end
    return outcome


def run(words: Sequence[bytes], inputs: Sequence[Tuple[bytes, Input]], as_columns: bool) -> Outcome:
    if any(b"\0" in word for word in words):
        raise ValueError("embedded null byte")
    named = (_library.NamedInput * len(inputs))(*((name, read.pointer) for name, read in inputs))
    line = (_library.c_char_p * len(words))(*words)
    task = _Task(_library.ask(line, len(words), named, len(inputs), int(as_columns)))
    return task.outcome(lambda task: None)


def show(text: bytes, width: int) -> Tuple[str, int]:
    """As a terminal may have it, and how many cells that takes; at most `width`."""
    outcome = Outcome(_library.show(text, len(text), width))
    return outcome.out, outcome.code


def vocabulary() -> Dict[str, Any]:
    return json.loads(Outcome(_library.vocabulary()).out)


def main() -> int:
    """The program itself, with this process's descriptors and signals."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else who started it wants it ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    words = [os.fsencode(word) for word in sys.argv]
    return _library.main(len(words), (_library.c_char_p * (len(words) + 1))(*words), os.fsencode(_library.FOLDER))


__version__ = _library.version().decode()
