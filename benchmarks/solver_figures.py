"""Figures of the solver comparison: work against precision, and rates of convergence."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from hedgerow.plots.style import COLOURS, GREY, INK, PALE, style

LOOKS = {
    "SCSC": (COLOURS[0], "-", "o"),
    "SCGD": (COLOURS[2], "-", "s"),
    "MLMC": (COLOURS[1], "-", "^"),
    "NestedSGD, 4 nodes": (GREY, "--", "o"),
    "NestedSGD, 32 nodes": (GREY, "-", "s"),
    "SAA, 16 nodes": (COLOURS[3], "--", "D"),
    "SAA, 64 nodes": (COLOURS[3], "-", "D"),
    "SCSC, shared tracker": (PALE, "-", "v"),
    "Algorithm 1 as printed": (PALE, ":", "v"),
}
SHOWN = (
    ("newsvendor, p = 2", "affine"),
    ("newsvendor, p = 2", "forest"),
    ("mean–variance, p = 2", "forest"),
    ("inventory, p = 2", "forest"),
)
AXES = (
    ("seconds", "excess", "seconds", "above the minimum"),
    ("exponents", "excess", "exponents evaluated", "above the minimum"),
    ("seconds", "slope", "seconds", "‖∇F‖"),
    ("exponents", "slope", "exponents evaluated", "‖∇F‖"),
)
TARGET, FLOOR = 5e-3, 1e-7


def work_and_precision(found: pd.DataFrame) -> Figure:
    """Medians over seeds at every length; further left and lower is better."""
    problems = [
        key for key in SHOWN if ((found["problem"] == key[0]) & (found["rule"] == key[1])).any()
    ]
    with style():
        fig = Figure(figsize=(11.5, 2.5 * len(problems) + 0.8), layout="constrained")
        grid = fig.subplots(len(problems), len(AXES), squeeze=False)
        for row, (problem, rule) in zip(grid, problems, strict=True):
            here = found[(found["problem"] == problem) & (found["rule"] == rule)]
            for ax, (x, y, x_label, y_label) in zip(row, AXES, strict=True):
                for name, look in LOOKS.items():
                    mine = here[here["solver"] == name].groupby("length")[[x, y]].median()
                    draw(ax, mine[x], np.maximum(mine[y], FLOOR), name, look)
                ax.set(xscale="log", yscale="log", ylabel=y_label)
                if y == "excess":
                    ax.axhline(TARGET, color=INK, lw=0.8, ls=":")
                for axis in (ax.xaxis, ax.yaxis):
                    axis.set_minor_formatter(NullFormatter())
                if problem == problems[-1][0]:
                    ax.set_xlabel(x_label)
            row[0].set_title(f"{problem}, {rule} rule")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        fig.legend(handles, labels, loc="outside lower center", ncols=5)
    return fig


def draw(ax, x, y, name, look) -> None:
    colour, line, marker = look
    ax.plot(x, y, color=colour, ls=line, marker=marker, ms=4, lw=1.4, label=name)


def rates(found: dict[str, list[tuple[int, float]]]) -> Figure:
    """Mean ‖∇F‖² over iterates against the number of steps, beside K^−1/2."""
    with style():
        fig = Figure(figsize=(6.4, 4.0), layout="constrained")
        ax = fig.add_subplot()
        looks = ((COLOURS[0], "-", "o"), (PALE, "-", "v"))
        for (name, points), look in zip(found.items(), looks, strict=True):
            draw(ax, *np.array(points).T, f"SCSC, {name}", look)
        steps, norms = np.array(next(iter(found.values()))).T
        bound = norms[2] * np.sqrt(steps[2] / steps)
        ax.plot(steps, bound, color=INK, lw=0.9, ls=":", label="K^−1/2 (the theorem's order)")
        ax.set(xscale="log", yscale="log", xlabel="steps K", ylabel="mean ‖∇F‖² over the run")
        ax.legend()
    return fig
