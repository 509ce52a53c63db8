"""Two attributions of the same decisions against each other (paper: Figure 12).

Integrated gradients and SHAP values, say, are points near a diagonal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from hedgerow import _checks, explain
from hedgerow.describe.names import checked_names
from hedgerow.plots.bars import attributed, decision_rows
from hedgerow.plots.labels import (
    PLAIN,
    SMALL,
    TYPE,
    beside,
    correlation_words,
    fitted,
    shortened,
    width_of,
)
from hedgerow.plots.style import COLOURS, GREY, PALE, drawing

SQUARE = (4.6, 4.4)


def attribution_scatter(
    first: Any,
    second: Any,
    decision: int | None = None,
    *,
    names: Sequence[str] | None = None,
    decision_names: Sequence[str] | None = None,
    labels: tuple[str, str] = ("integrated gradients", "SHAP value"),
    top: int = 6,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw two attributions of the same decisions against each other, one point per value.

    Parameters
    ----------
    first, second : Attribution or (…, decisions, features)
        For instance ``explain.attribute(policy, x, X)`` and
        ``explain.shap_values(policy, x, X)[0]``.
    decision : int or None
        Which decision; None: every one has its points.
    names, decision_names : sequence of str, optional
        What the features and all of the decisions are called; features' names are those of an
        Attribution unless given.
    labels : two str
        Words along the axes.
    top : int
        Points with their features' names beside them, the largest; fewer if there is no room.
    title : str, optional
    ax : Axes, optional
        Where to draw; None: a new figure.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> solver = hr.SCSC(steps=50)
    >>> policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), hr.ERM(), solver=solver, random_state=0)
    >>> _ = policy.fit(data.data, data.target)
    >>> found = hr.explain.attribute(policy, data.data[0], data.data)
    >>> figure = hr.plots.attribution_scatter(found, 0.9 * found.values)
    """
    one, two = attributed("first", first), attributed("second", second)
    if one.shape != two.shape:
        raise ValueError(f"The two have shapes {one.shape} and {two.shape}; they must be alike.")
    known = names if names is not None else getattr(first, "names", getattr(second, "names", None))
    rows = decision_rows(decision, one.shape[-2])
    words = _point_names(known, decision_names, *one.shape[-2:])
    top = _checks.count("top", top, least=0)
    across, upright = (table[..., rows, :].ravel() for table in (one, two))
    words = [words[k][j] for k in rows for j in range(one.shape[-1])] if words else []
    with drawing(ax, title, SQUARE) as (fig, axes):
        ends = np.array([min(across.min(), upright.min()), max(across.max(), upright.max())])
        ends = ends + np.array([-0.08, 0.08]) * (np.ptp(ends) or 1.0)
        axes.plot(ends, ends, color=PALE, linewidth=1, zorder=1)
        many = len(across) > 60
        axes.scatter(
            across, upright, s=14 if many else 34, color=COLOURS[0], alpha=0.5 if many else 0.9,
            linewidths=0, zorder=3,
        )  # fmt: skip
        axes.set(xlim=ends, ylim=ends, aspect="equal")
        axes.locator_params(nbins=6)
        axes.set_xlabel(shortened(labels[0], 40), **PLAIN)
        axes.set_ylabel(shortened(labels[1], 40), **PLAIN)
        axes.text(
            0.03, 0.97, f"correlation {correlation_words(explain.correlation(across, upright))}",
            transform=axes.transAxes, va="top", color=GREY, fontsize=TYPE,
        )  # fmt: skip
        if words and top:
            _label_points(axes, across, upright, words, top)
    return fig


def _point_names(
    features: Sequence[str] | None, decisions: Sequence[str] | None, count: int, width: int
) -> list[list[str]]:
    """What the value of every decision (outer) and feature (inner) is called."""
    ends = [f"decision {k + 1}" for k in range(count)]
    if decisions is not None:
        ends = checked_names(decisions, count, "decision")
    if features is None:
        return []
    names = checked_names(features, width, "feature")
    return [names] if count == 1 else [[f"{name} → {end}" for name in names] for end in ends]


def _label_points(ax: Any, x: np.ndarray, y: np.ndarray, names: list[str], most: int) -> None:
    """Names beside the largest points, wherever they cover neither points nor other names."""
    ax.figure.draw_without_rendering()  # the layout has to be known
    scale = 72 / ax.figure.dpi
    points = ax.transData.transform(np.column_stack([x, y])) * scale
    frame = ax.get_window_extent()
    taken: list[Bbox] = []
    order = np.argsort(-np.maximum(np.abs(x), np.abs(y)), kind="stable")
    for point in order[:most]:
        text = fitted(names[point % len(names)], 0.45 * frame.width * scale, SMALL)
        wide, tall = width_of(text, SMALL), 1.2 * SMALL
        right, left = (5.0, -0.8 * tall), (-5.0 - wide, -0.2 * tall)  # off the diagonal
        for dx, dy in (right, left, (-wide / 2, 6.0), (-wide / 2, -6.0 - tall)):
            left_end, bottom = points[point] + (dx, dy)
            box = Bbox.from_bounds(left_end, bottom, wide, tall)
            inside = frame.x0 * scale <= box.x0 and box.x1 <= frame.x1 * scale
            covers = box.padded(2).count_contains(points) > 0
            if inside and not covers and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                middle = (dx, dy + tall / 2)
                beside(ax, text, (x[point], y[point]), middle, fontsize=SMALL, **PLAIN)
                break
