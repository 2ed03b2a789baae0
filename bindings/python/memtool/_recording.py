"""Inputs, and the questions that can be asked of them."""
import atexit
import difflib
import os
import sys
import warnings
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union, cast

from . import _core, _errors, _options, _progress
from ._answer import Answer
from ._questions import Path, Questions
from ._shown import shown

# Commands of which a failure is the subject, or all of the file: what `load` was given is not for them.
_WITHOUT_MOMENT = ("oom", "account", "whatif", "advise")

# Work that Ctrl-C left alone must not outlive what it uses.
atexit.register(_core.stop)


def _takes_moment(command: str, inputs: int) -> bool:
    """Whether a question is about the moment that its recordings are at."""
    if command == "leaks" and inputs == 1:
        return False  # over the whole history
    return command not in _WITHOUT_MOMENT and _options.option_or_none(command, "at") is not None


def _run(words: Sequence[bytes], inputs: Sequence[Tuple[bytes, "_core.Input"]],
         as_columns: bool) -> "_core.Outcome":
    outcome = _core.run(list(words), list(inputs), as_columns)
    if outcome.error is not None:
        raise _errors.of(outcome.error)
    if outcome.code > 1 and outcome.code != 4:  # a threshold; damage under strict
        raise _errors.Error(outcome.err.strip() or f"exit code {outcome.code}")
    return outcome


def _warn(outcome: "_core.Outcome") -> None:
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    for line in outcome.err.splitlines():
        warnings.warn(line[len("memtool: "):] if line.startswith("memtool: ") else line,
                      _errors.MemtoolWarning, stacklevel=level)


def _ask(command: str, names: Sequence[bytes], inputs: Sequence[Tuple[bytes, "_core.Input"]],
         options: Dict[str, Any]) -> Union[Answer, str]:
    if command not in _options.VOCABULARY:
        near = difflib.get_close_matches(command, _options.VOCABULARY, 1)
        raise _errors.UsageError(f"there is no command '{command}'" +
                                 (f"; did you mean {near[0]}?" if near else ""))
    known = _options.VOCABULARY[command][1]
    given = {_options.option_of(command, keyword): value for keyword, value in options.items()}
    text = given.get("format")
    if "format" in known and text is None and given.get("output") is None:
        given["format"] = "csv" if given.get("columns") is not None else "json"
    rows = _options.rows_option(command)
    if rows and text is None:
        given.setdefault(rows, 0)

    def line(**changed: Any) -> List[bytes]:
        all_given = {**given, **{option: value for key, value in changed.items()
                                 if (option := _options.option_or_none(command, key))}}
        return [command.encode(), *_options.words_of(command, all_given), b"--", *names]

    outcome = _run(line(), inputs, text is None)
    _warn(outcome)
    if outcome.table is None:
        return outcome.out

    def again(**changed: Any) -> str:
        return _run(line(**changed), inputs, False).out

    return Answer(outcome.table, outcome.code, again, int((given.get(rows) if rows else None) or 0))


