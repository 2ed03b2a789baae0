"""Answers: tables as columns."""
import html
import json
from collections.abc import Sequence
from typing import Any, Callable, Dict, Iterator, List, Optional

from . import _core, _library
from ._shown import names, shown, table, value_text

_SHOWN = 20  # rows of a text
_FIRST = 10  # rows of a repr


class Column(Sequence):
    """One column of an answer: a sequence of Python values, and an array for those who compute.

    unit: "bytes", "count", "ordinal", "ratio", "microseconds", "address", "text" or "nested"

    numpy.asarray(column) shares the memory of numbers (int64, int32, uint64, float64, bool) where
    none is missing. Where some are, it is float64 with NaN, as long as that is exact, else objects
    with None; text is objects. `data`, `missing` and `words` are what lies below, without a copy.
    """

    __slots__ = ("_column", "_data", "_missing", "_words", "_objects")

    def __init__(self, column: "_core.Column"):
        self._column = column
        self._data = column.data
        self._missing = column.missing
        self._words: Optional[List[str]] = None
        self._objects: Optional[list] = None

    @property
    def key(self) -> str:
        return self._column.key

    @property
    def title(self) -> str:
        """What the command's table calls it; empty where that has no such column."""
        return self._column.title

    @property
    def unit(self) -> str:
        return self._column.unit

    @property
    def data(self) -> Optional[memoryview]:
        """Shape (rows,), read-only: the numbers, or for text each row's index into `words`, -1 where
        it is missing. None for lists and objects."""
        return self._data

    @property
    def missing(self) -> Optional[memoryview]:
        """Shape (rows,) of bool: which numbers are missing. None where none is, and for text."""
        return self._missing

    @property
    def words(self) -> Optional[List[str]]:
        """For text: each different one, once."""
        if self._words is None:
            self._words = self._column.words()
        return self._words

    def __len__(self) -> int:
        return self._column.rows

    def _values(self) -> list:
        if self._objects is None:
            self._objects = self._column.objects() or []
        return self._objects

    def _at(self, row: int) -> Any:
        if self._data is None:
            return self._values()[row]
        value = self._data[row]
        words = self.words
        if words is not None:
            return None if value < 0 else words[value]
        return None if self._missing is not None and self._missing[row] else value

    def __getitem__(self, row):
        if isinstance(row, slice):
            return [self._at(at) for at in range(*row.indices(len(self)))]
        if not -len(self) <= row < len(self):
            raise IndexError("no such row")
        return self._at(row % len(self))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.to_list())

    def to_list(self) -> list:
        """All values; None where one is missing."""
        if self._data is None:
            return list(self._values())
        values = self._data.tolist()
        words = self.words
        if words is not None:
            return [None if code < 0 else words[code] for code in values]
        if self._missing is not None:
            return [None if gone else value for value, gone in zip(values, self._missing)]
        return values

    def __array__(self, dtype=None, copy=None):
        import numpy
        array = self._array(numpy)
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def _array(self, numpy):
        if self._data is None:
            array = numpy.empty(len(self), dtype=object)
            array[:] = self._values()
            return array
        data = numpy.asarray(self._data)
        if self.words is not None:
            # Position -1 is the last one: what is missing.
            return numpy.array([*self.words, None], dtype=object)[data]
        if self._missing is None:
            return data
        missing = numpy.asarray(self._missing)
        known = data[~missing]
        if data.dtype.kind in "iu" and known.size and numpy.abs(known.astype(float)).max() >= 2**53:
            array = data.astype(object)
            array[missing] = None
        else:
            array = data.astype(float)
            array[missing] = numpy.nan
        return array

    def to_pandas(self):
        """A pandas array on the same memory: Int64 and its like where numbers are missing, a
        categorical for text."""
        import numpy
        import pandas
        if self._data is None:
            return self._array(numpy)
        data = numpy.asarray(self._data)
        if self.words is not None:
            return pandas.Categorical.from_codes(data, categories=pandas.Index(self.words, dtype=object))
        if self._missing is None:
            return data
        missing = numpy.asarray(self._missing)
        arrays = {"i": pandas.arrays.IntegerArray, "u": pandas.arrays.IntegerArray,
                  "b": pandas.arrays.BooleanArray, "f": pandas.arrays.FloatingArray}
        return arrays[data.dtype.kind](data, missing)

    def __repr__(self) -> str:
        first = ", ".join(shown(value_text(value, self.unit)) for value in self[:6])
        rest = ", …" if len(self) > 6 else ""
        return f"<{shown(self.key)}, {self.unit}, {len(self):,} rows: {first}{rest}>"


