"""Forests approach a continuous decision rule as trees and depth grow (paper: Section 5, SRF).

    g(x) = 2 + sin 3x₁ + |x₁ + x₂|,   x uniform on [−1, 1]²

Two ways of having a forest for g, and how far it is from g at worst and in the mean square:

- built: trees cut x₁ and x₂ in turn into cells of equal size, with hard gates and each cell's
  middle value at its leaf; the trees of a forest are shifted against each other. Its worst error is
  below L·(cell's radius), L = √((3 + 1)² + 1) being g's Lipschitz constant;
- learned: ``RobustPolicy`` with squared loss on 2,000 rows of g, as anybody would train one.

Run ``python -m benchmarks.approximation [figure.png]`` (some minutes).
"""

from __future__ import annotations

import sys
import warnings

import jax.numpy as jnp
import numpy as np

import hedgerow as hr
from hedgerow.rules.forest_arrays import ForestArrays

ROWS, STEPS = 2000, 4000
LIPSCHITZ = float(np.hypot(4.0, 1.0))
DEPTHS, TREES = (1, 2, 3, 4, 6), (1, 4, 16)
BUILT_DEPTHS = (2, 4, 6, 8, 10)


def target(x):
    """The rule, (rows,), of contexts (rows, 2)."""
    return 2 + np.sin(3 * x[:, 0]) + np.abs(x[:, 0] + x[:, 1])


def square(count=101):
    """A grid over the square."""
    axis = np.linspace(-1, 1, count)
    return np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)


def errors(decisions, points):
    """Worst error, and root of the mean square."""
    gap = np.abs(decisions - target(points))
    return float(gap.max()), float(np.sqrt(np.mean(gap**2)))


def built_forest(trees: int, depth: int) -> ForestArrays:
    """Hard trees that cut x₁ and x₂ in turn; tree t's cells are shifted by t/trees of a cell."""
    gates, leaves = 2**depth - 1, 2**depth
    weights, biases = np.zeros((trees, gates, 2)), np.zeros((trees, gates))
    values = np.zeros((trees, leaves, 1))
    cells = np.array([2.0 ** -((depth + 1 - axis) // 2) for axis in (0, 1)])  # of the square
    for t in range(trees):
        share = (t + 0.5) / trees - 0.5
        # low and high end of every node's cell, level by level
        ends = {0: [(np.array([-1.0, -1.0]) + 0, np.array([1.0, 1.0]) + 0)]}
        for level in range(depth):
            axis, size = level % 2, 2**level
            below = [None] * (2 * size)
            for node, (low, high) in enumerate(ends[level]):
                cut = (low[axis] + high[axis]) / 2
                gate = size - 1 + node
                weights[t, gate, axis] = -1.0  # left: below the cut
                biases[t, gate] = cut + share * 2 * cells[axis]
                left, right = high.copy(), low.copy()
                left[axis] = right[axis] = cut
                below[node], below[node + size] = (low, left), (right, high)
            ends[level + 1] = below
        middles = np.array([(low + high) / 2 for low, high in ends[depth]])
        values[t, :, 0] = target(np.clip(middles + share * 2 * cells, -1, 1))
    return ForestArrays(weights, biases, values, hard=True)


def built_bound(depth: int) -> float:
    """L times how far a point can be from the middle of its cell, the shifted ones included.

    A cell at the edge is up to half a cell wider.
    """
    cells = np.array([2.0 ** -((depth + 1 - axis) // 2) for axis in (0, 1)])
    return LIPSCHITZ * float(np.hypot(*(2 * cells)))


def built_errors(trees: int, depth: int, points=None) -> tuple[float, float]:
    """How far a built forest is from g."""
    forest, points = built_forest(trees, depth), square() if points is None else points
    return errors(forest.decide(forest.logits(points.T))[0], points)


def squared(z, y):
    """(z − y)²."""
    return jnp.sum((z - y) ** 2, axis=-1)


def learned_errors(trees: int, depth: int, steps: int = STEPS) -> tuple[float, float]:
    """How far a learned forest is from g."""
    x = np.random.default_rng(0).uniform(-1, 1, size=(ROWS, 2))
    policy = hr.RobustPolicy(
        hr.CustomLoss(squared, hr.Free(1)),
        hr.ERM(),
        hr.SoftForest(trees=trees, depth=depth),
        hr.EmpiricalNominal(),
        hr.NestedSGD(steps=steps, batch=256),
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hr.HedgerowWarning)
        policy.fit(x, target(x))
    points = square()
    return errors(policy.predict(points), points)


def main(figure: str | None) -> None:
    """Print both tables, and draw them."""
    built = {(t, d): built_errors(t, d) for t in TREES for d in BUILT_DEPTHS}
    learned = {(t, d): learned_errors(t, d) for t in TREES for d in DEPTHS}
    for name, found in (("built", built), ("learned", learned)):
        print(f"{name}: trees, depth, leaves, worst error, root mean square")
        for (trees, depth), (worst, mean) in found.items():
            print(f"{trees:4} {depth:4} {trees * 2**depth:6} {worst:8.4f} {mean:8.4f}")
    if figure is not None:
        draw(built, learned, figure)


def draw(built: dict, learned: dict, path: str) -> None:
    """Worst error and root mean square against depth, one line per number of trees."""
    from matplotlib.figure import Figure

    from hedgerow.plots.style import COLOURS, GREY, style

    with style():
        figure = Figure(figsize=(8, 3.4), layout="constrained")
        for axes, found, title in zip(
            figure.subplots(1, 2, sharey=True), (built, learned), ("built", "learned"), strict=True
        ):
            for colour, trees in zip(COLOURS, TREES, strict=False):
                depths = [depth for t, depth in found if t == trees]
                worst, mean = zip(*(found[trees, depth] for depth in depths), strict=True)
                label = f"{trees} tree" + "s" * (trees > 1)
                axes.plot(depths, worst, "o-", color=colour, label=label, markersize=4)
                axes.plot(depths, mean, "o:", color=colour, markersize=3)
            if found is built:
                bounds = [built_bound(depth) for depth in BUILT_DEPTHS]
                axes.plot(BUILT_DEPTHS, bounds, "--", color=GREY, label="bound of the worst")
            axes.set(title=title, xlabel="depth", yscale="log", xticks=depths)
            axes.legend()
        figure.axes[0].set_ylabel("error: worst (line), mean square (dots)")
        figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
