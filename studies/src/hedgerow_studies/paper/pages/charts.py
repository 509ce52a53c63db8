"""What several pages draw: groups of boxes, and maps of numbers that share their colours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from hedgerow.plots.style import GREY, INK, PALE, style
from hedgerow_studies.paper.pages.study_page import number

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOWEST = -100.0
"""Percent; what is worse is drawn at the edge."""
FEW = 5
"""Values up to which each is drawn as a point beside its box."""


def draw_boxes(
    ax: Any,
    groups: Sequence[Iterable[float]],
    places: Iterable[float],
    colour: str,
    label: str,
    width: float,
    hatch: str = "",
) -> None:
    """Boxes of one colour, one per group that has values; few values are points as well."""
    known = [np.asarray(list(group), float) for group in groups]
    known = [group[np.isfinite(group)] for group in known]
    shown = [(p, group) for p, group in zip(places, known, strict=True) if len(group)]
    if not shown:
        return
    drawn = ax.boxplot(
        [group for _, group in shown],
        positions=[place for place, _ in shown],
        widths=width,
        patch_artist=True,
        manage_ticks=False,
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": colour},
        medianprops={"color": INK, "linewidth": 1.0},
        whiskerprops={"color": colour},
        capprops={"color": colour},
        boxprops={"facecolor": f"{colour}55", "edgecolor": colour, "hatch": hatch},
    )
    drawn["boxes"][0].set_label(label)
    for place, group in shown:
        if len(group) <= FEW:
            ax.plot(np.full(len(group), place), group, ".", color=colour, markersize=4, zorder=3)


def draw_published(
    ax: Any, places: Iterable[float], means: Iterable[float], *, labelled: bool
) -> None:
    """Small diamonds where the published means are."""
    ax.plot(
        list(places), list(means), linestyle="none", marker="D", markersize=3.5, zorder=5,
        markerfacecolor="white", markeredgecolor=INK, markeredgewidth=0.8,
        label="published (own ERM)" if labelled else None,
    )  # fmt: skip


def box_panels(
    parts: Mapping[str, pd.DataFrame],
    columns: Sequence[str],
    by: str,
    looks: Mapping[str, tuple[str, str]],
    printed: Callable[[str, str, float], float],
    *,
    width: float,
    at: str = "omega",
    label: str = "ω",
) -> Figure:
    """Panels by part and baseline: boxes of prescriptiveness over draws, and published means.

    Parts run down and baselines across; those of a single part run down.

    Parameters
    ----------
    parts : dict of title → DataFrame
        A row of panels each.
    columns : sequence of str
        Baselines: columns of the tables, in percent. Those without values are left out.
    by : str
        The column that tells what stands side by side.
    looks : dict of value of ``by`` → (colour, what it is called)
    printed : (title, value of ``by``, value of ``at``) → float
        The published mean, which is against a baseline of its own; drawn once.
    width : float
        Of a box, where places along the axis are 1 apart.
    at, label : str
        The column along the axis, and what it is called.
    """
    from matplotlib.figure import Figure

    known = [b for b in columns if any(part[b].notna().any() for part in parts.values())]
    along = sorted(set().union(*(part[at] for part in parts.values())))
    down, across = (len(known), 1) if len(parts) == 1 else (len(parts), len(known))
    with style():
        fig = Figure(figsize=(7.8, 0.9 + 2.3 * down), layout="constrained")
        axes: Any = fig.subplots(down, across, sharex=True, sharey=True, squeeze=False)
        axes = axes.reshape(len(parts), len(known))
        for (i, title), (j, baseline) in product(enumerate(parts), enumerate(known)):
            ax, part = axes[i, j], parts[title]
            for k, (key, (colour, called)) in enumerate(looks.items()):
                own = part[part[by] == key]
                places = np.arange(len(along)) + (k - (len(looks) - 1) / 2) * width * 1.2
                groups = [own[own[at] == value][baseline].clip(LOWEST) for value in along]
                draw_boxes(ax, groups, places, colour, called, width)
                if j == 0:
                    means = [printed(title, key, value) for value in along]
                    draw_published(ax, places, means, labelled=k == len(looks) - 1)
            ax.axhline(0, color=GREY, linewidth=0.8, zorder=0)
            ax.set_xticks(np.arange(len(along)), [f"{value:g}" for value in along])
            if i == 0:
                ax.set_title(f"against {baseline}")
            if ax.get_subplotspec().is_last_row():
                ax.set_xlabel(label)
            if ax.get_subplotspec().is_first_col():
                ax.set_ylabel(f"{title}\nprescriptiveness, %".strip())
        handles = axes[0, 0].get_legend_handles_labels()
        count = len(handles[0])
        fig.legend(*handles, loc="outside upper center", ncols=count if count < 5 else 3)
    return fig


def heat_maps(
    maps: Mapping[str, pd.DataFrame],
    label: str,
    *,
    digits: int = 3,
    low_is_good: bool = True,
    framed: Mapping[str, tuple[float, float]] | None = None,
) -> Figure:
    """Maps side by side on one scale of colours, good ones light, every value written.

    Parameters
    ----------
    maps : dict of title → DataFrame
        Epsilons down, penalties across. NaN is a value that is infinite.
    label : str
        What the colours count.
    digits : int
        Decimals of the values.
    low_is_good : bool
        Whether small values are the light ones.
    framed : dict of title → (penalty, epsilon), optional
        A cell to put a frame around, where the map has it.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    finite = np.concatenate([m.to_numpy(float).ravel() for m in maps.values()])
    finite = finite[np.isfinite(finite)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 1.0)
    with style():
        rows = max(len(values.index) for values in maps.values())
        fig = Figure(figsize=(7.4, 1.7 + 0.5 * rows), layout="constrained")
        axes: Any = fig.subplots(1, len(maps), sharey=True, squeeze=False)[0]
        image: Any = None
        for ax, (title, values) in zip(axes, maps.items(), strict=True):
            cells = values.to_numpy(float)
            image = ax.imshow(
                cells, origin="lower", aspect="auto", vmin=low, vmax=high,
                cmap="viridis_r" if low_is_good else "viridis",
            )  # fmt: skip
            for (i, j), value in np.ndenumerate(cells):
                known = bool(np.isfinite(value))
                dark = known and (value > (low + high) / 2) == low_is_good
                ax.text(
                    j, i, number(value, digits) if known else "∞", ha="center", va="center",
                    color="white" if dark else INK, fontsize=8.5,
                )  # fmt: skip
            penalties, epsilons = list(values.columns), list(values.index)
            ax.set_xticks(range(len(penalties)), [f"{value:g}" for value in penalties])
            ax.set_yticks(range(len(epsilons)), [f"{value:g}" for value in epsilons])
            penalty, epsilon = (framed or {}).get(title, (None, None))
            if penalty in penalties and epsilon in epsilons:
                corner = (penalties.index(penalty) - 0.5, epsilons.index(epsilon) - 0.5)
                frame = Rectangle(corner, 1, 1, fill=False, edgecolor=INK, linewidth=2.5, zorder=4)
                frame.set_clip_on(False)
                ax.add_patch(frame)
            ax.set_title(title)
            ax.set_xlabel("penalty")
            ax.set_facecolor(PALE)
            ax.spines[:].set_visible(False)
            ax.tick_params(length=0)
        axes[0].set_ylabel("epsilon")
        fig.colorbar(image, ax=list(axes), label=label, shrink=0.9)
    return fig
