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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hedgerow import _checks
from hedgerow.ambiguity import Ambiguity
from hedgerow.estimator import RobustPolicy
from hedgerow.nominal import NominalDistribution
from hedgerow.plots.style import (
    COLOURS,
    GREY,
    INK,
    decisions_of,
    feature_names,
    outcome_name,
    shortened,
    style,
)
from hedgerow.worst_cases import DiscreteWorstCase, SmoothWorstCase, WorstCase, worst_case

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, RED = COLOURS[:2]
SHADES = ("#FFFFFF", "#C6DDF0", "#5FA3D3", BLUE, "#0B2A4A")
PANEL_WIDTH, NARROWEST, HEIGHT = 1.72, 4.8, 3.2
"""Inches; the legend needs some width even under one panel."""
SMALL, TINY = 8, 7
RESOLUTION = 100
"""Points along each axis at which densities are evaluated."""
BINS = 25
FAINT = 0.005
"""Share of a density's peak below which it is left off the axes."""
MOST_ACROSS, MOST_UPRIGHT, MOST_TITLE = 24, 30, 18
"""Characters that fit along a panel."""
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
    nominal = _Points.of(policy.problem(X, Y).nominal)
    if np.ptp(nominal.x) == 0:
        raise ValueError("The feature has one value only, so there is no second axis to draw on.")
    worst = [worst_case(policy, X, Y, ambiguity=model) for model in named.values()]
    x = _axis(nominal.x, [_along_x(one) for one in worst], resolution)
    y = _axis(nominal.y, [_along_y(one) for one in worst], resolution)
    densities = [_density(one, x, y) for one in worst]
    decisions = decisions_of(policy, x[:, None])[:, 0]
    brightest = max((_clip(d) for d in densities if d is not None), default=1.0)

    with style():
        fig, panels, below = _panels(len(worst))
        for i, (title, one, density) in enumerate(zip(named, worst, densities, strict=True)):
            panel = panels[i]
            if density is not None:
                _draw_density(panel.main, x, y, density, brightest)
                _draw_nominal(panel.main, nominal)
            elif isinstance(one, DiscreteWorstCase):
                _draw_points(panel.main, one, nominal)
            if decision_label:
                panel.main.plot(x, decisions, color=INK, linewidth=0.9, zorder=4)
            _draw_marginals(panel, one, x, y)
            _describe(panel, i, title, one)
        first = panels[0]
        first.main.set_xlim(x[0], x[-1])
        first.main.set_ylim(y[0], y[-1])
        first.top.set_ylim(bottom=0)
        first.right.set_xlim(left=0)
        across = feature_label or feature_names(policy, X)[0]
        upright = outcome_label or outcome_name(policy, Y, 0)
        first.main.set_ylabel(shortened(upright, MOST_UPRIGHT))
        for panel in panels:
            panel.main.set_xlabel(shortened(across, MOST_ACROSS))
        _legend(below, worst, decision_label)
        if caption:
            lines = textwrap.fill(caption, round(LETTERS_PER_INCH * fig.get_figwidth()))
            fig.supxlabel(lines, fontsize=TINY, color=GREY)
    return fig


class _Points(NamedTuple):
    """Points of a discrete distribution over one feature and one outcome."""

    x: np.ndarray
    y: np.ndarray
    mass: np.ndarray

    @classmethod
    def of(cls, nominal: NominalDistribution) -> _Points:
        owner = np.repeat(np.arange(len(nominal.contexts)), nominal.count)
        outcomes = nominal.outcomes[nominal.entry_outcome]
        return cls(nominal.contexts[owner, 0], outcomes[:, 0], nominal.joint_mass())


class _Panel(NamedTuple):
    """The axes of one model: what is drawn, and its marginals."""

    main: Any
    top: Any
    right: Any


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
    check_is_fitted(policy, "rule_")
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


