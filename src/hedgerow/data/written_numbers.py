"""Numbers as programs write them for people: which mark is the decimal one, and what they say.

    12   1e5                 say nothing of marks
    0.5  1234.5  1,234.5     only '.' can be the decimal mark
    0,5  1.234,5  1.234.567  only ',' can
    1.234   1,234            either; never guessed

A program writes all columns of a file alike, so one value that only one mark allows decides for the
whole file; two that contradict each other are named, with their rows. Where nothing decides, plain
CSV (commas between columns) has decimal points, and every other file is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow._frames import require_pandas
from hedgerow.data.table_format import MARKS
from hedgerow.describe.text import quoted

if TYPE_CHECKING:
    import pandas as pd

MOST = 0.5
"""Share of a column's values that tells what the column holds."""
FEW = 0.1
"""Share of values that may be something else in a column of numbers: they are named, not read."""
_SPACES = "\u00a0\u202f\u2009"
_EXPONENT = "(?:[eE][+-]?[0-9]+)?"


def _pattern(decimal: str) -> str:
    """Numbers with this decimal mark, with or without one kind of mark between thousands."""
    other = MARKS[1 - MARKS.index(decimal)]
    grouped = "|".join(rf"[1-9][0-9]{{0,2}}(?:{re.escape(g)}[0-9]{{3}})+" for g in (other, *"'’ "))
    mark = re.escape(decimal)
    return rf"(?:[+-]?(?:(?:[0-9]+|{grouped})(?:{mark}[0-9]*)?|{mark}[0-9]+){_EXPONENT})"


PATTERNS = {mark: _pattern(mark) for mark in MARKS}
PLAIN = rf"(?:[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+){_EXPONENT})"
UNMARKED = rf"(?:[+-]?[0-9]+{_EXPONENT})"
EITHER = r"(?:[+-]?[1-9][0-9]{0,2}[.,][0-9]{3})"
"""What is a number with either mark, and not the same one."""
LOGICAL = {"true": True, "false": False}


@dataclass(frozen=True)
class WrittenNumbers:
    """The texts of one column that may hold numbers, gaps left out.

    Attributes
    ----------
    rows : rows of the texts, from 1
    fits : by decimal mark, which texts are numbers with it
    """

    name: str
    texts: Any
    rows: np.ndarray
    fits: Mapping[str, np.ndarray]

    @classmethod
    def of(cls, column: Any) -> WrittenNumbers | None:
        """Look at a column of texts; None if most of them are no numbers at all."""
        present = np.asarray(column.notna())
        texts = column[present]
        if not len(texts):
            return None
        texts = texts.str.strip()
        fits = {mark: _fits(texts, pattern) for mark, pattern in PATTERNS.items()}
        if not (fits["."] | fits[","]).all():
            texts = texts.str.replace(f"[{_SPACES}]", " ", regex=True)
            texts = texts.str.replace("−", "-", regex=False).str.strip()
            fits = {mark: _fits(texts, pattern) for mark, pattern in PATTERNS.items()}
        if (fits["."] | fits[","]).mean() <= MOST:
            return None
        return cls(str(column.name), texts, np.flatnonzero(present) + 1, fits)

    def only(self, mark: str) -> np.ndarray:
        """Texts that are numbers with this decimal mark and not with the other."""
        return self.fits[mark] & ~self.fits[MARKS[1 - MARKS.index(mark)]]

    @property
    def formatted(self) -> bool:
        """Whether some number is written otherwise than computers do: 10,5 or 1'000."""
        return bool(((self.fits["."] | self.fits[","]) & ~_fits(self.texts, PLAIN)).any())

    @property
    def marked(self) -> bool:
        """Whether some number has a mark at all."""
        return bool((~_fits(self.texts, UNMARKED)).any())

    @property
    def either(self) -> np.ndarray:
        """Texts that are two different numbers."""
        return _fits(self.texts, EITHER)

    def shown(self, which: np.ndarray) -> str:
        """The first of some texts, with its row."""
        place = int(np.argmax(which))
        return f"{quoted(self.texts.iloc[place])} in row {self.rows[place]:,}"


