"""What a text looks like: a date, a time, a number that was formatted for people.

    2015-11-07, 2015-11-07T08:30:00+01:00      an ISO date; clock times must exist, too
    07.11.2015, 11/7/2015                      a date all the same, but which?
    10,5   $10.00   5 %   10,000   (3.50)      a number all the same, but which?

A column of the last two kinds would be taken for names and one-hot encoded without a word, so it is
refused instead, by what most of its values look like: "A,5" or "10 kg" are names.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import numpy as np

from hedgerow.describe.text import quoted

MOST = 0.5
"""Share of a column's values that tells what the column holds."""
ISO_SHAPE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d.*)?", re.ASCII | re.DOTALL)
ISO_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}"
    r"([T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d([.,]\d+)?)?"
    r"( ?(Z|[+-]([01]\d|2[0-3])(:?[0-5]\d(:?[0-5]\d)?)?))?)?",
    re.ASCII,
)
OTHER_DATE = re.compile(
    r"(\d{1,2}([./-])\d{1,2}\2[12]\d{3}|[12]\d{3}([./])\d{1,2}\3\d{1,2}"
    r"|\d{1,2}([./])\d{1,2}\4\d{2})([T ,]+\d.*)?",
    re.ASCII,
)
PLAIN_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
FORMATTED_NUMBER = re.compile(
    r"\d+|\d*[.,]\d+|\d{1,3}(([.,'’ ])\d{3})(\2\d{3})*([.,]\d+)?", re.ASCII
)


def is_iso_date(text: str) -> bool:
    """Whether a text is written like 2015-11-07, with or without a time that a clock can show."""
    return ISO_DATE.fullmatch(text) is not None


def is_formatted_number(text: str) -> bool:
    """Whether a text is a number with a currency, percent, decimal comma or thousands."""
    if PLAIN_NUMBER.fullmatch(text):
        return False
    text = "".join(" " if unicodedata.category(sign) == "Zs" else sign for sign in text)
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    bare = "".join(sign for sign in text if unicodedata.category(sign) != "Sc" and sign not in "%‰")
    bare = bare.strip().removeprefix("−").lstrip("+-").strip()
    return FORMATTED_NUMBER.fullmatch(bare) is not None


def refuse_look_alikes(name: str, texts: list[str]) -> None:
    """Raise one sentence if most of a column's texts are dates or numbers that cannot be read."""
    dates = _found(texts, ISO_SHAPE.fullmatch)
    if dates.mean() > MOST:
        raise ValueError(
            f"Column {name!r} holds dates, but one value is {_odd(texts, dates)}, which is none; "
            "correct it or leave that row out."
        )
    dates = _found(texts, OTHER_DATE.fullmatch)
    if dates.mean() > MOST:
        raise ValueError(
            f"Column {name!r} looks like dates, but one value is {_first(texts, dates)}"
            f"{_beside(texts, dates)}; write dates like 2015-11-07, "
            "as pandas.to_datetime(…, dayfirst=True) makes them of 07.11.2015, or leave the column "
            "out."
        )
    formatted = _found(texts, is_formatted_number)
    numbers = formatted | _found(texts, PLAIN_NUMBER.fullmatch)
    if formatted.any() and numbers.mean() > MOST:
        raise ValueError(
            f"Column {name!r} looks like numbers, but one value is "
            f"{_first(texts, formatted)}; save it as plain numbers such as 10.5 or 10000, "
            "or, if these are names, write them with a letter."
        )


def _found(texts: list[str], looks: Callable[[str], object]) -> np.ndarray:
    known = {text: bool(looks(text)) for text in set(texts)}
    return np.array([known[text] for text in texts], dtype=bool)


def _first(texts: list[str], flags: np.ndarray) -> str:
    """The first of some values, with its row, as sentences have it."""
    row = int(np.argmax(flags))
    return f"{quoted(texts[row])}, in row {row + 1:,}"


def _beside(texts: list[str], dates: np.ndarray) -> str:
    """What is no date at all among dates, if anything is."""
    return "" if dates.all() else f", and another {_first(texts, ~dates)}"


def _odd(texts: list[str], dates: np.ndarray) -> str:
    """The value that keeps a column from being dates: no date, no such time or no such day."""
    wrong = ~dates | ~_found(texts, is_iso_date)
    return _first(texts, wrong if wrong.any() else ~_found(texts, _exists))


def _exists(text: str) -> bool:
    try:
        np.datetime64(text[:10])
    except ValueError:
        return False
    return True
