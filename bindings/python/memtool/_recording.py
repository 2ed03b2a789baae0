"""Inputs, and the questions that can be asked of them."""
import atexit
import difflib
import os
import warnings
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from . import _core, _errors
from ._answer import Answer

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

_VOCABULARY = _core.vocabulary()
# Work that Ctrl-C left alone must not outlive what it uses.
atexit.register(_core.stop)
# Commands of which a failure is the subject, or all of the file: what `load` was given is not for them.
_WITHOUT_MOMENT = ("oom", "account")


def _option(command: str, keyword: str) -> str:
    """The option that a keyword stands for: tag_focus is tag-focus, n is limit."""
    options = _VOCABULARY[command][1]
    name = keyword.rstrip("_").replace("_", "-")
    for option, (_, _, letter, _) in options.items():
        if name in (option, letter):
            return option
    near = difflib.get_close_matches(name, options, 1)
    hint = f"; did you mean {near[0].replace('-', '_')}?" if near else ""
    raise TypeError(f"{command}: there is no option {keyword}{hint}")


def _words_of(command: str, options: Dict[str, Any]) -> List[bytes]:
    """The options of a command line."""
    words: List[bytes] = []
    for keyword, value in options.items():
        option = _option(command, keyword)
        value_name, _, _, several = _VOCABULARY[command][1][option]
        if value is None or value is False:
            continue
        if not value_name:
            if value is not True:
                raise TypeError(f"{command}: {keyword} is True or False")
            words.append(f"--{option}".encode())
            continue
        if value is True:
            raise TypeError(f"{command}: {keyword} needs a value")
        if option == "columns" and not isinstance(value, (str, bytes)):
            value = ",".join(value)
        values = value if several and isinstance(value, (list, tuple)) else [value]
        for one in values:
            text = os.fsencode(one) if isinstance(one, (str, bytes, os.PathLike)) else str(one).encode()
            words.append(f"--{option}=".encode() + text)
    return words


def _run(words: Sequence[bytes], inputs: Sequence[Tuple[bytes, "_core.Input"]],
         as_columns: bool) -> "_core.Outcome":
    outcome = _core.run(list(words), list(inputs), as_columns)
    if outcome.error is not None:
        raise _errors.of(outcome.error)
    if outcome.code > 1 and outcome.code != 4:  # a threshold; damage under strict
        raise _errors.Error(outcome.err.strip() or f"exit code {outcome.code}")
    for line in outcome.err.splitlines():
        warnings.warn(line[len("memtool: "):] if line.startswith("memtool: ") else line,
                      _errors.MemtoolWarning, stacklevel=4)
    return outcome


def _ask(command: str, names: Sequence[bytes], inputs: Sequence[Tuple[bytes, "_core.Input"]],
         options: Dict[str, Any]) -> Union[Answer, str]:
    if command not in _VOCABULARY:
        near = difflib.get_close_matches(command, _VOCABULARY, 1)
        raise _errors.UsageError(f"there is no command '{command}'" +
                                 (f"; did you mean {near[0]}?" if near else ""))
    known = _VOCABULARY[command][1]
    given = {_option(command, keyword): value for keyword, value in options.items()}
    text = given.get("format")
    if "format" in known and text is None and given.get("output") is None:
        given["format"] = "csv" if given.get("columns") is not None else "json"
    if "limit" in known and known["limit"][0] == "N" and text is None:
        given.setdefault("limit", 0)

    def line(**changed: Any) -> List[bytes]:
        all_given = {**given, **{_option(command, key): value for key, value in changed.items()
                                 if _option_or_none(command, key)}}
        return [command.encode(), *_words_of(command, all_given), b"--", *names]

    outcome = _run(line(), inputs, text is None)
    if outcome.table is None:
        return outcome.out

    def again(**changed: Any) -> str:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", _errors.MemtoolWarning)
            words = line(**changed)
            return _core.run(words, list(inputs), False).out

    return Answer(outcome.table, outcome.code, again, int(given.get("limit") or 0))


def _option_or_none(command: str, keyword: str) -> Optional[str]:
    try:
        return _option(command, keyword)
    except TypeError:
        return None


