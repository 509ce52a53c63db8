"""Worst cases side by side: where each model moves the probability (paper: fig:worst-case).

One panel per model, for a policy with one feature and one outcome, all on the same axes:

- Sinkhorn models: a density, as colour; every such panel has the same scale.
- Causal Wasserstein: nominal points and arrows to where each of them is moved.
- KL and ERM: the nominal points, as dark as their mass.

Marginals stand above and to the right of a panel, all as densities on one scale; those of discrete
worst cases are histograms.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from hedgerow import _checks
from hedgerow._warnings import OutlierWarning, unsaid
from hedgerow.ambiguity import Ambiguity
from hedgerow.certify.worst_cases import WorstCase, worst_case
from hedgerow.describe.names import feature_names, outcome_names
from hedgerow.estimator import RobustPolicy
from hedgerow.explain.lens import decided
from hedgerow.plots import panels
from hedgerow.plots.labels import PLAIN, shortened
from hedgerow.plots.style import GREY, INK, style

RESOLUTION = 100
"""Points along each axis at which densities are evaluated."""
FAINT = 0.005
"""Share of a density's peak below which it is left off the axes."""
LETTERS_PER_INCH = 18


def worst_cases(
    policy: RobustPolicy,
    X: Any,
    Y: Any,
    models: Mapping[str, Ambiguity] | Sequence[Ambiguity],
    *,
    feature_label: str | None = None,
    outcome_label: str | None = None,
    decision_label: str | None = None,
    caption: str | None = None,
    resolution: int = RESOLUTION,
) -> Figure:
    """Draw the worst cases of one policy under several ambiguity models, one panel each.

    Parameters
    ----------
    policy : RobustPolicy
        A fitted policy with one feature and one outcome, or one made by ``from_function``. Its
        nominal distribution of (X, Y) gives the red points.
    X : (rows, 1) array or table
        Contexts.
    Y : (rows,) or (rows, 1)
        Outcomes.
    models : dict of title → ambiguity model, or list of models
        What to guard against, panel by panel; a list is titled by the models' own names.
    feature_label, outcome_label : str
        Words along the axes; names of the feature and the outcome unless given.
    decision_label : str, optional
        What the decision is called, if it is to be drawn as a line: for decisions in the units of
        the outcome, such as orders against demand.
    caption : str, optional
        A sentence or two below the figure.
    resolution : int
        Points along each axis at which densities are evaluated; a small epsilon needs more.
    """
    named = _named(models)
    _check_one_dimensional(policy, decision_label)
    _checks.count("resolution", resolution, 2)
    nominal = panels.Points.of(policy.problem(X, Y).nominal)
    if np.ptp(nominal.x) == 0:
        raise ValueError("The feature has one value only, so there is no second axis to draw on.")
    policy.tell_typos(X, Y)
    with unsaid(OutlierWarning):
        worst = [worst_case(policy, X, Y, ambiguity=model) for model in named.values()]
    along_x, along_y = zip(*map(panels.marginals, worst), strict=True)
    x, y = _axis(nominal.x, along_x, resolution), _axis(nominal.y, along_y, resolution)
    densities = [_density(one, x, y) for one in worst]
    decisions = decided(policy, x[:, None])[:, 0]
    brightest = max((_clip(d) for d in densities if d is not None), default=1.0)

    with style():
        fig, row, below = panels.row_of_panels(len(worst))
        for i, (title, one, density) in enumerate(zip(named, worst, densities, strict=True)):
            panel = row[i]
            if density is not None:
                panels.draw_density(panel.main, x, y, density, brightest)
                panels.draw_nominal(panel.main, nominal)
            if (points := one.points()) is not None:
                panels.draw_points(panel.main, points, nominal)
            if decision_label:
                panel.main.plot(x, decisions, color=INK, linewidth=0.9, zorder=4)
            panels.draw_marginals(panel, one, x, y)
            panels.head(panel, i, title, one)
        first = row[0]
        first.main.set_xlim(x[0], x[-1])
        first.main.set_ylim(y[0], y[-1])
        first.top.set_ylim(bottom=0)
        first.right.set_xlim(left=0)
        across = feature_label or feature_names(policy, X)[0]
        upright = outcome_label or outcome_names(policy, Y)[0]
        first.main.set_ylabel(shortened(upright, panels.MOST_UPRIGHT), **PLAIN)
        for panel in row:
            panel.main.set_xlabel(shortened(across, panels.MOST_ACROSS), **PLAIN)
        panels.draw_legend(below, worst, decision_label)
        if caption:
            lines = textwrap.fill(caption, round(LETTERS_PER_INCH * fig.get_figwidth()))
            fig.supxlabel(lines, fontsize=panels.TINY, color=GREY)
    return fig


