"""Each question as a method: what it answers is said here, its options are those of the program's command."""
import inspect
import os
import textwrap
from typing import Any, Callable, Container, List, Optional, Sequence, TypeVar, Union

from . import _options
from ._answer import Answer

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Size = Union[int, str]  # bytes, or "24GiB"

# What an answer as data has no use for: `ask` takes it, and returns text.
_FOR_TEXT = {"ascii", "color", "format", "hyperlinks", "output", "plot", "plot-width", "print-frames", "print-keywords", "print-patterns",
             "quiet", "same-scale", "theme"}
# Inputs are arguments, and were read with `load`.
_NO_KEYWORDS = _FOR_TEXT | {"file", "files-from", "help", "input-format"}

Method = TypeVar("Method", bound=Callable[..., Answer])


def _keywords(command: str, own: Container[str]) -> List[inspect.Parameter]:
    """The options of a command that a method passes on, beside its own parameters."""
    keywords = []
    for option, (value, about, letter, _) in _options.VOCABULARY[command][1].items():
        name = _options.ROWS if letter == _options.ROWS else _options.keyword_of(option)
        default = 0 if name == _options.ROWS else None if value else False
        if about and option not in _NO_KEYWORDS and name not in own:  # without help: an old spelling
            keywords.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default))
    return keywords


def _help(command: str, keyword: str) -> str:
    value, about, _, several = _options.VOCABULARY[command][1][_options.option_of(command, keyword)]
    about = "so many rows, 0 = all" if keyword == _options.ROWS else about
    head = f"{keyword}={value or 'True'}{', or a list of them' if several and keyword != _options.ROWS else ''}"
    return head + "\n" + textwrap.indent(textwrap.fill(about, 92), "    ")


