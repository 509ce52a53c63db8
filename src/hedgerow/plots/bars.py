"""Rows of bars with names beside them: as high as there are rows, and the small ones added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.plots.labels import PLAIN, SMALL, TYPE, fitted, width_of
from hedgerow.plots.style import axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME = 185.0
"""Points that a name beside a bar may take."""
WIDTH, BAR = 6.4, 0.27
"""Inches: of a figure, and for a row of bars."""


def largest(sizes: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
    """The largest features in order, and the others; one other alone is worth its own bar."""
    order = np.argsort(-sizes, kind="stable")
    shown = len(order) if len(order) <= top + 1 else top
    return order[:shown], order[shown:]


def rows_of_bars(ax: Axes | None, count: int, thick: float) -> tuple[Any, Any]:
    """Axes for so many rows, the first on top; a new figure is as high as they need."""
    fig, axes = axes_for(ax)
    if ax is None:
        fig.set_size_inches(WIDTH, 0.9 + BAR * thick * count)
    axes.set_ylim(count - 0.4, -0.6)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return fig, axes


def name_rows(ax: Any, words: Sequence[str | tuple[str, str]]) -> None:
    """Names beside the rows, cut to fit; what comes second in a pair is never cut."""
    texts = []
    for word in words:
        name, tail = (word, "") if isinstance(word, str) else word
        texts.append(fitted(name, NAME - width_of(tail, TYPE), TYPE) + tail)
    ax.set_yticks(np.arange(len(words)), texts, fontsize=TYPE, **PLAIN)


def legend_below(ax: Any) -> None:
    """A legend under the label of the axis, however high the axes are."""
    from matplotlib.transforms import offset_copy

    below = offset_copy(ax.transAxes, ax.figure, y=-36, units="points")
    place = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": below}
    ax.legend(**place, borderaxespad=0, fontsize=SMALL)


def paler(colour: str) -> tuple[float, float, float]:
    """Return the colour, half way to white."""
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(colour)
    return (0.5 + red / 2, 0.5 + green / 2, 0.5 + blue / 2)
