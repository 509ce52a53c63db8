"""A policy at a glance: what it decides, and how its training went."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.ndimage import uniform_filter1d

from hedgerow import _checks, explain
from hedgerow.describe.names import feature_names, outcome_names, training_words
from hedgerow.describe.numbers import listed, number, percent
from hedgerow.estimator import RobustPolicy
from hedgerow.explain.lens import decided
from hedgerow.plots.labels import PLAIN, SMALL, TYPE, beside, fitted, plain_legend, shortened
from hedgerow.plots.style import COLOURS, DIAMOND, GREY, PALE, drawing, style

MOST_ROWS = 400
GRID = 60
FEW_VALUES = 12
BAND = (10, 90)
PANEL, PARTIAL = (2.15, 1.9), 6
"""Inches of a small panel, and features that have one unless they are chosen."""
MOST_ACROSS, MOST_UPRIGHT = 65, 38
"""Characters that fit along the axes."""


def decision_curve(
    policy: RobustPolicy | Mapping[str, RobustPolicy],
    X: Any,
    feature: int | str | Sequence[str],
    Y: Any = None,
    decision: int = 0,
    *,
    kind: str = "partial",
    feature_label: str | None = None,
    decision_label: str | None = None,
    outcome_label: str | None = None,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the decision against one feature.

    The line is the mean decision when the feature is set to each value and all other features stay
    as they were observed (partial dependence); the band holds the middle 80 % of the rows. Dots and
    bars replace them for a feature with few values and for a one-hot group.

    Parameters
    ----------
    policy : RobustPolicy, or dict of name → RobustPolicy
        One fitted policy, or up to four to compare.
    X : (rows, features) array or table
        Contexts; at most 400 of them, evenly spaced, are used for the curves.
    feature : int, str or list of str
        A feature's position or name; a list of one-hot features, or their common prefix: "weekday"
        stands for weekday_MON, weekday_TUE, …
    Y : (rows,) or (rows, outcomes), optional
        Observed outcomes, shown as faint points.
    decision : int
        Which decision (and which column of Y) to draw.
    kind : {"partial", "observed"}
        "partial": as above. "observed": decisions for the rows that have each value, for features
        with few values only; it avoids contexts that cannot occur, such as a Sunday that is not on
        a weekend.
    feature_label, decision_label, outcome_label, title : str
        Words on the figure; names of features and outcomes unless given.
    ax : Axes, optional
        Where to draw; None: a new figure.
    """
    policies = dict(policy) if isinstance(policy, Mapping) else {"": policy}
    if not 1 <= len(policies) <= len(COLOURS):
        raise ValueError(
            f"Between 1 and {len(COLOURS)} policies can be drawn; got {len(policies)}."
        )
    for one in policies.values():
        _checks.fitted_policy(one)
    fewest = min(one.n_decisions_ for one in policies.values())
    _checks.position("decision", decision, fewest)
    first = next(iter(policies.values()))
    names = feature_names(first, X)
    values = np.asarray(X, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != len(names):
        raise ValueError(f"X must have {len(names)} features; got shape {values.shape}.")
    columns, label = _feature_columns(feature, names, values)
    _checks.one_of("kind", kind, ("partial", "observed"))
    outcome = dict(enumerate(outcome_names(first, Y))).get(decision, "outcome")
    observed = None if Y is None else np.asarray(Y, dtype=np.float64).reshape(len(values), -1)
    settings, ticks, positions = _grid(values[:, columns], [names[c] for c in columns], label)

    discrete = ticks is not None
    if kind == "observed" and not discrete:
        raise ValueError(
            f'kind="observed" needs a feature with at most {FEW_VALUES} values; {label!r} has more.'
        )

    with drawing(ax, title) as (fig, axes):
        for i, (name, one) in enumerate(policies.items()):
            if kind == "partial":
                curves = list(_curves(one, values, columns, settings, decision).T)
            else:
                orders = decided(one, values)[:, decision]
                curves = [orders[positions == place] for place in range(len(settings))]
            where = (np.arange(len(settings)) if discrete else settings[:, 0]).astype(float)
            shift = 0.18 * (i - (len(policies) - 1) / 2) if discrete else 0.0
            described = shortened(name, 20) or "decision"
            if values.shape[1] > len(columns):  # else there is nothing to take a mean over
                described += ": mean and middle 80 %"
            _draw_decision(axes, where + shift, curves, COLOURS[i], described, discrete)
        if observed is not None:
            described = shortened(outcome_label or f"observed {outcome}", MOST_UPRIGHT)
            _draw_outcomes(axes, positions, observed[:, decision], described, discrete)
        if ticks is not None:
            axes.set_xticks(
                np.arange(len(ticks)), [shortened(tick, MOST_ACROSS) for tick in ticks], **PLAIN
            )
            axes.set_xlim(-0.6, len(ticks) - 0.4)
            if max(map(len, ticks)) * len(ticks) > 70:
                axes.tick_params(axis="x", labelrotation=40)
        axes.set_xlabel(shortened(feature_label or label, MOST_ACROSS), **PLAIN)
        upright = shortened(decision_label or f"decision for {outcome}", MOST_UPRIGHT)
        axes.set_ylabel(upright, **PLAIN)
        _legend_below(axes)
    return fig


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

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> solver = hr.SCSC(steps=50)
    >>> policy = hr.RobustPolicy(hr.Newsvendor(0.6, 1.0), hr.ERM(), solver=solver, random_state=0)
    >>> _ = policy.fit(data.data, data.target)
    >>> figure = hr.plots.partial_dependence(policy, data.data)
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
        fig.supylabel(shortened(decision_label, 45), fontsize=10, **PLAIN)
        place = {"loc": "outside lower center", "ncols": len(handles[0]), "fontsize": SMALL}
        plain_legend(fig.legend(*handles, **place))
        if title:
            fig.suptitle(title, fontsize=11, x=0.01, ha="left")
    return fig


def training_curve(
    policy: RobustPolicy,
    *,
    loss_label: str = "loss",
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the objective over the steps of training, and the robust value it led to.

    Parameters
    ----------
    policy : RobustPolicy
        A fitted policy.
    loss_label : str
        What the loss counts, such as "euros a day".
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
    >>> figure = hr.plots.training_curve(policy)
    """
    _checks.fitted_policy(policy)
    history = np.asarray(policy.history_, dtype=np.float64)
    if len(history) == 0:
        raise ValueError(
            "The policy was stopped before its first steps: there is no curve to draw."
        )
    steps = np.arange(1, len(history) + 1)
    smooth = _smoothed(history)
    robust = policy.robust_value_.value
    with drawing(ax, title) as (fig, axes):
        axes.plot(steps, history, color=PALE, linewidth=0.5, label="each step", zorder=1)
        axes.plot(steps, smooth, color=COLOURS[0], linewidth=2, label="smoothed", zorder=2)
        last = {"color": COLOURS[1], "label": "final rule, all data", "zorder": 3}
        axes.plot([steps[-1]], [robust], markersize=7, **DIAMOND, **last, clip_on=False)
        written, ink = number(robust, like=robust), {"va": "center", "color": COLOURS[1]}
        beside(axes, written, (steps[-1], robust), (9, 0), **ink)
        corner = {"transform": axes.transAxes, "ha": "right", "va": "top"}
        axes.text(0.99, 0.97, training_words(policy), **corner, color=GREY)
        ends = np.quantile(history, [0.002, 0.998])
        low, high = min(ends[0], robust), max(ends[1], robust, smooth[0])
        room = 0.08 * (high - low) or 0.1 * abs(high) or 1.0
        axes.set_ylim(low - room, high + 2 * room)
        axes.set_xlim(0, steps[-1])
        axes.set_xlabel("step")
        axes.set_ylabel(shortened(f"objective ({loss_label})", MOST_UPRIGHT), **PLAIN)
        _legend_below(axes)
    return fig


def _make_small(panel: Any, share: str) -> None:
    """A curve on its own, made a panel among others."""
    panel.get_legend().remove()
    panel.set_ylabel("")
    panel.tick_params(labelsize=SMALL, length=2.5)
    panel.xaxis.label.set(fontsize=TYPE, **PLAIN)
    panel.set_title(share, fontsize=SMALL, color=GREY, pad=4)


def _feature_columns(
    feature: int | str | Sequence[str], names: list[str], values: np.ndarray
) -> tuple[list[int], str]:
    """Positions of the feature, or of a one-hot group, and what to call it."""
    if isinstance(feature, int | np.integer):
        column = _checks.position("feature", feature, len(names))
        return [column], names[column]
    if isinstance(feature, str) and feature in names:
        return [names.index(feature)], feature
    group = [feature] if isinstance(feature, str) else [str(name) for name in feature]
    if isinstance(feature, str):
        group = [name for name in names if name.startswith(f"{feature}_")]
    missing = [name for name in group if name not in names]
    if not group or missing:
        raise ValueError(
            f"There is no feature {(missing or [feature])[0]!r}; the features are {listed(names)}."
        )
    columns = [names.index(name) for name in group]
    group_values = values[:, columns]
    if not (np.all((group_values == 0) | (group_values == 1)) and np.all(group_values.sum(1) == 1)):
        raise ValueError(
            f"{listed(group)} are not one-hot: exactly one of them must be 1 in every row."
        )
    prefix = group[0].rpartition("_")[0]
    shared = prefix and all(name.startswith(f"{prefix}_") for name in group)
    return columns, prefix if shared else "feature"


def _grid(
    values: np.ndarray, names: list[str], label: str
) -> tuple[np.ndarray, list[str] | None, np.ndarray]:
    """Values to set the feature to, their tick labels if they are few, and each row's position."""
    if values.shape[1] > 1:
        ticks = [name.removeprefix(label).lstrip("_") or name for name in names]
        return np.eye(len(names)), ticks, values.argmax(axis=1).astype(float)
    column = values[:, 0]
    distinct = np.unique(column)
    if len(distinct) <= FEW_VALUES:
        ticks = [number(value, 6) for value in distinct]
        return distinct[:, None], ticks, np.searchsorted(distinct, column)
    return np.linspace(column.min(), column.max(), GRID)[:, None], None, column


def _curves(
    policy: RobustPolicy,
    values: np.ndarray,
    columns: list[int],
    settings: np.ndarray,
    decision: int,
) -> np.ndarray:
    """Decisions (rows, settings) with the feature set and everything else as observed."""
    rows = np.unique(np.linspace(0, len(values) - 1, min(len(values), MOST_ROWS)).astype(int))
    contexts = np.repeat(values[rows], len(settings), axis=0)
    contexts[:, columns] = np.tile(settings, (len(rows), 1))
    decisions = decided(policy, contexts)[:, decision]
    return decisions.reshape(len(rows), len(settings))


def _draw_outcomes(
    ax: Any, positions: np.ndarray, outcomes: np.ndarray, label: str, discrete: bool
) -> None:
    if discrete:  # spread over the column, so that equal outcomes do not hide one another
        positions = positions + np.random.default_rng(0).uniform(-0.28, 0.28, len(positions))
    alpha = float(np.clip(60 / len(outcomes) ** 0.8, 0.08, 0.5))
    ax.scatter(positions, outcomes, s=11, color=GREY, alpha=alpha, linewidths=0, zorder=1)
    ax.scatter([], [], s=14, color=GREY, alpha=0.6, linewidths=0, label=label)


def _draw_decision(
    ax: Any, where: np.ndarray, curves: list[np.ndarray], colour: str, label: str, discrete: bool
) -> None:
    """Draw the mean and the middle 80 % of the decisions that belong to each place on the axis."""
    present = [curve.size > 0 for curve in curves]
    where, curves = where[present], [curve for curve in curves if curve.size > 0]
    mean = np.array([curve.mean() for curve in curves])
    low, high = np.transpose([np.percentile(curve, BAND) for curve in curves])
    if discrete:
        ax.vlines(where, low, high, color=colour, linewidth=2, zorder=3)
        dots = {"marker": "o", "markersize": 7, "markeredgecolor": "white", "linestyle": "none"}
        ax.plot(where, mean, color=colour, label=label, zorder=4, **dots)
    else:
        ax.fill_between(where, low, high, color=colour, alpha=0.13, linewidth=0, zorder=2)
        for edge in (low, high):
            ax.plot(where, edge, color=colour, linewidth=0.7, alpha=0.6, zorder=2)
        ax.plot(where, mean, color=colour, linewidth=2.2, label=label, zorder=3)


def _smoothed(history: np.ndarray) -> np.ndarray:
    """Moving average over a thirtieth of the run, over what there is of it at both ends."""
    window = 2 * max(1, len(history) // 60) + 1
    sums, counts = (
        uniform_filter1d(values, window, mode="constant")
        for values in (history, np.ones_like(history))
    )
    return sums / counts


def _legend_below(ax: Any) -> None:
    labels = ax.get_legend_handles_labels()[1]
    columns = max(1, min(len(labels), MOST_ACROSS // max(map(len, labels))))
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.15), "columnspacing": 1.6}
    plain_legend(ax.legend(**place, ncols=columns))