def _question(method: Method) -> Method:
    """Completes signature and help of a method by the options of its command."""
    command = method.__name__
    signature = inspect.signature(method)
    keywords = _keywords(command, signature.parameters)
    named = [one for one in signature.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    method.__signature__ = signature.replace(parameters=[*named, *keywords])  # type: ignore[attr-defined]
    options = "\n".join(_help(command, keyword.name) for keyword in keywords)
    method.__doc__ = f"{inspect.cleandoc(method.__doc__ or '')}\n\nOptions, those of memtool {command}:\n\n{options}\n"
    return method


class Questions:
    """What can be asked. Each method is the command of its name; sizes are bytes, times microseconds."""

    def _answer(self, command: str, *others: Any, **options: Any) -> Answer:
        raise NotImplementedError

    def _compare(self, base: Any, **options: Any) -> Answer:
        raise NotImplementedError

    # --- what holds it ---

    @_question
    def overview(self, **options: Any) -> Answer:
        """What one screen says about the file: print() shows it.

        figures["answers"]: the answers of the questions that were asked for it, by name
        Columns: command, why (what to ask next).
        """
        return self._answer("overview", **options)

    @_question
    def top(self, by: Optional[str] = None, **options: Any) -> Answer:
        """What holds the memory: rows by function, largest first.

        by: function, filefunction (default), line, file, module, stack, tag, size, label:KEY, bucket

        Columns: flat and cum (bytes), name, file, line, via (the call into the framework).

        At a peak also peak_without (bytes): how high the run's peak would be without the row.
        """
        return self._answer("top", by=by, **options)

    @_question
    def buckets(self, keywords: Optional[Path] = None, *, expected_sum: Optional[Size] = None,
                **options: Any) -> Answer:
        """Bytes by category, with Others and, where a sum is expected, Untrackable.

        keywords:     a YAML file of categories and their words; built-in ones by default
        expected_sum: what the device reports: bytes, "11GB" or "@smi.csv"

        Columns: bucket, bytes, count (of allocations), entries (the largest of each).
        """
        return self._answer("buckets", keywords=keywords, expected_sum=expected_sum, **options)

    @_question
    def account(self, *others: Any, capacity: Optional[Size] = None, **options: Any) -> Answer:
        """Where every byte of the card went: a ladder from its capacity down to the rows of the program.

        others:   what else tells something about the same process: smi.csv, memory_stats.json, a .mtcap log
        capacity: of the device: bytes, or "80GiB"

        Columns: device, step, bytes, precision (bytes), kind, source, note.
        """
        return self._answer("account", *others, capacity=capacity, **options)

    @_question
    def tags(self, **options: Any) -> Answer:
        """Bytes by label: device, kind, stream.

        Columns: bytes, count (of allocations), key, value.
        """
        return self._answer("tags", **options)

    @_question
    def tree(self, by: Optional[str] = None, **options: Any) -> Answer:
        """Each function between its callers and callees.

        by: as in top()

        Columns: flat, cum and weight (bytes), relation ("caller", "self", "callee"), node (the row that it
        belongs to), name, file, line.
        """
        return self._answer("tree", by=by, **options)

    @_question
    def peek(self, regex: str, **options: Any) -> Answer:
        """Callers and callees of the functions that match a regular expression; columns as in tree()."""
        return self._answer("peek", regex, **options)

    @_question
    def traces(self, **options: Any) -> Answer:
        """Whole stacks with what they hold, largest first.

        Columns: value (bytes), count (of allocations), labels, stack.
        """
        return self._answer("traces", **options)

    # --- how it looks ---

    @_question
    def flame(self, **options: Any) -> Answer:
        """The frames of a flame graph. As a picture: ask("flame", format="svg").

        Columns: id, parent (an id), depth, name, file, line, bytes (with what it calls), self (bytes).
        """
        return self._answer("flame", **options)

    @_question
    def timeline(self, by: Optional[str] = None, *, points: int = 0, **options: Any) -> Answer:
        """Live and reserved bytes over the history.

        by:     what to split live bytes into: function, line, file, bucket; one column each, named in
                inputs[0]["layers"]
        points: so many equal parts, the highest of each; 0 = every change

        Columns: event, time_us (microseconds), device, allocated and reserved (bytes), and the layers.
        """
        return self._answer("timeline", by=by, points=points, **options)

    # --- what changed ---

    @_question
    def diff(self, base: Any, by: Optional[str] = None, **options: Any) -> Answer:
        """What grew since `base`, a recording at its own moment: largest growth first.

        by: as in top()

        Columns: base, new and delta (bytes), name, file, line, via, status.
        """
        return self._compare(base, by=by, **options)

    @_question
    def steps(self, **options: Any) -> Answer:
        """The steps of a training run, and what repeats inside them (figures["loops"]).

        Columns: step, peak, live_at_end and allocated (bytes), begin, end and peak_event (events), from
        (how the step was found).
        """
        return self._answer("steps", **options)

    @_question
    def events(self, *, columns: Union[str, Sequence[str], None] = None, **options: Any) -> Answer:
        """The events of the history one by one: allocations, frees, segments, failures.

        columns: only these, which takes less memory

        Columns: event, device, action, size and allocated (bytes), time_us and lived_us (microseconds),
        address and stream (uint64), partner (the event that frees or allocated it), name, file, line.

        PyTorch's viewer calls a block f"b{address:x}_{version}", and a segment s…; id="b7f00_0" asks for one.
        """
        return self._answer("events", columns=columns, **options)

    @_question
    def leaks(self, *others: Any, by: Optional[str] = None, **options: Any) -> Answer:
        """What keeps growing: over the steps of the history, or from this file to the others.

        others: later files of the same run, in order
        by:     as in top()

        Columns: slope (bytes a step), first, last and delta (bytes), fit (0 to 1), name, file, line, kind,
        kept (bytes), series (one number for each step).

        figures["verdict"] says it in words.
        """
        return self._answer("leaks", *others, by=by, **options)

    @_question
    def check(self, *others: Any, budget: Optional[Path] = None, baseline: Optional[Path] = None,
              **options: Any) -> Answer:
        """Whether memory is over a budget, or grew since a baseline; the answer's code is 1 if so.

        others:   more files, each checked by itself
        budget:   a YAML file of what may be held
        baseline: a file that write_baseline made

        Columns: ok, what, name, value, limit, over and base (bytes), because.
        """
        return self._answer("check", *others, budget=budget, baseline=baseline, **options)

    # --- why it failed ---

    @_question
    def oom(self, *others: Any, **options: Any) -> Answer:
        """Why memory ran out: the parts of the capacity as rows; the verdict is in `figures`. About the last
        failure; `at` asks about another moment.

        others: what the other ranks left behind

        Columns: kind, name, bytes, share (0 to 1), precision (bytes), file, line.
        """
        return self._answer("oom", *others, **options)

    @_question
    def segments(self, **options: Any) -> Answer:
        """The allocator's segments at a moment, and what fragments them.

        Columns: size, free, largest_free, fragmented, returnable and allocated (bytes), address (uint64),
        holder, stream, pool, live_blocks.
        """
        return self._answer("segments", **options)

    # --- many files ---

    @_question
    def ranks(self, *others: Any, **options: Any) -> Answer:
        """A job's ranks: how much each holds, which differ, who ran out first. A folder is asked about by
        memtool.ask("ranks", "job/").

        others: the files of the other ranks

        Columns: rank, host, step, role, path, peak, end, reserved_peak and headroom (bytes), oom, class,
        outlier (bytes), because.
        """
        return self._answer("ranks", *others, **options)

    # --- would it fit ---

    @_question
    def whatif(self, conf: Union[str, Sequence[str], None] = None, *, card: Optional[Size] = None,
               change: Union[str, Sequence[str], None] = None, **options: Any) -> Answer:
        """What other allocator settings, or another card, would have done. Of the whole run, unless `at` is
        given here.

        conf: settings, as PYTORCH_CUDA_ALLOC_CONF names them; a set of sensible ones by default
        card: "A100-40GB", or its memory in bytes
        change: the program changed: "checkpoint:model.py:68", "accumulate=2 + zero1=8"

        Columns: setting, reserved_peak, live_peak and waste_peak (bytes), retries, oom, fits (bytes).
        """
        return self._answer("whatif", conf=conf, card=card, change=change, **options)

    @_question
    def advise(self, *, card: Optional[Size] = None, headroom: Optional[str] = None,
               **options: Any) -> Answer:
        """Which change of the program makes it fit, each tried by editing the recording.

        card:     "A100-40GB", or its memory in bytes
        headroom: what is to stay free of it: "3%"

        Columns: change, calls, live_peak, reserved_low, reserved_high and saves (bytes), error, evidence, fits,
        function, file, line, cost.

        figures["needs"] is what it needs now and at the next step, figures["sets"] what fits together.
        """
        return self._answer("advise", card=card, headroom=headroom, **options)

    @_question
    def fit(self, *others: Any, x: Union[str, Sequence[str], None] = None,
            at_x: Union[str, int, Sequence[Union[str, int]], None] = None, card: Optional[Size] = None,
            **options: Any) -> Answer:
        """What the program needs at another batch size or sequence length.

        Of a server's log, how long a context fits: rows of tokens, sequences and kv_bytes.

        others: the same program at other sizes; of a log none
        x:      the sizes of all, this one first: "batch=8,16"; of a log none
        at_x:   the size that is asked about, or several
        card:   "A100-40GB", or its memory in bytes: the largest size that fits is figures["largest"]

        Columns: x, live_peak and reserved_peak (bytes), recorded_live and recorded_reserved (bytes), error
        (0 to 1), passes.
        """
        return self._answer("fit", *others, x=x, at_x=at_x, card=card, **options)

    # --- the file ---

    @_question
    def info(self, **options: Any) -> Answer:
        """What kind of file it is, what it holds, and what it cannot know.

        Columns: input, property, value.
        """
        return self._answer("info", **options)
