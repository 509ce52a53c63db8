"""What a policy looks at, over all its decisions.

Importance is bars of shares, beside other measures of it (paper: Figure 11); partial dependence is
one small curve per feature that counts. What is drawn was computed in ``hedgerow.explain``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hedgerow import _checks, explain
from hedgerow.describe.names import feature_names
from hedgerow.describe.numbers import percent
from hedgerow.estimator import RobustPolicy
from hedgerow.explain import Importance
from hedgerow.plots.bars import largest, legend_below, name_rows, paler, size_of_rows
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
from hedgerow.plots.policies import decision_curve
from hedgerow.plots.style import COLOURS, GREY, drawing, style

ACROSS = 250.0
"""Points that words under the bars may take."""
PANEL = (2.15, 1.9)
PARTIAL = 6
"""Features whose curves are drawn unless they are chosen."""


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
    """
    several = _importances(given, X, Y)
    first = next(iter(several.values()))
    for one in several.values():
        if one.names != first.names:
            raise ValueError("The importances are of different features; draw them one by one.")
    order, rest = largest(first.values, _checks.count("top", top))
    words = [first.names[j] for j in order] + [f"… {len(rest)} others"] * bool(len(rest))
    size = size_of_rows(len(words), max(1.0, 0.75 * len(several)))
    with drawing(ax, title, size) as (fig, axes):
        name_rows(axes, words)
        thick = 0.76 / len(several)
        places = np.arange(len(words))
        for i, (name, one) in enumerate(several.items()):
            shares = one.values
            lengths = np.append(shares[order], [shares[rest].sum()] * bool(len(rest)))
            where = places + (i - (len(several) - 1) / 2) * thick
            colours = [COLOURS[i]] * len(order) + [paler(COLOURS[i])] * bool(len(rest))
            label = _compared(name, None if i == 0 else explain.correlation(first, one))
            axes.barh(where, lengths, thick * 0.92, color=colours, label=label)
            if one.errors is not None:
                reach = one.errors[order] / (np.maximum(one.scores, 0).sum() or 1.0)
                ends = lengths[: len(order)], where[: len(order)]
                axes.errorbar(*ends, xerr=reach, fmt="none", ecolor=GREY, elinewidth=0.8)
            elif len(several) == 1:
                for place in zip(lengths, where, strict=True):
                    beside(axes, percent(place[0]), place, (3, 0), fontsize=SMALL, color=GREY)
        axes.margins(x=0.1)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
        axes.set_xlabel(fitted(share_label, ACROSS, 10))
        if len(several) > 1:
            legend_below(axes)
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


def partial_dependence(
    policy: RobustPolicy,
    X: Any,
    features: Sequence[int | str | Sequence[str]] | None = None,
    Y: Any = None,
    decision: int = 0,
    *,
    decision_label: str = "decision",
    title: str | None = None,
) -> Figure:
    """Draw the decision against several features, one small panel each, on one scale.

    Parameters
    ----------
    policy : RobustPolicy
        A fitted policy.
    X : (rows, features) array or table
        Contexts.
    features : sequence, optional
        Which, as in ``decision_curve``: positions, names, or one-hot groups. None: the six that
        count most by ``explain.importance``, with their shares.
    Y : (rows,) or (rows, outcomes), optional
        Observed outcomes, shown as faint points.
    decision : int
        Which decision.
    decision_label, title : str
        Words on the figure.
    """
    shares: list[str] = []
    if features is None:
        found = explain.importance(policy, X)
        counting = [int(j) for j in found.ranked() if found.scores[j] > 0]
        features = counting[:PARTIAL] or [0]
        shares = [f"{percent(found.values[j])} of importance" for j in features]
    features = list(features)
    if not features:
        raise ValueError("There is no feature to draw; name some, or leave features out.")
    names = feature_names(policy, X)
    with style():
        across = min(3, len(features))
        down = math.ceil(len(features) / across)
        size = (0.7 + PANEL[0] * across, 0.6 + PANEL[1] * down)
        fig = Figure(figsize=size, layout="constrained")
        grid: Any = fig.subplots(down, across, sharey=True, squeeze=False)
        for i, (panel, feature) in enumerate(zip(grid.ravel(), features, strict=False)):
            whole = names[feature] if isinstance(feature, int | np.integer) else None
            whole = feature if isinstance(feature, str) else whole
            label = None if whole is None else fitted(whole, 72 * PANEL[0] - 40, TYPE)
            decision_curve(
                policy, X, feature, Y, decision, feature_label=label, decision_label=" ", ax=panel
            )
            _make_small(panel, shares[i] if shares else "")
        for empty in grid.ravel()[len(features) :]:
            empty.set_axis_off()
        handles = grid[0, 0].get_legend_handles_labels()
        fig.supylabel(shortened(decision_label, 45), fontsize=10)
        fig.legend(*handles, loc="outside lower center", ncols=len(handles[0]), fontsize=SMALL)
        if title:
            fig.suptitle(title, fontsize=11, x=0.01, ha="left")
    return fig


def _make_small(panel: Any, share: str) -> None:
    """A curve on its own, made a panel among others."""
    panel.get_legend().remove()
    panel.set_ylabel("")
    panel.tick_params(labelsize=SMALL, length=2.5)
    panel.xaxis.label.set(fontsize=TYPE, **PLAIN)
    panel.set_title(share, fontsize=SMALL, color=GREY, pad=4)
