"""Words that fit: names cut to a width in points, in their middle.

Features that belong together tend to begin alike ("mean temperature, lag 1", "…, lag 2"), so a name
that is too long loses its middle and keeps both ends.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from hedgerow.describe.text import shown

TYPE, SMALL = 9.0, 8.0
"""Points: what stands beside marks, and notes."""
LEVEL: dict[str, Any] = {"va": "center_baseline", "annotation_clip": False}
PLAIN: dict[str, Any] = {"parse_math": False}
"""For texts that may hold names, in which a dollar is a dollar."""


@lru_cache(maxsize=4096)
def width_of(text: str, size: float) -> float:
    """Width of a text in points, in the house's type."""
    properties = FontProperties(family="sans-serif", size=size)
    return text_to_path.get_text_width_height_descent(text, properties, False)[0]


def fitted(text: str, width: float, size: float) -> str:
    """Cut a text in its middle until it is at most so many points wide."""
    text = shown(" ".join(text.split()))
    if width_of(text, size) <= width:
        return text
    for keep in range(len(text) - 1, 1, -1):
        head = (keep + 1) // 2
        short = f"{text[:head].rstrip()}…{text[len(text) - (keep - head) :].lstrip()}"
        if width_of(short, size) <= width:
            return short
    return "…"


def beside(ax: Any, text: str, place: Any, offset: tuple[float, float], **ink: Any) -> None:
    """Write a text so many points to the right of and above a place, level with it."""
    ax.annotate(text, place, offset, textcoords="offset points", **LEVEL | ink)


def plain_legend(legend: Any) -> None:
    """Take the entries of a legend for names."""
    for text in legend.get_texts():
        text.set(**PLAIN)


def correlation_words(correlation: float) -> str:
    """A correlation in three decimals, rounded down, so that 1 means 1."""
    if math.isnan(correlation):
        return "undefined"
    cut = math.floor(1000 * abs(correlation) + 1e-6) / 1000
    return f"{'−' if correlation < 0 else ''}{cut:.3f}"


def shortened(text: str, most: int) -> str:
    """Cut a text to at most so many characters, with an ellipsis."""
    text = shown(text)
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
