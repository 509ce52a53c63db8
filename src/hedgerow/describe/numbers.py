"""Numbers for people: the digits that matter, a real minus sign, commas in thousands.

    number(1234.5)  1,234        number(-0.5)  −0.5        number(0.5, 3, like=12)  0.5
    percent(0.034)  3.4 %        percent(0.5)  50 %        percent(1e-6)  < 0.1 %

The page's script writes numbers in the same way (``report/page/numbers.js``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from hedgerow.describe.text import shown

SPACE = "\u00a0"
"""Before a percent sign: a space that does not break."""
TINY, HUGE = 1e-6, 1e9
"""Sizes beyond which powers of ten are written."""
SHORT = 20
"""Letters of a last name that is as short as saying that there is one more."""


def number(
    value: float, digits: int = 4, *, like: float | None = None, signed: bool = False
) -> str:
    """A number in so many significant digits, without the zeros at its end.

    With ``like`` it has as many decimals as that number has with these digits, zeros included, so
    that numbers beside each other can be compared. ``signed`` writes a plus, too.
    """
    if not math.isfinite(value):
        return "–" if math.isnan(value) else "∞" if value > 0 else "−∞"
    size = abs(value if like is None else like)
    if size and not TINY <= size < HUGE:
        text = f"{abs(value):.{digits - 1}e}"
    else:
        places = max(digits - 1 - math.floor(math.log10(size)), 0) if size else 0
        text = f"{abs(value):,.{places}f}"
        if places and like is None:
            text = text.rstrip("0").rstrip(".")
    return _sign(value, text, signed) + text


def percent(share: float, *, signed: bool = False) -> str:
    """A share in percent, with a decimal below ten and near a hundred; 0 and 100 only if it is."""
    if not math.isfinite(share):
        return "–"
    size = abs(share)
    if 0 < size < 0.0005:
        return f"<{SPACE}0.1{SPACE}%"
    if 0.9995 <= size < 1:
        return f">{SPACE}99.9{SPACE}%"
    close = size < 0.0995 or 0.9 < size < 1
    text = f"{100 * size:,.1f}".removesuffix(".0") if close else f"{100 * size:,.0f}"
    return f"{_sign(share, text, signed)}{text}{SPACE}%"


def spanned(values: Any, digits: int = 4) -> str:
    """One number, or the least and the largest of several: "1 to 3"."""
    import numpy as np  # what `hedgerow --help` need not wait for

    array = np.asarray(values, dtype=float)
    return " to ".join(number(end, digits) for end in sorted({array.min(), array.max()}))


def counted(count: int, noun: str) -> str:
    """So many of something: "1 row", "1,200 rows"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(names: Iterable[Any], most: int = 12, room: int = 150) -> str:
    """A list of names, the first few of many: at most so many, and about so many letters."""
    names = [shown(name) for name in names]
    first = min(len(names), 1)
    while first < min(len(names), most) and sum(map(len, names[: first + 1])) <= room:
        first += 1
    if first == len(names) - 1 and len(names[-1]) <= SHORT:
        first += 1  # "and 1 more" would take as long
    rest = len(names) - first
    return ", ".join(names[:first]) + (f" and {rest} more" if rest else "")


def _sign(value: float, text: str, signed: bool) -> str:
    """The sign of a number that was written as ``text``; what rounds to nothing has none."""
    if not text.strip("0.,"):
        return ""
    return "−" if value < 0 else "+" if signed else ""
