"""Names and values from inputs as text that may be looked at: no control characters, no end of the line."""
import json
from typing import Any, Iterable, List, Tuple

from . import _core

WIDTH = 100  # cells
CELL = 40
_ENDS = 400  # of a longer text only the two ends can be seen


def _cells(text: str, width: int) -> Tuple[str, int]:
    if len(text) > 2 * _ENDS:
        text = f"{text[:_ENDS]}…{text[-_ENDS:]}"
    return _core.show(text.encode("utf-8", "surrogateescape"), width)


def shown(text: str, width: int = CELL) -> str:
    """Escaped as the program does, and at most `width` cells of it."""
    return _cells(text, width)[0]


def value_text(value: Any, unit: str) -> str:
    if value is None:
        return "-"
    if unit == "address":
        return f"{value:#x}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _block(title: str, unit: str, values: Iterable[Any]) -> Tuple[int, List[str]]:
    """A column as lines of one width: name, unit, values."""
    values = list(values)
    unit_shown = "" if unit in ("text", "nested", "address", "ordinal") else unit
    cells = [_cells(text, CELL) for text in (title, unit_shown, *(value_text(value, unit) for value in values))]
    width = max(wide for _, wide in cells)
    left = unit in ("text", "nested")
    return width, [text + " " * (width - wide) if left else " " * (width - wide) + text for text, wide in cells]


def table(columns: Iterable[Tuple[str, str, List[Any]]]) -> Tuple[List[str], int]:
    """(name, unit, values) of each column → aligned lines, and how many columns are in them."""
    lines: List[str] = []
    used, count = 0, 0
    for name, unit, values in columns:
        width, block = _block(name, unit, values)
        if count and used + 2 + width > WIDTH:
            break
        lines = [f"{line}  {cell}" for line, cell in zip(lines, block)] if count else block
        used, count = used + width + (2 if count else 0), count + 1
    # Where nothing has a unit, the line of units is empty.
    return [line.rstrip() for number, line in enumerate(lines) if number != 1 or line.strip()], count


def names(before: str, columns: Iterable[str]) -> str:
    """The names of columns, as many as fit into a line."""
    line = ""
    for column in columns:
        part = f"{', ' if line else before}{shown(column)}"
        if len(line) + len(part) > WIDTH - 3:
            return f"{line}, …"
        line += part
    return line