def decimal_of(
    columns: list[WrittenNumbers], asked: str | None, remembered: str | None, plain: bool
) -> str | None:
    """Return the decimal mark of a file, None if it shows none, or say what is not clear.

    ``plain`` files have commas between columns, and points in numbers unless they say otherwise.
    """
    for column in columns:
        if asked is not None and column.only(MARKS[1 - MARKS.index(asked)]).any():
            odd = column.shown(column.only(MARKS[1 - MARKS.index(asked)]))
            raise ValueError(
                f"Column {column.name!r} holds {odd}, which is no number with {asked!r} as decimal "
                "mark; write it like the others, or ask for the other decimal mark."
            )
    if asked is not None:
        return asked
    first = {
        mark: next((each for each in columns if each.only(mark).any()), None) for mark in MARKS
    }
    point, comma = (first[mark] for mark in MARKS)
    if point is not None and comma is not None:
        both = next((c for c in columns if c.only(".").any() and c.only(",").any()), None)
        point, comma = both or point, both or comma
        raise ValueError(
            f"Column {comma.name!r} holds {comma.shown(comma.only(','))}, with a decimal comma, "
            f"and column {point.name!r} holds {point.shown(point.only('.'))}, with a point; "
            "write all numbers of the file alike."
        )
    if point is not None or comma is not None:
        return "." if point is not None else ","
    doubtful = [column for column in columns if column.either.any()]
    if not doubtful:
        return None
    if remembered is not None:
        return remembered
    if plain and not any(column.texts.str.contains(",", regex=False).any() for column in doubtful):
        return "."
    column = doubtful[0]
    text = column.texts.iloc[int(np.argmax(column.either))]
    large, small = re.sub("[.,]", "", text), text.replace(",", ".")
    raise ValueError(
        f"Column {column.name!r} holds {column.shown(column.either)}, which is {large} or {small}, "
        "and no other number of the file tells; say which with decimal='.' or decimal=','."
    )


def thousands_of(columns: list[WrittenNumbers], decimal: str | None) -> str | None:
    """Return what stands between thousands, if the file shows it."""
    other = "," if decimal == "." else "."
    for column in columns:
        texts = column.texts[column.fits[decimal or "."]]
        for sign in (other, *"'’ "):
            if texts.str.contains(sign, regex=False).any():
                return sign
    return None


def numbers_in(column: Any, written: WrittenNumbers, decimal: str | None, *, asked: bool) -> Any:
    """Return a column with its numbers read; one that is not all numbers stays as it is."""
    mark = decimal or "."
    fits = written.fits[mark]
    if not fits.all() and 1 - fits.mean() > FEW:
        return column
    texts = written.texts[fits]
    grouped = _fits(texts, EITHER) & ~np.asarray(texts.str.contains(mark, regex=False))
    broken = np.asarray(texts.str.contains(mark, regex=False))
    if grouped.any() and broken.any() and not asked:
        place = int(np.argmax(grouped))
        row = written.rows[fits][place]
        raise ValueError(
            f"Column {written.name!r} holds {quoted(texts.iloc[place])} in row {row:,}, which is "
            f"{re.sub('[.,]', '', texts.iloc[place])} with {mark!r} as decimal mark, but other "
            f"values such as {quoted(texts.iloc[int(np.argmax(broken))])} have decimals: a slip? "
            f"Correct it, or say decimal={mark!r} if it is meant."
        )
    signs = "[,'’ ]" if mark == "." else "[.'’ ]"
    plain = texts.str.replace(signs, "", regex=True)
    if mark == ",":
        plain = plain.str.replace(",", ".", regex=False)
    pandas = require_pandas()
    found = pandas.to_numeric(plain)
    if fits.all() and len(found) == len(column):
        return found
    if fits.all():
        return found.astype(np.float64).reindex(column.index)
    mixed = column.astype(object).copy()
    mixed[texts.index] = plain.astype(object)
    return mixed


def logical_in(column: Any) -> Any:
    """Return a column of true and false as such, if it holds nothing else."""
    if column.isna().any():
        return None
    different = column.unique()
    if len(different) > len(LOGICAL) * 3 or not {str(v).lower() for v in different} <= set(LOGICAL):
        return None
    return column.map({value: LOGICAL[str(value).lower()] for value in different}).astype(bool)


def _fits(texts: pd.Series, pattern: str) -> np.ndarray:
    return np.asarray(texts.str.fullmatch(pattern), dtype=bool)
