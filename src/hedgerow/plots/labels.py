"""Words that fit: names cut to a width in points, in their middle, and numbers with a real minus.

Features that belong together tend to begin alike ("mean temperature, lag 1", "…, lag 2"), so a name
that is too long loses its middle and keeps both ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from hedgerow.estimator import RobustPolicy
from hedgerow.losses.portfolio import PortfolioLoss

TYPE, SMALL = 9.0, 8.0
"""Points: what stands beside marks, and notes."""
PLAIN: dict[str, Any] = {"parse_math": False}
"""For texts that may hold names, in which a dollar is a dollar."""


@lru_cache(maxsize=4096)
def width_of(text: str, size: float) -> float:
    """Width of a text in points, in the house's type."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    properties = FontProperties(family="sans-serif", size=size)
    return text_to_path.get_text_width_height_descent(text, properties, False)[0]


def fitted(text: str, width: float, size: float) -> str:
    """Cut a text in its middle until it is at most so many points wide."""
    text = " ".join(text.split())
    if width_of(text, size) <= width:
        return text
    for keep in range(len(text) - 1, 1, -1):
        head = (keep + 1) // 2
        short = f"{text[:head].rstrip()}…{text[len(text) - (keep - head) :].lstrip()}"
        if width_of(short, size) <= width:
            return short
    return "…"


def number(
    value: float, digits: int = 3, *, like: float | None = None, signed: bool = False
) -> str:
    """A number in so many significant digits, or in the decimals that ``like`` has with them."""
    size = abs(value if like is None else like)
    if size and not 1e-4 <= size < 1e9:
        text = f"{abs(value):.{digits - 1}e}"
    else:
        places = digits - 1 - math.floor(math.log10(size)) if size else 0
        text = f"{abs(value):,.{max(places, 0)}f}"
    nothing = float(text.replace(",", "")) == 0
    sign = "" if nothing else "−" if value < 0 else "+" if signed else ""
    return sign + text


def percent(share: float) -> str:
    """A share in percent, with a decimal below ten and above ninety; 0 and 100 only if it is."""
    if 0 < share < 0.0005:
        return "< 0.1 %"
    if 0.9995 <= share < 1:
        return "> 99.9 %"
    close = 0 < share < 0.0995 or 0.9 < share < 1
    return f"{100 * share:.1f} %" if close else f"{100 * share:.0f} %"


def decision_names(policy: RobustPolicy, given: Sequence[str] | None = None) -> list[str]:
    """What the decisions are called: as given, by the policy's table, or by their numbers."""
    count = policy.n_decisions_
    if given is not None:
        if len(given) != count:
            raise ValueError(f"There are {count} decisions, but {len(given)} names for them.")
        return [str(name) for name in given]
    outcomes = (getattr(policy, "columns_", None) or {}).get("outcomes")
    if isinstance(policy.loss, PortfolioLoss):
        assets = outcomes or [f"asset {i}" for i in range(1, count)]
        return ["level", *map(str, assets)]
    if outcomes is not None and len(outcomes) == count:
        return [str(name) for name in outcomes]
    return ["decision"] if count == 1 else [f"decision {i}" for i in range(count)]


def correlation_words(correlation: float) -> str:
    """A correlation in three decimals, rounded down, so that 1 means 1."""
    if math.isnan(correlation):
        return "undefined"
    cut = math.floor(1000 * abs(correlation) + 1e-6) / 1000
    return f"{'−' if correlation < 0 else ''}{cut:.3f}"
