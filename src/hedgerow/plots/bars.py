"""Rows of bars with names beside them: as high as there are rows, and the small ones added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.transforms import offset_copy

from hedgerow.plots.labels import PLAIN, SMALL, TYPE, fitted, width_of

NAME = 185.0
"""Points that a name beside a bar may take."""
WIDTH, BAR = 6.4, 0.27
"""Inches: of a figure, and for a row of bars."""


def largest(sizes: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest features in order, and the others; one other alone is worth its own bar."""
    order = np.argsort(-sizes, kind="stable")
    shown = len(order) if len(order) <= top + 1 else top
    return order[:shown], order[shown:]


def size_of_rows(count: int, thick: float) -> tuple[float, float]:
    """Inches of a figure that is as high as so many rows need."""
    return WIDTH, 0.9 + BAR * thick * count


def name_rows(ax: Axes, words: Sequence[str | tuple[str, str]]) -> None:
    """A row for each name, the first on top; what comes second in a pair is never cut to fit."""
    texts = []
    for word in words:
        name, tail = (word, "") if isinstance(word, str) else word
        texts.append(fitted(name, NAME - width_of(tail, TYPE), TYPE) + tail)
    ax.set_ylim(len(words) - 0.4, -0.6)
    ax.set_yticks(np.arange(len(words)), texts, fontsize=TYPE, **PLAIN)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)


def legend_below(ax: Any) -> None:
    """A legend under the label of the axis, however high the axes are."""
    below = offset_copy(ax.transAxes, ax.figure, y=-36, units="points")
    place = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": below}
    ax.legend(**place, borderaxespad=0, fontsize=SMALL)


def paler(colour: str) -> tuple[float, float, float]:
    """Return the colour, half way to white."""
    red, green, blue = to_rgb(colour)
    return (0.5 + red / 2, 0.5 + green / 2, 0.5 + blue / 2)
