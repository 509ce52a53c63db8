"""Why one decision comes out as it does (paper: Figure 12).

An attribution is a staircase from the average decision to this one, a step per feature. Two of them
for the same decisions, such as integrated gradients and SHAP values, are points near a diagonal.
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
from hedgerow.describe.numbers import number
from hedgerow.explain import Attribution
from hedgerow.plots.bars import largest, name_rows, size_of_rows
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
from hedgerow.plots.style import COLOURS, DIAMOND, GREY, PALE, drawing

UP, DOWN = COLOURS[1], COLOURS[0]
"""What raises and what lowers a decision."""
SQUARE = (4.6, 4.4)


def waterfall(
    attribution: Attribution,
    decision: int | None = 0,
    *,
    values: Any = None,
    top: int = 12,
    decision_label: str = "decision",
    baseline_label: str = "average decision",
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw how the features of one input lead from the average decision to its own.

    Parameters
    ----------
    attribution : Attribution
        From ``explain.attribute``.
    decision : int or None
        Which decision; None: the sum of all, as in the paper.
    values : (decisions, features), optional
        Other values for the same decision and background, such as ``explain.shap_values(…)[0]``.
    top : int
        Features drawn, the largest first; the others are added up in one bar.
    decision_label, baseline_label, title : str
        Words on the figure.
    ax : Axes, optional
        Where to draw; None: a new figure.
    """
    _checks.instance("attribution", attribution, Attribution, "what explain.attribute returns")
    table = _values("values", attribution if values is None else values)
    if table.shape != attribution.values.shape:
        raise ValueError(
            f"values must have shape {attribution.values.shape}, as the attribution's own; got "
            f"{table.shape}."
        )
    rows = _decision_rows(decision, len(table))
    parts = table[rows].sum(axis=0)
    begin, end = (float(part[rows].sum()) for part in (attribution.baseline, attribution.decision))
    order, rest = largest(np.abs(parts), _checks.count("top", top))
    steps = np.append(parts[order], [parts[rest].sum()] * bool(len(rest)))
    stops = begin + np.cumsum(steps)
    inputs = [(attribution.names[j], _input(float(attribution.context[j]))) for j in order]
    words = [baseline_label, *inputs, *[f"… {len(rest)} others"] * bool(len(rest)), decision_label]
    with drawing(ax, title, size_of_rows(len(words), 1.15)) as (fig, axes):
        name_rows(axes, words)
        longest, size = np.abs(steps).max(initial=0.0), max(abs(begin), abs(end))
        written = [
            number(begin, 4, like=size),
            *(number(step, 3, like=longest, signed=True) for step in steps),
            number(end, 4, like=size),
        ]
        colours = [UP if step > 0 else DOWN for step in steps]
        places = np.arange(1, len(steps) + 1)
        axes.barh(places, steps, 0.72, left=stops - steps, color=colours, zorder=3)
        for place, stop in enumerate([begin, *stops]):
            ends = max(place - 0.36, 0), min(place + 1.36, len(words) - 1)
            axes.plot([stop, stop], ends, color=GREY, linewidth=0.8, zorder=2)
        ends = {"markersize": 6, "color": GREY, "zorder": 4, "clip_on": False}
        axes.plot([begin, end], [0, len(words) - 1], **DIAMOND, **ends)
        right = {"xycoords": ("axes fraction", "data"), "fontsize": TYPE}
        for y, (text, colour) in enumerate(zip(written, [GREY, *colours, GREY], strict=True)):
            beside(axes, text, (1, y), (6, 0), color=colour, **right)
        axes.use_sticky_edges = False
        axes.margins(x=0.05)
        axes.locator_params(axis="x", nbins=6)
        axes.grid(axis="x", color=PALE, linewidth=0.5, alpha=0.6)
        axes.set_axisbelow(True)
    return fig


def _input(value: float) -> str:
    """What a feature was; nothing for a group of features, which has no value of its own."""
    return "" if np.isnan(value) else f" = {number(value, 3)}"


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
        For instance of ``explain.attribute(policy, x, X)`` and ``explain.shap_values(policy, x,
        X)[0]``, or of many contexts at once.
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
    """
    one, two = _values("first", first), _values("second", second)
    if one.shape != two.shape:
        raise ValueError(f"The two have shapes {one.shape} and {two.shape}; they must be alike.")
    known = names if names is not None else getattr(first, "names", getattr(second, "names", None))
    rows = _decision_rows(decision, one.shape[-2])
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
        axes.set_xlabel(shortened(labels[0], 40))
        axes.set_ylabel(shortened(labels[1], 40))
        axes.text(
            0.03, 0.97, f"correlation {correlation_words(explain.correlation(across, upright))}",
            transform=axes.transAxes, va="top", color=GREY, fontsize=TYPE,
        )  # fmt: skip
        if words and top:
            _label_points(axes, across, upright, words, top)
    return fig


def _values(name: str, given: Any) -> np.ndarray:
    """Values (…, decisions, features); a single decision's may come without its axis."""
    found = _checks.parameter(name, given.values if isinstance(given, Attribution) else given)
    if found.ndim == 0 or found.size == 0:
        raise ValueError(f"{name} must hold one value per feature; got shape {found.shape}.")
    return found[None] if found.ndim == 1 else found


def _decision_rows(decision: int | None, count: int) -> list[int]:
    if decision is None:
        return list(range(count))
    if not 0 <= _checks.count("decision", decision, least=0) < count:
        raise ValueError(f"decision must lie between 0 and {count - 1}; got {decision}.")
    return [decision]


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