def _along_x(worst: WorstCase) -> Any:
    return worst.x[:, 0] if isinstance(worst, DiscreteWorstCase) else worst.marginal_x


def _along_y(worst: WorstCase) -> Any:
    return worst.y[:, 0] if isinstance(worst, DiscreteWorstCase) else worst.marginal_y


def _axis(nominal: np.ndarray, along: list[Any], resolution: int) -> np.ndarray:
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
    if not isinstance(worst, SmoothWorstCase):
        return None
    columns, rows = np.meshgrid(x, y)
    return worst.density(columns.ravel(), rows.ravel()).reshape(columns.shape)


def _clip(density: np.ndarray) -> float:
    """The level that 2 % of the mass lies above, so that a few peaks do not pale the rest."""
    levels = np.sort(density, axis=None)
    above = np.cumsum(levels) > 0.98 * levels.sum()
    return float(levels[np.argmax(above)])


# --------------------------------------------------------------------------- what is drawn


def _panels(count: int) -> tuple[Any, list[_Panel], Any]:
    """One row of panels that share their axes, with room above and to the right of each."""
    from matplotlib.figure import Figure

    width = max(0.55 + PANEL_WIDTH * count, NARROWEST)
    fig = Figure(figsize=(width, HEIGHT), layout="constrained")
    fig.set_layout_engine("constrained", w_pad=0.01, h_pad=0.03, wspace=0.0, hspace=0.0)
    grid = fig.add_gridspec(
        3,
        3 * count - 1,
        width_ratios=[*[1, 0.24, 0.06] * (count - 1), 1, 0.24],
        height_ratios=[1.1, 5, 0.3],
    )
    panels: list[_Panel] = []
    for i in range(count):
        first = panels[0] if panels else _Panel(None, None, None)
        main = fig.add_subplot(grid[1, 3 * i], sharex=first.main, sharey=first.main)
        top = fig.add_subplot(grid[0, 3 * i], sharex=main, sharey=first.top)
        right = fig.add_subplot(grid[1, 3 * i + 1], sharey=main, sharex=first.right)
        main.tick_params(labelsize=SMALL, labelleft=i == 0, length=2.5)
        main.xaxis.label.set_fontsize(SMALL)
        main.yaxis.label.set_fontsize(SMALL)
        main.locator_params(nbins=5)
        for margin, base in ((top, "bottom"), (right, "left")):
            margin.tick_params(
                length=0, labelleft=False, labelbottom=False, which="both", left=False, bottom=False
            )
            for side, spine in margin.spines.items():
                spine.set_visible(side == base)
        panels.append(_Panel(main, top, right))
    below = fig.add_subplot(grid[2, :])
    below.set_axis_off()
    return fig, panels, below


def _shades() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("hedgerow", list(SHADES))


def _draw_density(
    ax: Any, x: np.ndarray, y: np.ndarray, density: np.ndarray, brightest: float
) -> None:
    from matplotlib.colors import PowerNorm

    half_x, half_y = (x[1] - x[0]) / 2, (y[1] - y[0]) / 2
    ax.imshow(
        density,
        extent=(x[0] - half_x, x[-1] + half_x, y[0] - half_y, y[-1] + half_y),
        origin="lower",
        aspect="auto",
        interpolation="bilinear",
        cmap=_shades(),
        norm=PowerNorm(0.8, 0, brightest, clip=True),
        zorder=0,
    )


def _draw_nominal(ax: Any, nominal: _Points) -> None:
    ax.scatter(nominal.x, nominal.y, s=_areas(nominal.mass), color=RED, linewidths=0, zorder=3)


def _areas(mass: np.ndarray) -> np.ndarray:
    """Areas in proportion to mass, the usual point's being the same however many there are."""
    usual = np.sqrt(100 / max(len(mass), 100)) * 5
    return np.clip(usual * mass / np.median(mass), 0.5, 8 * usual)


