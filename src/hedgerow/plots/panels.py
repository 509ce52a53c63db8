"""Panels of worst cases: colour for density or mass, arrows for moves, marginals, words.

What is drawn was evaluated in ``worst_cases.py``; here it becomes ink.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from hedgerow.certify.worst_cases import DiscreteWorstCase, WorstCase
from hedgerow.data.nominal import NominalDistribution
from hedgerow.describe.numbers import number
from hedgerow.plots.labels import PLAIN, beside, plain_legend, shortened
from hedgerow.plots.style import COLOURS, GREY, INK

BLUE, RED = COLOURS[:2]
SHADES = ("#FFFFFF", "#C6DDF0", "#5FA3D3", BLUE, "#0B2A4A")
SHADED = LinearSegmentedColormap.from_list("hedgerow", SHADES)
PANEL_WIDTH, NARROWEST, HEIGHT = 1.72, 4.8, 3.2
"""Inches; the legend needs some width even under one panel."""
SMALL, TINY = 8, 7
IN_DATA_UNITS: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1}
ARROW: dict[str, Any] = {"headwidth": 5, "headlength": 6, "headaxislength": 5}
BINS = 25
MOST_ACROSS, MOST_UPRIGHT, MOST_TITLE = 24, 30, 18
"""Characters that fit along a panel."""


class Points(NamedTuple):
    """Points of a discrete distribution over one feature and one outcome."""

    x: np.ndarray
    y: np.ndarray
    mass: np.ndarray

    @classmethod
    def of(cls, nominal: NominalDistribution) -> Points:
        """Every outcome of every context, with its mass."""
        owner = np.repeat(np.arange(len(nominal.contexts)), nominal.count)
        outcomes = nominal.outcomes[nominal.entry_outcome]
        return cls(nominal.contexts[owner, 0], outcomes[:, 0], nominal.joint_mass())


class Panel(NamedTuple):
    """The axes of one model: what is drawn, and its marginals."""

    main: Any
    top: Any
    right: Any


def marginals(worst: WorstCase) -> tuple[Any, Any]:
    """The points' x and y, or the functions that give the densities of x and of y."""
    points = worst.points()
    if points is None:
        return worst.marginal_x, worst.marginal_y
    return points.x[:, 0], points.y[:, 0]


def row_of_panels(count: int) -> tuple[Any, list[Panel], Any]:
    """One row of panels that share their axes, with room above and to the right of each."""
    width = max(0.55 + PANEL_WIDTH * count, NARROWEST)
    fig = Figure(figsize=(width, HEIGHT), layout="constrained")
    fig.set_layout_engine("constrained", w_pad=0.01, h_pad=0.03, wspace=0.0, hspace=0.0)
    widths = [1, 0.24, 0.06] * count  # a panel, its margin, and room before the next
    grid = fig.add_gridspec(3, 3 * count - 1, width_ratios=widths[:-1], height_ratios=[1.1, 5, 0.3])
    panels: list[Panel] = []
    for i in range(count):
        first = panels[0] if panels else Panel(None, None, None)
        main = fig.add_subplot(grid[1, 3 * i], sharex=first.main, sharey=first.main)
        top = fig.add_subplot(grid[0, 3 * i], sharex=main, sharey=first.top)
        right = fig.add_subplot(grid[1, 3 * i + 1], sharey=main, sharex=first.right)
        main.tick_params(labelsize=SMALL, labelleft=i == 0, length=2.5)
        main.xaxis.label.set_fontsize(SMALL)
        main.yaxis.label.set_fontsize(SMALL)
        main.locator_params(nbins=5)
        for margin, base in ((top, "bottom"), (right, "left")):
            margin.tick_params(left=False, bottom=False, labelleft=False, labelbottom=False)
            for side, spine in margin.spines.items():
                spine.set_visible(side == base)
        panels.append(Panel(main, top, right))
    below = fig.add_subplot(grid[2, :])
    below.set_axis_off()
    return fig, panels, below


def draw_density(
    ax: Any, x: np.ndarray, y: np.ndarray, density: np.ndarray, brightest: float
) -> None:
    """A density (y, x) as colour, the same up to ``brightest`` in every panel."""
    half_x, half_y = (x[1] - x[0]) / 2, (y[1] - y[0]) / 2
    extent = (x[0] - half_x, x[-1] + half_x, y[0] - half_y, y[-1] + half_y)
    shades = {"cmap": SHADED, "norm": PowerNorm(0.8, 0, brightest, clip=True)}
    place = {"extent": extent, "origin": "lower", "aspect": "auto"}
    ax.imshow(density, **place, **shades, interpolation="bilinear", zorder=0)


