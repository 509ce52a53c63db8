"""Bars with names beside them: what a policy looks at, and why one decision comes out as it does.

Importance is bars of shares, beside other measures of it (paper: Figure 11). An attribution is a
staircase from the average decision to this one, a step per feature (paper: Figure 12). Figures are
as high as there are rows, and what is small is added up in one bar. What is drawn was computed in
``hedgerow.explain``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.transforms import offset_copy

from hedgerow import _checks, explain
from hedgerow.describe.numbers import number, percent
from hedgerow.estimator import RobustPolicy
from hedgerow.explain import Attribution, Importance
from hedgerow.plots.labels import (
    PLAIN,
    SMALL,
    TYPE,
    beside,
    correlation_words,
    fitted,
    plain_legend,
    width_of,
)
from hedgerow.plots.style import COLOURS, DIAMOND, GREY, PALE, drawing

NAME, ACROSS = 185.0, 250.0
"""Points that a name beside a bar may take, and words under the bars."""
WIDTH, BAR = 6.4, 0.27
"""Inches: of a figure, and for a row of bars."""
UP, DOWN = COLOURS[1], COLOURS[0]
"""What raises and what lowers a decision."""


def importance(
    given: RobustPolicy | Importance | Mapping[str, Importance],
    X: Any = None,
    Y: Any = None,
    *,
    top: int = 15,
    share_label: str = "share of importance",
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw how much every feature counts, as shares that sum to one.

    Parameters
    ----------
    given : RobustPolicy, Importance, or dict of name → Importance
        A fitted policy, whose importance over X is computed; or what ``explain.importance`` and its
        like have returned, up to four of them side by side. Features are in the order of the first;
        Pearson's correlation of its shares with those of the others, over all features, is written
        beside their names.
    X : (rows, features)
        Contexts; for a policy only.
    Y : (rows,) or (rows, outcomes), optional
        Outcomes, for a policy only: permutation importance of the loss is drawn beside.
    top : int
        Features drawn; the others are added up in one bar.
    share_label, title : str
        Words on the figure.
    ax : Axes, optional
        Where to draw; None: a new figure.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> solver = hr.SCSC(steps=50)
    >>> policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), hr.ERM(), solver=solver, random_state=0)
    >>> _ = policy.fit(data.data, data.target)
    >>> figure = hr.plots.importance(hr.explain.importance(policy, data.data))
    """
    several = _importances(given, X, Y)
    first = next(iter(several.values()))
    for one in several.values():
        if one.names != first.names:
            raise ValueError("The importances are of different features; draw them one by one.")
    rows = _Rows.of(first.values, top)
    words = [first.names[j] for j in rows.order] + rows.others()
    size = _size_of_rows(len(words), max(1.0, 0.75 * len(several)))
    with drawing(ax, title, size) as (fig, axes):
        _name_rows(axes, words)
        thick = 0.76 / len(several)
        places = np.arange(len(words))
        for i, (name, one) in enumerate(several.items()):
            lengths = rows.of_each(one.values)
            where = places + (i - (len(several) - 1) / 2) * thick
            colours = [COLOURS[i]] * len(rows.order) + [_paler(COLOURS[i])] * len(rows.others())
            label = _compared(name, None if i == 0 else explain.correlation(first, one))
            axes.barh(where, lengths, thick * 0.92, color=colours, label=label)
            if one.errors is not None:
                reach = one.errors[rows.order] / (np.maximum(one.scores, 0).sum() or 1.0)
                ends = lengths[: len(reach)], where[: len(reach)]
                axes.errorbar(*ends, xerr=reach, fmt="none", ecolor=GREY, elinewidth=0.8)
            elif len(several) == 1:
                for place in zip(lengths, where, strict=True):
                    beside(axes, percent(place[0]), place, (3, 0), fontsize=SMALL, color=GREY)
        axes.margins(x=0.1)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
        axes.set_xlabel(fitted(share_label, ACROSS, 10), **PLAIN)
        if len(several) > 1:
            _legend_below(axes)
    return fig


def _importances(given: Any, X: Any, Y: Any) -> dict[str, Importance]:
    """What is to be drawn, by name."""
    if isinstance(given, Importance):
        return {"": given}
    if isinstance(given, Mapping):
        if not 1 <= len(given) <= len(COLOURS):
            raise ValueError(
                f"Between 1 and {len(COLOURS)} importances can be drawn; got {len(given)}."
            )
        for name, one in given.items():
            _checks.instance(
                repr(name), one, Importance, "what hedgerow.explain.importance returns"
            )
        return {str(name): one for name, one in given.items()}
    _checks.fitted_policy(given)
    if X is None:
        raise ValueError("A policy's importance is an average over contexts: give X as well.")
    found = {"mean absolute derivative": explain.importance(given, X)}
    if Y is not None:
        found["permutation of the loss"] = explain.permutation_importance(given, X, Y)
    return found