def _moved(worst: DiscreteWorstCase) -> bool:
    return bool(np.any(worst.x != worst.from_x) or np.any(worst.y != worst.from_y))


def _draw_points(ax: Any, worst: DiscreteWorstCase, nominal: _Points) -> None:
    """Arrows to where points were moved; if none was, points as dark as their mass."""
    x, y, from_x, from_y = (a[:, 0] for a in (worst.x, worst.y, worst.from_x, worst.from_y))
    if _moved(worst):
        _draw_nominal(ax, nominal)
        ax.quiver(
            from_x,
            from_y,
            x - from_x,
            y - from_y,
            angles="xy",
            scale_units="xy",
            scale=1,
            color=BLUE,
            units="inches",
            width=0.006,
            headwidth=5,
            headlength=6,
            headaxislength=5,
            zorder=2,
        )
        return
    from matplotlib.colors import PowerNorm

    order = np.argsort(worst.weights)
    ax.scatter(
        x[order],
        y[order],
        c=worst.weights[order],
        s=16,
        cmap=_shades(),
        norm=PowerNorm(0.5, 0, worst.weights.max()),
        edgecolors=GREY,
        linewidths=0.3,
        zorder=3,
    )


def _draw_marginals(panel: _Panel, worst: WorstCase, x: np.ndarray, y: np.ndarray) -> None:
    for ax, grid, along, upright in (
        (panel.top, x, _along_x(worst), False),
        (panel.right, y, _along_y(worst), True),
    ):
        if isinstance(worst, DiscreteWorstCase):
            edges = np.linspace(grid[0], grid[-1], BINS + 1)
            heights = np.histogram(along, edges, weights=worst.weights, density=True)[0]
            way = "horizontal" if upright else "vertical"
            ax.stairs(heights, edges, orientation=way, fill=True, color=BLUE, alpha=0.5)
        else:
            fill = ax.fill_betweenx if upright else ax.fill_between
            fill(grid, along(grid), color=BLUE, alpha=0.5, linewidth=0)


def _describe(panel: _Panel, place: int, title: str, worst: WorstCase) -> None:
    letter = f"({'abcdefghijklmnopqrstuvwxyz'[place % 26]})"
    panel.top.set_title(f"{letter} {shortened(title, MOST_TITLE)}", fontsize=SMALL + 1, pad=13)
    panel.top.annotate(
        f"expected loss {worst.expected_loss():.3g}",
        (0, 1),
        xytext=(0, 3),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=TINY,
        color=GREY,
    )


def _legend(ax: Any, worst: list[WorstCase], decision_label: str | None) -> None:
    from matplotlib.legend_handler import HandlerTuple
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    def sign(marker: str, size: float, colour: str) -> Any:
        shown = {"marker": marker, "markersize": size, "markeredgewidth": 0}
        return Line2D([], [], color=colour, linestyle="none", **shown)

    moves = [isinstance(one, DiscreteWorstCase) and _moved(one) for one in worst]
    smooth = [isinstance(one, SmoothWorstCase) for one in worst]
    handles: list[tuple[Any, str]] = []
    if any(moves) or any(smooth):
        handles.append((sign("o", 3, RED), "nominal point"))
    if any(moves):
        handles.append((sign(r"$\rightarrow$", 11, BLUE), "moved to"))
    if decision_label:
        line = Line2D([], [], color=INK, linewidth=0.9)
        handles.append((line, shortened(decision_label, MOST_ACROSS)))
    if not all(moves):
        kinds = ["density"] * any(smooth) + ["mass"] * (sum(moves) + sum(smooth) < len(worst))
        shades = tuple(Patch(color=shade) for shade in SHADES[1:])
        handles.append((shades, f"{' or '.join(kinds)}, low to high"))
    ax.legend(
        [handle for handle, _ in handles],
        [label for _, label in handles],
        loc="center",
        ncols=len(handles),
        fontsize=TINY,
        columnspacing=2.5,
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0)},
    )