def draw_nominal(ax: Any, nominal: Points) -> None:
    """Nominal points, as large as their mass."""
    ax.scatter(nominal.x, nominal.y, s=_areas(nominal.mass), color=RED, linewidths=0, zorder=3)


def _areas(mass: np.ndarray) -> np.ndarray:
    """Areas in proportion to mass, the usual point's being the same however many there are."""
    usual = np.sqrt(100 / max(len(mass), 100)) * 5
    return np.clip(usual * mass / np.median(mass), 0.5, 8 * usual)


def draw_points(ax: Any, worst: DiscreteWorstCase, nominal: Points) -> None:
    """Arrows to where points were moved; if none was, points as dark as their mass."""
    x, y, from_x, from_y = (a[:, 0] for a in (worst.x, worst.y, worst.from_x, worst.from_y))
    if worst.has_moved():
        draw_nominal(ax, nominal)
        moved = (from_x, from_y, x - from_x, y - from_y)
        thin = {"units": "inches", "width": 0.006}
        ax.quiver(*moved, **IN_DATA_UNITS, **ARROW, **thin, color=BLUE, zorder=2)
        return
    order = np.argsort(worst.weights)
    shades = {"cmap": SHADED, "norm": PowerNorm(0.5, 0, worst.weights.max())}
    rim = {"edgecolors": GREY, "linewidths": 0.3}
    ax.scatter(x[order], y[order], 16, worst.weights[order], **shades, **rim, zorder=3)


def draw_marginals(panel: Panel, worst: WorstCase, x: np.ndarray, y: np.ndarray) -> None:
    """Densities of x above and of y to the right; histograms where there are points only."""
    points, (along_x, along_y) = worst.points(), marginals(worst)
    for ax, grid, along, upright in (
        (panel.top, x, along_x, False),
        (panel.right, y, along_y, True),
    ):
        if points is not None:
            edges = np.linspace(grid[0], grid[-1], BINS + 1)
            heights = np.histogram(along, edges, weights=points.weights, density=True)[0]
            way = "horizontal" if upright else "vertical"
            ax.stairs(heights, edges, orientation=way, fill=True, color=BLUE, alpha=0.5)
        else:
            fill = ax.fill_betweenx if upright else ax.fill_between
            fill(grid, along(grid), color=BLUE, alpha=0.5, linewidth=0)


def head(panel: Panel, place: int, title: str, worst: WorstCase) -> None:
    """Letter, title and expected loss above a panel."""
    letter = f"({'abcdefghijklmnopqrstuvwxyz'[place % 26]})"
    title = f"{letter} {shortened(title, MOST_TITLE)}"
    panel.top.set_title(title, fontsize=SMALL + 1, pad=13, **PLAIN)
    words = f"expected loss {number(worst.expected_loss(), 3)}"
    where = {"xycoords": "axes fraction", "va": "baseline"}
    beside(panel.top, words, (0, 1), (0, 3), fontsize=TINY, color=GREY, **where)


def draw_legend(ax: Any, worst: list[WorstCase], decision_label: str | None) -> None:
    """Say what the signs mean that occur in any of the panels."""

    def sign(marker: str, size: float, colour: str) -> Any:
        shown = {"marker": marker, "markersize": size, "markeredgewidth": 0}
        return Line2D([], [], color=colour, linestyle="none", **shown)

    points = [one.points() for one in worst]
    moves = [one is not None and one.has_moved() for one in points]
    smooth = [one is None for one in points]
    handles: dict[str, Any] = {}
    if any(moves) or any(smooth):
        handles["nominal point"] = sign("o", 3, RED)
    if any(moves):
        handles["moved to"] = sign(r"$\rightarrow$", 11, BLUE)
    if decision_label:
        label = shortened(decision_label, MOST_ACROSS)
        handles[label] = Line2D([], [], color=INK, linewidth=0.9)
    if not all(moves):
        kinds = ["density"] * any(smooth) + ["mass"] * (sum(moves) + sum(smooth) < len(worst))
        shades = tuple(Patch(color=shade) for shade in SHADES[1:])
        handles[f"{' or '.join(kinds)}, low to high"] = shades
    legend = ax.legend(
        handles.values(),
        handles.keys(),
        loc="center",
        ncols=len(handles),
        fontsize=TINY,
        columnspacing=2.5,
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0)},
    )
    plain_legend(legend)