class Answer(Dict[str, Column]):
    """A table: a dict of columns, in the order of the command's JSON; sizes are bytes, times microseconds.

    As with a DataFrame, answer["size"] is a column, iteration goes over their names, and len(answer) is
    the number of rows. repr() has the first rows, print() the command's own table.

    pandas.DataFrame(answer) and polars.DataFrame(answer) take it; answer.to_pandas() without a copy
    of the columns; so does whatever reads Arrow streams (polars.from_arrow, pyarrow.table, duckdb).

    question:    the command that answered
    unit:        of amounts: "bytes", or what is counted
    sample_type: what was summed up: "space"
    figures:     what is said besides the rows, as in the command's JSON: {"total": …}
    inputs:      the files, their formats and moments
    diagnostics: what was noticed about them
    code:        1 where a threshold was crossed (check, fail_on_growth), else 0
    """

    def __init__(self, table: "_core.Table", code: int, again: Callable[..., str], limit: int = 0):
        super().__init__((column.key, Column(column)) for column in table.columns)
        self._table = table
        self._again = again
        self._limit = limit
        self.code = code
        self.question: str = table.question
        self.unit: str = table.unit
        self.sample_type: str = table.sample_type
        self.figures: Dict[str, Any] = table.figures
        self.inputs: List[Dict[str, Any]] = table.inputs
        self.diagnostics: List[Dict[str, Any]] = table.diagnostics

    @property
    def rows(self) -> int:
        """How many rows each column has."""
        return self._table.rows

    def __len__(self) -> int:
        return self.rows

    def row(self, number: int) -> Dict[str, Any]:
        """One row, by column."""
        return {key: column[number] for key, column in self.items()}

    def to_pandas(self):
        """A DataFrame on the memory of the columns: numbers as they are, Int64 and its like where some are
        missing, text as categories."""
        import pandas
        return pandas.DataFrame({key: column.to_pandas() for key, column in self.items()}, copy=False)

    def json(self) -> Dict[str, Any]:
        """What the command's --format json says."""
        return json.loads(self._again(format="json", n=0))

    def text(self, n: Optional[int] = None) -> str:
        """The table as the command prints it: n rows, 0 = all; else as many as were asked for, but not
        more than 20."""
        n = min(self._limit or _SHOWN, _SHOWN) if n is None else n
        return self._again(format=None, n=n, quiet=True)  # what to ask next is in a shell's words

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        return self._table.stream()

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        size = f"{_counted(self.rows, 'row')}, {_counted(len(list(self)), 'column')}"
        head = f"<memtool.Answer of {self.question}: {size}>"
        if not self.rows:
            return f"{head}\n{names('columns: ', self)}".rstrip()
        lines, fitting = table((key, column.unit, column[:_FIRST]) for key, column in self.items())
        if self.rows > _FIRST:
            lines.append(f"… {self.rows - _FIRST:,} more rows")
        if fitting < len(list(self)):
            lines.append(names("… columns ", list(self)[fitting:]))
        return "\n".join([head, *lines])

    def _repr_html_(self) -> str:
        return ('<pre style="line-height:1.35;overflow-x:auto;white-space:pre">'
                f"{html.escape(self.text())}</pre>")


if _library.capsule is None:
    del Answer.__arrow_c_stream__  # whoever asks for it takes the columns instead


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
