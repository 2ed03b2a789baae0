"""What held the memory of a GPU or TPU, from the files that jobs leave behind.

    import memtool
    run = memtool.load("snapshot.pickle", at="peak")
    run.top(by="line")                      # its first rows; in a notebook the program's table
    pandas.DataFrame(run.top())             # columns that pandas and Polars take
    run.diff(memtool.load("yesterday.pickle", at="peak"))

Each question is a command of memtool, with that command's options as keywords: `--not-own X` is
`not_own="X"`. Answers have the columns of its `--format json`; sizes are in bytes, times in
microseconds. Files are data: nothing in them is run, a pickle is never unpickled.
"""
import importlib
from typing import TYPE_CHECKING, Any, List

if TYPE_CHECKING:
    from ._answer import Answer, Column
    from ._core import __version__
    from ._errors import Error, InputError, MemtoolWarning, UsageError
    from ._recording import Recording, ask, load

__all__ = ["Answer", "Column", "Error", "InputError", "MemtoolWarning", "Recording", "UsageError",
           "__version__", "ask", "load"]
_PLACES = {"_answer": ("Answer", "Column"), "_core": ("__version__",), "_recording": ("Recording", "ask", "load"),
           "_errors": ("Error", "InputError", "MemtoolWarning", "UsageError")}


def __getattr__(name: str) -> Any:
    """Each is imported when it is first asked for: the command `memtool` starts without."""
    for module, names in _PLACES.items():
        if name in names:
            globals()[name] = getattr(importlib.import_module(f".{module}", __name__), name)
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> List[str]:
    return sorted({*globals(), *__all__})
