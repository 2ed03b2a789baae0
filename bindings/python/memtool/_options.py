"""Options of the program as keywords of Python."""
import difflib
import keyword as keywords_of_python
import os
from typing import Any, Dict, List, Optional, Tuple

from . import _core

# Command → (summary, option → (what its value is called, short help, letter, may be repeated)).
VOCABULARY: Dict[str, Tuple[str, Dict[str, Tuple[str, str, str, bool]]]] = _core.vocabulary()

# The letter of the option that says how many rows; Python calls it so.
ROWS = "n"


def rows_option(command: str) -> Optional[str]:
    """The option that says how many rows, where there are some."""
    return next((option for option, (_, _, letter, _) in VOCABULARY[command][1].items() if letter == ROWS), None)


def keyword_of(option: str) -> str:
    """What an option is called in Python: not-own is not_own, from is from_."""
    name = option.replace("-", "_")
    return f"{name}_" if keywords_of_python.iskeyword(name) else name


def option_of(command: str, keyword: str) -> str:
    """The option that a keyword stands for, by its name or its letter."""
    options = VOCABULARY[command][1]
    name = keyword.rstrip("_")
    for option, (_, _, letter, _) in options.items():
        if name in (option.replace("-", "_"), letter):
            return option
    near = difflib.get_close_matches(name.replace("_", "-"), options, 1)
    hint = f"; did you mean {keyword_of(near[0])}?" if near else ""
    raise TypeError(f"{command}: there is no option {keyword}{hint}")


def option_or_none(command: str, keyword: str) -> Optional[str]:
    try:
        return option_of(command, keyword)
    except TypeError:
        return None


def _bytes_of(value: Any) -> bytes:
    return os.fsencode(value) if isinstance(value, (str, bytes, os.PathLike)) else str(value).encode()


def words_of(command: str, options: Dict[str, Any]) -> List[bytes]:
    """The options of a command line, from option_of() and values."""
    words: List[bytes] = []
    for option, value in options.items():
        value_name, _, _, several = VOCABULARY[command][1][option]
        if value is None or value is False:
            continue
        dashed = b"--" + option.encode()
        if not value_name:
            if value is not True:
                raise TypeError(f"{command}: {keyword_of(option)} is True or False")
            words.append(dashed)
            continue
        if value is True:
            raise TypeError(f"{command}: {keyword_of(option)} needs a value")
        values = [value]
        if not isinstance(value, (str, bytes, os.PathLike)) and hasattr(value, "__iter__"):
            values = list(value)
            if option == "columns" or "," in value_name:
                values = [b",".join(map(_bytes_of, values))]
            elif not several:
                raise TypeError(f"{command}: {keyword_of(option)} has one value")
        words += [dashed + b"=" + _bytes_of(one) for one in values]
    return words
