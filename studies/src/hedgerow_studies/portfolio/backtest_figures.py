"""Backtests: how wealth grew, how far it fell, and what was held.

Lines are labelled where they end, so no legend has to be looked up; hindsight, which nobody can
follow, is left out of wealth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.metrics import drawdown
from hedgerow.plots.style import COLOURS, GREY, INK, PALE, style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LINES = (*COLOURS, "#E69F00", "#56B4E9", "#8C6D31", INK, GREY)
SIZE, WEIGHTS_SIZE = (7.4, 5.6), (7.4, 4.0)
NAMED = 8
"""Assets that get a colour of their own where weights are drawn."""
LEAST_GAP = 0.055
"""Between two labels at the right edge, as a share of the panel's height."""


def wealth(tracks: pd.DataFrame, *, title: str = "") -> Figure:
    """Cumulative return above, drawdown below, one line per column.

    Parameters
    ----------
    tracks : DataFrame
        Daily returns in percent, indexed by date, one column per method.
    title : str
        Over the figure.
    """
    from matplotlib.figure import Figure

    with style():
        fig = Figure(figsize=SIZE, layout="constrained")
        above, below = fig.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        dates = tracks.index.to_numpy()
        ends: list[tuple[float, str, str]] = []
        for i, name in enumerate(tracks.columns):
            colour = LINES[i % len(LINES)]
            daily = tracks[name].to_numpy() / 100
            grown = 100 * (np.cumprod(1 + daily) - 1)
            above.plot(dates, grown, color=colour, linewidth=1.4)
            below.plot(dates, -100 * drawdown(daily), color=colour, linewidth=1.0)
            ends.append((float(grown[-1]), str(name), colour))
        above.axhline(0, color=PALE, linewidth=0.8, zorder=0)
        below.axhline(0, color=PALE, linewidth=0.8, zorder=0)
        above.set_ylabel("cumulative return, %")
        below.set_ylabel("drawdown, %")
        above.set_title(title)
        _label_ends(above, dates[-1], ends)
        _date_axis(below)
        fig.align_ylabels()
        return fig


def held(weights: pd.DataFrame, *, title: str = "") -> Figure:
    """What was held after each decision: a bar per date, the largest holdings named.

    Parameters
    ----------
    weights : DataFrame
        One row per holding, with columns ``date``, ``asset`` and ``weight``.
    """
    from matplotlib.figure import Figure

    with style():
        fig = Figure(figsize=WEIGHTS_SIZE, layout="constrained")
        ax = fig.add_subplot()
        by_date = weights.pivot_table(
            index="date", columns="asset", values="weight", aggfunc="sum", fill_value=0.0
        )
        order = by_date.mean().sort_values(ascending=False).index
        named, others = list(order[:NAMED]), list(order[NAMED:])
        places = np.arange(len(by_date))
        floor = np.zeros(len(by_date))
        for i, asset in enumerate(named):
            share = 100 * by_date[asset].to_numpy()
            ax.bar(places, share, 0.86, bottom=floor, color=LINES[i], label=str(asset))
            floor = floor + share
        # the rest are bricks of grey, largest first, so that their number can be seen
        rest = -np.sort(-100 * by_date[others].to_numpy(), axis=1)
        for rank in range(rest.shape[1]):
            label = f"{len(others)} others" if rank == 0 else None
            ax.bar(places, rest[:, rank], 0.86, bottom=floor, color=PALE, edgecolor="white",
                   linewidth=0.4, label=label)  # fmt: skip
            floor = floor + rest[:, rank]
        months = [str(date)[:7] for date in by_date.index]
        every = max(1, len(months) // 12)
        ax.set_xticks(places[::every], months[::every], rotation=45, ha="right")
        ax.set_ylim(0, 100)
        ax.set_xlim(-0.6, len(places) - 0.4)
        ax.set_ylabel("weight, %")
        ax.set_title(title)
        fig.legend(loc="outside right upper", reverse=True)
        return fig


def _label_ends(ax: Axes, last: Any, ends: list[tuple[float, str, str]]) -> None:
    """Write names beside the ends of lines, pushed apart where they would overlap."""
    low, high = ax.get_ylim()
    gap = LEAST_GAP * (high - low)
    places: list[float] = []
    ordered = sorted(ends)
    for value, _, _ in ordered:
        places.append(value if not places else max(value, places[-1] + gap))
    shift = max(0.0, places[-1] - high)
    for (value, name, colour), place in zip(ordered, places, strict=True):
        ax.annotate(
            name, (last, value), (8, 0), textcoords="offset points", color=colour, fontsize=9,
            va="center", annotation_clip=False,
        ).set_position((8, _points(ax, place - shift - value)))  # fmt: skip


def _points(ax: Axes, height: float) -> float:
    """Data height in points, on the panel's present limits."""
    low, high = ax.get_ylim()
    panel = SIZE[1] * 72 * 0.5
    return height / (high - low) * panel


def _date_axis(ax: Axes) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=4, maxticks=9)
    ax.xaxis.set_major_locator(locator)
    ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))