def _compared(name: str, correlation: float | None) -> str:
    """A measure's name, and how it goes with the first."""
    tail = "" if correlation is None else f" (correlation {correlation_words(correlation)})"
    return fitted(name, ACROSS - width_of(tail, SMALL), SMALL) + tail


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

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> solver = hr.SCSC(steps=50)
    >>> policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), hr.ERM(), solver=solver, random_state=0)
    >>> _ = policy.fit(data.data, data.target)
    >>> figure = hr.plots.waterfall(hr.explain.attribute(policy, data.data[:1], data.data))
    """
    _checks.instance("attribution", attribution, Attribution, "what explain.attribute returns")
    table = attributed("values", attribution if values is None else values)
    if table.shape != attribution.values.shape:
        raise ValueError(
            f"values must have shape {attribution.values.shape}, as the attribution's own; got "
            f"{table.shape}."
        )
    chosen = decision_rows(decision, len(table))
    parts = table[chosen].sum(axis=0)
    begin, end = (
        float(each[chosen].sum()) for each in (attribution.baseline, attribution.decision)
    )
    rows = _Rows.of(np.abs(parts), top)
    steps = rows.of_each(parts)
    stops = begin + np.cumsum(steps)
    inputs = [(attribution.names[j], _input(float(attribution.context[j]))) for j in rows.order]
    words = [baseline_label, *inputs, *rows.others(), decision_label]
    with drawing(ax, title, _size_of_rows(len(words), 1.15)) as (fig, axes):
        _name_rows(axes, words)
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


def attributed(name: str, given: Any) -> np.ndarray:
    """Values (…, decisions, features); a single decision's may come without its axis."""
    found = _checks.parameter(name, given.values if isinstance(given, Attribution) else given)
    if found.ndim == 0 or found.size == 0:
        raise ValueError(f"{name} must hold one value per feature; got shape {found.shape}.")
    return found[None] if found.ndim == 1 else found


def decision_rows(decision: int | None, count: int) -> list[int]:
    """One decision or, for None, all of them."""
    if decision is None:
        return list(range(count))
    return [_checks.position("decision", decision, count)]


class _Rows(NamedTuple):
    """The largest features in order, and the others, which are one row."""

    order: np.ndarray
    rest: np.ndarray

    @classmethod
    def of(cls, sizes: np.ndarray, top: int) -> _Rows:
        """So many features at most; one other alone is worth its own bar."""
        order = np.argsort(-sizes, kind="stable")
        shown = len(order) if len(order) <= _checks.count("top", top) + 1 else top
        return cls(order[:shown], order[shown:])

    def of_each(self, values: np.ndarray) -> np.ndarray:
        """What belongs to every row, the others added up."""
        return np.append(values[self.order], [values[self.rest].sum()] * bool(len(self.rest)))

    def others(self) -> list[str]:
        """What the last row is called, if there is one."""
        return [f"… {len(self.rest)} others"] * bool(len(self.rest))


def _size_of_rows(count: int, thick: float) -> tuple[float, float]:
    """Inches of a figure that is as high as so many rows need."""
    return WIDTH, 0.9 + BAR * thick * count


def _name_rows(ax: Axes, words: Sequence[str | tuple[str, str]]) -> None:
    """A row for each name, the first on top; what comes second in a pair is never cut to fit."""
    texts = []
    for word in words:
        name, tail = (word, "") if isinstance(word, str) else word
        texts.append(fitted(name, NAME - width_of(tail, TYPE), TYPE) + tail)
    ax.set_ylim(len(words) - 0.4, -0.6)
    ax.set_yticks(np.arange(len(words)), texts, fontsize=TYPE, **PLAIN)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _legend_below(ax: Any) -> None:
    """A legend under the label of the axis, however high the axes are."""
    below = offset_copy(ax.transAxes, ax.figure, y=-36, units="points")
    place = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": below}
    plain_legend(ax.legend(**place, borderaxespad=0, fontsize=SMALL))


def _paler(colour: str) -> tuple[float, float, float]:
    """Return the colour, half way to white."""
    red, green, blue = to_rgb(colour)
    return (0.5 + red / 2, 0.5 + green / 2, 0.5 + blue / 2)