class Recording:
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

    def ask(self, command: str, **options: Any) -> Union[Answer, str]:
        """Any command about this file: text where the command has no rows (raw, convert)."""
        return _ask(command, [os.fsencode(self.path)], [(os.fsencode(self.path), self._read)],
                    self._with_own(command, options))

    def _with_own(self, command: str, options: Dict[str, Any]) -> Dict[str, Any]:
        own = {key: value for key, value in self._options.items()
               if _option_or_none(command, key) and not (key == "at" and command in _WITHOUT_MOMENT)}
        return {**own, **options}

    def top(self, by: Optional[str] = None, *, n: int = 0, cum: bool = False,
            **options: Any) -> Answer:
        """What holds the memory: rows by function, largest first.

        by: function, filefunction (default), line, file, module, stack, tag, size, label:KEY, bucket
        n:  how many rows, 0 = all

        Columns: flat and cum (bytes), name, file, line, via (the call into the framework); at a peak
        also peak_without: how high the run's peak would be without the row.
        """
        return self.ask("top", by=by, n=n, cum=cum, **options)

    def diff(self, base: "Recording", by: Optional[str] = None, *, n: int = 0,
             **options: Any) -> Answer:
        """What grew since `base`: base, new and delta (bytes) by row, largest growth first."""
        name, other = os.fsencode(self.path), os.fsencode(base.path)
        if name == other and base._read is not self._read:
            other += b" (base)"
        own = self._with_own("diff", {"by": by, "n": n, **options})
        if not options.get("align"):
            if base.moment or self.moment:
                own.setdefault("base_at", base.moment or "oom-or-peak")
        else:
            own.pop("at", None)
        return _ask("diff", [other, name], [(other, base._read), (name, self._read)], own)

    def buckets(self, keywords: Optional[Path] = None, *, expected_sum: Union[str, int, None] = None,
                **options: Any) -> Answer:
        """Bytes by category, with Others and, where a sum is expected, Untrackable.

        keywords:     a YAML file of categories and their words; built-in ones by default
        expected_sum: what the device reports: bytes, "11GB" or "@smi.csv"
        """
        return self.ask("buckets", keywords=keywords, expected_sum=expected_sum, **options)

    def timeline(self, by: Optional[str] = None, *, points: int = 0, **options: Any) -> Answer:
        """Live and reserved bytes over the history.

        by:     what to split live bytes into: function, line, file, bucket; one column each, named in
                inputs[0]["layers"]
        points: so many equal parts, the highest of each; 0 = every change

        Columns: event, time_us, device, allocated, reserved, and the layers; one row per point.
        """
        return self.ask("timeline", by=by, points=points, **options)

    def events(self, *, columns: Optional[Iterable[str]] = None, n: int = 0,
               **options: Any) -> Answer:
        """The events of the history one by one: allocations, frees, segments, failures.

        columns: only these, which takes less memory
        n:       how many, 0 = all

        address and stream are numbers (uint64). PyTorch's viewer calls a block by its address and its
        version: f"b{address:x}_{version}", and a segment s…; `id="b7f00_0"` asks for one.
        """
        return self.ask("events", columns=columns, n=n, **options)

    def segments(self, *, n: int = 0, **options: Any) -> Answer:
        """The allocator's segments: size, free, largest_free (bytes) and what holds each."""
        return self.ask("segments", n=n, **options)

    def oom(self, **options: Any) -> Answer:
        """Why memory ran out: the parts of the capacity as rows; the verdict is in `figures`. At the last
        failure; `at` asks about another moment."""
        return self.ask("oom", **options)

    def info(self, **options: Any) -> Answer:
        """What kind of file it is, and what it holds."""
        return self.ask("info", **options)

    def steps(self, **options: Any) -> Answer:
        """The steps of a training run: where each begins and ends, and its peak (bytes)."""
        return self.ask("steps", **options)

    def leaks(self, **options: Any) -> Answer:
        """What keeps growing over the steps of the history."""
        return self.ask("leaks", **options)

    def tags(self, **options: Any) -> Answer:
        """Bytes by label: device, kind, stream."""
        return self.ask("tags", **options)

    def traces(self, *, n: int = 0, **options: Any) -> Answer:
        """Whole stacks with what they hold."""
        return self.ask("traces", n=n, **options)

    def flame(self, **options: Any) -> Answer:
        """The frames of a flame graph. As a picture: ask("flame", format="svg")."""
        return self.ask("flame", **options)

    def __repr__(self) -> str:
        at = f", at {self.moment}" if self.moment else ""
        return f"<memtool.Recording {self.path}: {self.format}{at}>"


def load(path: Path, at: Optional[str] = None, **options: Any) -> Recording:
    """Reads a file: a profile, a snapshot, a log or a trace; which, its content says.

    at:      the moment that questions are about: "peak", "start", "end", "oom", "event:1000" or a
             time; the commands' own defaults otherwise. Inputs without a history have one moment.
    options: for every question that has them, such as device=0, frames="all", focus="train"

    Raises InputError, with the place, for what cannot be read. Other threads run meanwhile.
    """
    read, outcome = _core.load(os.fsencode(path), None if at is None else str(at).encode(), None)
    if outcome.error is not None:
        raise _errors.of(outcome.error)
    for keyword in options:
        if not any(_option_or_none(command, keyword) for command in _VOCABULARY):
            raise TypeError(f"load: no command has an option {keyword}")
    return Recording(path, read, {**({"at": at} if at is not None else {}), **options})


def ask(command: str, *inputs: Union[Path, Recording], **options: Any) -> Union[Answer, str]:
    """Any command about any number of inputs, files or recordings: ask("ranks", "job/").

    An Answer, or text where the command has no rows.
    """
    names = [os.fsencode(one.path if isinstance(one, Recording) else one) for one in inputs]
    read = [(name, one._read) for name, one in zip(names, inputs) if isinstance(one, Recording)]
    moments = {one.moment for one in inputs if isinstance(one, Recording)} - {None}
    if len(moments) == 1 and _option_or_none(command, "at") and command not in _WITHOUT_MOMENT:
        options = {"at": moments.pop(), **options}
    return _ask(command, names, read, options)