class Recording(Questions):
    """A file that was read: a profile, or the history of an allocator. See `load`.

    path:        as it was given
    format:      what kind of file it is, for people
    moment:      that questions are about, when `load` named one
    has_history: whether it holds events, and so timeline(), events() and moments
    """

    def __init__(self, path: Path, read: "_core.Input", options: Dict[str, Any]):
        self.path = os.fsdecode(path)
        self._read = read
        self._options = options

    @property
    def format(self) -> str:
        return self._read.format

    @property
    def has_history(self) -> bool:
        return self._read.has_history

    @property
    def moment(self) -> Optional[str]:
        return self._options.get("at")

    def at(self, moment: Optional[str]) -> "Recording":
        """The same file at another moment ("peak", "start", "oom", "event:1000"); read once."""
        return Recording(self.path, self._read, {**self._options, "at": moment})

    def ask(self, command: str, *others: Union[Path, "Recording"], **options: Any) -> Union[Answer, str]:
        """Any command about this file, and others with it: text where the command has no rows (raw, convert)
        or where `format` or `output` asks for it."""
        # A regular expression stands before the files.
        inputs = [*others, self] if command == "peek" else [self, *others]
        return _ask(command, *_inputs_of(inputs), self._with_own(command, options, len(inputs)))

    def _answer(self, command: str, *others: Any, **options: Any) -> Answer:
        # Text instead, where an option says so; signatures leave those out.
        return cast(Answer, self.ask(command, *others, **options))

    def _with_own(self, command: str, options: Dict[str, Any], inputs: int = 1) -> Dict[str, Any]:
        own = {key: value for key, value in self._options.items()
               if (_takes_moment(command, inputs) if key == "at" else _options.option_or_none(command, key))}
        return {**own, **options}

    def _compare(self, base: Union[Path, "Recording"], **options: Any) -> Answer:
        base = base if isinstance(base, Recording) else load(base)
        name, other = os.fsencode(self.path), os.fsencode(base.path)
        if name == other and base._read is not self._read:
            other += b" (base)"
        own = self._with_own("diff", options)
        if not options.get("align"):
            if base.moment or self.moment:
                own.setdefault("base_at", base.moment or "oom-or-peak")
        else:
            own.pop("at", None)
        return cast(Answer, _ask("diff", [other, name], [(other, base._read), (name, self._read)], own))

    def __repr__(self) -> str:
        at = f", at {shown(self.moment)}" if self.moment else ""
        return f"<memtool.Recording {shown(self.path, 80)}: {shown(self.format, 80)}{at}>"


def load(path: Path, at: Optional[str] = None, *, progress: Union[bool, "_progress.Report"] = False,
         **options: Any) -> Recording:
    """Reads a file: a profile, a snapshot, a log or a trace; which, its content says.

    at:       the moment that questions are about: "peak", "start", "end", "oom", "event:1000" or a
              time; the commands' own defaults otherwise. Inputs without a history have one moment.
    progress: True shows a bar, tqdm's where that is installed; or a function that is called on this
              thread, some times a second, with the bytes read and the bytes that there are (packed,
              as they lie in the file; None for a pipe). What it raises ends the reading.
    options:  for every question that has them, such as device=0, frames="all", focus="train"

    Raises FileNotFoundError and its like, with errno and filename, for what the system does not open;
    InputError, with the place, for what cannot be read; UsageError for a moment that there cannot be.
    Other threads run meanwhile, and Ctrl-C ends it at once.
    """
    for keyword in options:
        if not any(_options.option_or_none(command, keyword) for command in _options.VOCABULARY):
            raise TypeError(f"load: no command has an option {keyword}")
    name = os.fsencode(path)
    with _progress.reporting(progress, os.fsdecode(name)) as report:
        outcome = _core.load(name, None if at is None else str(at).encode(), report)
    if outcome.error is not None:
        raise _errors.of(outcome.error)
    assert outcome.input is not None
    return Recording(path, outcome.input, {**({"at": at} if at is not None else {}), **options})


def ask(command: str, *inputs: Union[Path, Recording], **options: Any) -> Union[Answer, str]:
    """Any command about any number of inputs, files or recordings: ask("ranks", "job/").

    An Answer, or text where the command has no rows.
    """
    moments = {one.moment for one in inputs if isinstance(one, Recording)} - {None}
    if len(moments) == 1 and command in _options.VOCABULARY and _takes_moment(command, len(inputs)):
        options = {"at": moments.pop(), **options}
    return _ask(command, *_inputs_of(inputs), options)


def _inputs_of(inputs: Sequence[Union[Path, Recording]]) -> Tuple[List[bytes], List[Tuple[bytes, "_core.Input"]]]:
    """-> names for the command line, and what of them was read"""
    names = [os.fsencode(one.path if isinstance(one, Recording) else one) for one in inputs]
    return names, [(name, one._read) for name, one in zip(names, inputs) if isinstance(one, Recording)]
