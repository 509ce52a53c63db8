"""A search at a glance: held-out losses over penalties and epsilons (paper: Figure 6)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from hedgerow.describe.numbers import number
from hedgerow.plots.style import INK, drawing
from hedgerow.search import RobustPolicyCV


def search_map(
    search: RobustPolicyCV,
    *,
    loss_label: str = "held-out loss",
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw the mean held-out loss for every penalty and epsilon, at its best number of steps.

    Where rules, nominals or orders were tried too, it is the best of them. The chosen pair is
    framed; an infinite penalty is the empirical risk, which has no epsilon.

    Parameters
    ----------
    search : RobustPolicyCV
        After ``fit``.
    loss_label : str
        What the colours count.
    title : str, optional
    ax : Axes, optional
        Where to draw; None: a new figure.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> search = hr.RobustPolicyCV(
    ...     hr.Newsvendor(0.6, 1.0), penalties=(3, 10), epsilons=(0.01, 0.1), cv=2, random_state=0
    ... )
    >>> figure = hr.plots.search_map(search.fit(data.data, data.target))
    """
    table: Any = search.cv_results_
    if "epsilon" not in table or table["epsilon"].isna().all():
        raise ValueError("There is no map to draw: no model with an epsilon was tried.")
    hedged = table[np.isfinite(table["penalty"])]
    cells = hedged.pivot_table(
        index="epsilon", columns="penalty", values="mean_loss", aggfunc="min"
    )
    penalties, epsilons = list(cells.columns), list(cells.index)
    values = cells.to_numpy(dtype=float)
    plain = table[np.isinf(table["penalty"])]
    if len(plain):
        values = np.column_stack([values, np.full(len(epsilons), plain["mean_loss"].min())])
        penalties.append(np.inf)
    finite = values[np.isfinite(values)]
    with drawing(ax, title) as (fig, axes):
        dearest = np.quantile(finite, 0.9) if np.ptp(finite) > 0 else None
        colours = {"cmap": "viridis_r", "vmin": finite.min(), "vmax": dearest}
        image = axes.imshow(values, origin="lower", aspect="auto", **colours)
        axes.set_xticks(range(len(penalties)), [number(p) for p in penalties])
        axes.set_yticks(range(len(epsilons)), [number(e) for e in epsilons])
        middle = np.mean(image.get_clim())
        for (i, j), value in np.ndenumerate(values):
            text = number(value) if np.isfinite(value) else "–"
            ink = INK if value < middle else "white"
            axes.text(j, i, text, ha="center", va="center", color=ink, fontsize=9)
        # what was chosen is framed: one cell, or the column of the empirical risk
        chosen, row, height = search.best_params_, 0, len(epsilons)
        if "epsilon" in chosen:
            row, height = epsilons.index(chosen["epsilon"]), 1
        corner = (penalties.index(chosen["penalty"]) - 0.5, row - 0.5)
        axes.add_patch(Rectangle(corner, 1, height, fill=False, edgecolor=INK, linewidth=2.5))
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        axes.set_xlabel("penalty (∞: empirical risk)" if len(plain) else "penalty")
        axes.set_ylabel("epsilon")
        fig.colorbar(image, ax=axes, label=loss_label, extend="max")
    return fig
