"""What protection costs: price against value over radii (a frontier)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hedgerow.certify.radii import RadiusMenu
from hedgerow.describe.numbers import number
from hedgerow.plots.style import drawing


def radius_frontier(
    menu: RadiusMenu,
    *,
    loss_label: str = "mean cost",
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw what a policy costs if nothing changes and what its cost cannot exceed, by radius.

    Parameters
    ----------
    menu : RadiusMenu
        From ``hedgerow.radius_menu``.
    loss_label : str
        What costs are counted in.
    title : str, optional
    ax : Axes, optional
        Where to draw; None: a new figure.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss, hedge = hr.Newsvendor(0.6, 1.0), hr.KL(penalty=2.0)
    >>> policy = hr.RobustPolicy(loss, hedge, solver=hr.SCSC(steps=50), random_state=0)
    >>> _ = policy.fit(data.data, data.target)
    >>> menu = hr.radius_menu(policy, data.data, data.target, radii=[0.05, 0.2])
    >>> figure = hr.plots.radius_frontier(menu)
    """
    finite = np.isfinite(menu.value)
    with drawing(ax, title) as (fig, axes):
        axes: Any
        axes.plot(menu.radii[finite], menu.value[finite], marker="o", label="at most, within")
        axes.plot(menu.radii, menu.price, marker="o", label="if nothing changes")
        axes.fill_between(
            menu.radii[finite], menu.price[finite], menu.value[finite], alpha=0.12, linewidth=0
        )
        axes.set_xscale("log")
        axes.set_xticks(menu.radii, [number(radius, 3) for radius in menu.radii])
        axes.minorticks_off()
        axes.set_xlabel("radius")
        axes.set_ylabel(loss_label)
        axes.legend(frameon=False)
    return fig
