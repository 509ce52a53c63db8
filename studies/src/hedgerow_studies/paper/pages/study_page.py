"""A page: figures by the name of their file, and what is written under them, in Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Table = Any
"""A pandas DataFrame. What its methods return depends on values that its stubs cannot know."""
NOTHING = "–"
_FIGURE = re.compile(rf"[−+-]?\d[\d.,]*(e[+-]\d+)?( %)?( ± \d[\d.]*)?|{NOTHING}|")


class Headline(NamedTuple):
    """One number worth knowing of a study, beside the published one; both as they are printed."""

    what: str
    ours: str
    published: str


class Page(NamedTuple):
    """What is told of one study."""

    figures: dict[str, Figure]
    text: str
    headlines: tuple[Headline, ...] = ()


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; columns that hold nothing but figures are set to the right."""
    rows = [list(row) for row in rows]
    figures = [all(_FIGURE.fullmatch(row[i]) for row in rows) for i in range(len(headings))]
    rule = ["---:" if figure else "---" for figure in figures]
    return "".join(_line(cells) for cells in (list(headings), rule, *rows))


def _line(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |\n"


def number(value: float, digits: int = 3, sign: bool = False) -> str:
    """A number with so many decimals and a real minus; a dash for one that is not there."""
    if math.isnan(value):
        return NOTHING
    rounded = round(value, digits) + 0.0  # no minus before zero
    return f"{rounded:{'+' if sign else ''}.{digits}f}".replace("-", "−")


def percent(value: float) -> str:
    """Percent with one decimal; a dash for what is not there."""
    return NOTHING if math.isnan(value) else f"{number(value, 1)} %"