# --------------------------------------------------------------------------- what is asked for


def _named(models: Mapping[str, Ambiguity] | Sequence[Ambiguity]) -> dict[str, Ambiguity]:
    """Titles and models; a model's own name is its class's, in words."""
    if isinstance(models, Ambiguity):
        models = [models]
    if isinstance(models, Mapping):
        named = {str(title): model for title, model in models.items()}
    else:
        titles = [re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(model).__name__) for model in models]
        if len(set(titles)) < len(titles):
            raise ValueError(
                "Two models have the same name; give titles, as in {'near': KL(5), 'far': KL(1)}."
            )
        named = dict(zip(titles, models, strict=True))
    if not named:
        raise ValueError("There is no model to draw; pass at least one, such as hedgerow.KL(5).")
    for title, model in named.items():
        _checks.instance(f"Model {title!r}", model, Ambiguity, "one such as hedgerow.KL(5)")
    return named


def _check_one_dimensional(policy: RobustPolicy, decision_label: str | None) -> None:
    _checks.fitted_policy(policy)
    if policy.n_features_in_ != 1 or policy.n_outcomes_ != 1:
        raise ValueError(
            f"Worst cases are drawn for policies with one feature and one outcome; this one has "
            f"{policy.n_features_in_} and {policy.n_outcomes_}."
        )
    if decision_label and policy.n_decisions_ != 1:
        raise ValueError(
            f"decision_label draws one decision as a line, but this policy has "
            f"{policy.n_decisions_}; leave it out."
        )


# --------------------------------------------------------------------------- what is evaluated


def _axis(nominal: np.ndarray, along: Sequence[Any], resolution: int) -> np.ndarray:
    """Evenly spaced points that span all points, and all densities but their faint ends."""
    home = nominal.min(), nominal.max()
    ends = [*home]
    for one in along:
        ends += [*one] if isinstance(one, np.ndarray) else _ends(one, *home, resolution)
    low, high = min(ends), max(ends)
    room = 0.03 * (high - low)
    return np.linspace(low - room, high + room, resolution)


def _ends(density_at: Any, low: float, high: float, resolution: int) -> list[float]:
    """Where a density around [low, high] fades out."""
    seen = np.array([low, high])
    for reach in ((high - low) or 1.0) * 2.0 ** np.arange(-1, 4):
        wide = np.linspace(low - reach, high + reach, resolution)
        density = density_at(wide)
        visible = density > FAINT * density.max()
        if not visible.any():
            break
        seen = wide[visible]
        if not (visible[0] or visible[-1]):
            break
    return [seen[0], seen[-1]]


def _density(worst: WorstCase, x: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Densities (y, x) on the grid, of a worst case that has any."""
    if worst.points() is not None:
        return None
    columns, rows = np.meshgrid(x, y)
    return worst.density(columns.ravel(), rows.ravel()).reshape(columns.shape)


def _clip(density: np.ndarray) -> float:
    """The level that 2 % of the mass lies above, so that a few peaks do not pale the rest."""
    levels = np.sort(density, axis=None)
    above = np.cumsum(levels) > 0.98 * levels.sum()
    return float(levels[np.argmax(above)])
