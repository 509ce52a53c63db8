"""Causal and non-causal transport plans side by side (paper, fig:transport_plan).

The source has one narrow context with two kinds of outcome, the target has two clusters that differ
in both. Without causality each kind of outcome takes the context along to its own cluster; a causal
plan has to send the context before the outcome is seen, and its plan is an aggregate of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, PowerNorm, to_rgb
from matplotlib.figure import Figure

from hedgerow import _checks
from hedgerow.plots.style import COLOURS, GREY, style
from hedgerow.transport import DiscreteMeasure, TransportResult, causal_sinkhorn, sinkhorn
from hedgerow.transport.examples import example_measures

SIZE = (7.4, 4.2)
"""Inches: the width of a page of two columns."""
MEASURE, PLAN = COLOURS[0], COLOURS[1]
MARGINAL_WIDTH = 0.22
"""Share of a panel that the marginal of x at its right edge may take."""
SEEN = 1e-3
"""Contexts with less than this share of the largest mass are outside the picture."""


def transport_plans(
    source: DiscreteMeasure | None = None,
    target: DiscreteMeasure | None = None,
    *,
    epsilons: Sequence[float] = (0.0, 0.5, 5.0),
    outcomes: Sequence[float] = (-1.5, 1.5),
    noncausal_epsilon: float = 0.5,
) -> Figure:
    """Draw source, target, and plans from x̂ to x with and without causality.

    Top: (a) the source, (b) the target, (c) the non-causal plan given each of two source outcomes.
    Bottom: (d) causal plans at three values of epsilon, and the product of the marginals that they
    tend to. A plan is drawn as the density of x̂ and x, on one colour scale for all panels; the line
    at the right edge of a panel is its marginal density of x.

    Parameters
    ----------
    source, target : DiscreteMeasure, optional
        One column of x and of y each, on grids. None: the paper's example.
    epsilons : three numbers
        Weights of the entropy for (d); 0 is the exact causal plan.
    outcomes : two numbers
        Source outcomes for (c); the nearest ones that carry mass are used.
    noncausal_epsilon : float
        Weight of the entropy for (c).

    Examples
    --------
    >>> import hedgerow as hr
    >>> figure = hr.plots.transport_plans()
    """
    if len(epsilons) != 3 or len(outcomes) != 2:
        raise ValueError(
            f"The figure shows three epsilons and two outcomes; got {len(epsilons)} and "
            f"{len(outcomes)}."
        )
    if source is None or target is None:
        example = example_measures()
        source, target = source or example[0], target or example[1]
    for name, measure in (("source", source), ("target", target)):
        _checks.instance(name, measure, DiscreteMeasure, "a hedgerow.DiscreteMeasure(x, y)")
        if measure.x.shape[1] != 1 or measure.y.shape[1] != 1:
            raise ValueError(f"{name} must have one column of x and one of y to be drawn.")
    free = sinkhorn(source, target, noncausal_epsilon)
    causal = [causal_sinkhorn(source, target, epsilon) for epsilon in epsilons]
    given = [free.context_plan_given(outcome) for outcome in outcomes]
    product = np.outer(source.side.context_mass, target.side.context_mass)

    with style():
        fig = Figure(figsize=SIZE, layout="constrained")
        axes: Any = fig.subplots(2, 4)
        _draw_measure(axes[0, 0], source, "(a) source", (r"$\hat{x}$", r"$\hat{y}$"))
        _draw_measure(axes[0, 1], target, "(b) target", ("$x$", "$y$"))
        plans = {
            rf"(c) non-causal, $\hat{{y}}={outcomes[0]:g}$": given[0],
            rf"non-causal, $\hat{{y}}={outcomes[1]:g}$": given[1],
            rf"(d) causal, $\varepsilon={epsilons[0]:g}$": causal[0].context_plan,
            rf"causal, $\varepsilon={epsilons[1]:g}$": causal[1].context_plan,
            rf"causal, $\varepsilon={epsilons[2]:g}$": causal[2].context_plan,
            "product of marginals": product,
        }
        _draw_plans([*axes[0, 2:], *axes[1]], plans, free)
    return fig


def _draw_measure(ax: Any, measure: DiscreteMeasure, title: str, labels: tuple[str, str]) -> None:
    side = measure.side
    x, y = side.contexts[:, 0], side.outcomes[:, 0]
    mass = side.as_grid(side.mass, 0.0)
    ax.pcolormesh(x, y, mass.T, cmap=_shades(MEASURE), shading="nearest", rasterized=True)
    _dress(ax, title, labels)


def _draw_plans(axes: list[Any], plans: dict[str, np.ndarray], result: TransportResult) -> None:
    """Plans as densities on one scale; the square root keeps diffuse plans visible beside sharp."""
    x_hat, x = result.source_contexts[:, 0], result.target_contexts[:, 0]
    area = np.outer(np.gradient(x_hat), np.gradient(x))
    densities = {title: plan / area for title, plan in plans.items()}
    brightest = max(density.max() for density in densities.values())
    scale = PowerNorm(0.5, vmin=0, vmax=brightest)
    mass = next(reversed(plans.values())).sum(axis=1)
    shown = np.abs(x_hat[mass > SEEN * mass.max()]).max() + np.gradient(x_hat).max()
    tallest = max((plan.sum(axis=0) / np.gradient(x)).max() for plan in plans.values())
    for ax, (title, density) in zip(axes, densities.items(), strict=True):
        ax.pcolormesh(
            x_hat, x, density.T, cmap=_shades(PLAN), norm=scale, shading="nearest", rasterized=True
        )
        marginal = plans[title].sum(axis=0) / np.gradient(x) / tallest
        edge = shown * (1 - 2 * MARGINAL_WIDTH * marginal)
        ax.fill_betweenx(x, edge, shown, color=GREY, alpha=0.25, linewidth=0)
        ax.plot(edge, x, color=GREY, linewidth=0.8)
        ax.set_xlim(-shown, shown)
        _dress(ax, title, (r"$\hat{x}$", "$x$"))


def _dress(ax: Any, title: str, labels: tuple[str, str]) -> None:
    ax.set_title(title, fontsize=8.5, pad=5)
    ax.set_xlabel(labels[0], labelpad=1)
    ax.set_ylabel(labels[1], rotation=0, labelpad=5, va="center")
    ax.tick_params(labelsize=8, length=2.5)
    ax.set_box_aspect(1)
    for spine in ax.spines.values():
        spine.set_visible(True)


def _shades(colour: str) -> Any:
    """From white to a colour and on to a darker one, evenly to the eye."""
    dark = tuple(0.35 * part for part in to_rgb(colour))
    return LinearSegmentedColormap.from_list(colour, ["white", colour, dark])
