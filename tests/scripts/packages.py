"""scripts/packages.txt, for tests."""
import re
from dataclasses import dataclass
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
MANAGERS = ["apt", "dnf", "pacman", "zypper", "apk", "brew"]


@dataclass
class Row:
    cells: dict  # by manager
    words: str   # what to do where a cell is "-"


def table():
    """-> {section: its rows}; the first row names the columns."""
    columns, sections, section = None, {}, None
    for line in (SCRIPTS / "packages.txt").read_text().splitlines():
        cells, words = re.fullmatch(r"([^#]*?)\s*(?:#\s*(.*))?", line).groups()
        if not cells:
            continue
        if columns is None:
            columns = cells.split()
        elif cells[0] == "[":
            section = sections.setdefault(cells.strip("[]"), [])
        else:
            section.append(Row(dict(zip(columns, cells.split())), words or ""))
    return sections
