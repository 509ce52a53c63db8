"""The one decision that is best on average for a convex piecewise-linear loss, by cutting planes.

    minimise  Σ_i p_i Ψ(z, y_i)   over z in a decision set,

with Ψ known through exact values and subgradients. Rows are gathered in groups; each point tried
adds one cut per group to a linear master program, whose solution within a box around the best point
so far is tried next. The box grows while steps succeed at its edge and shrinks when they fail
(Linderoth & Wright 2003).
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, hstack

from hedgerow.decisions import DecisionSet
from hedgerow.recourse.feasibility import decision_blocks

GROUPS = 20
TRIALS = 300
TOLERANCE = 1e-8
FARTHEST = 1e9
"""In first radii: a minimum farther away is taken for none."""

Evaluate = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def minimise_mean(
    evaluate: Evaluate, weights: np.ndarray, decision_set: DecisionSet, radius: float = 1.0
) -> np.ndarray:
    """Return a minimiser of the mean of ``evaluate(z) = (losses (n,), subgradients (n, d))``.

    ``radius`` is a first guess of how far from the middle of the set it may lie.
    """
    share = weights / weights.sum()
    master = _Master(decision_set, share)
    best = np.asarray(decision_set.from_raw(jnp.zeros(decision_set.dimension)), np.float64)
    value = master.cut(evaluate, best)
    first_radius = radius
    for _ in range(TRIALS):
        point, promised = master.minimise(best - radius, best + radius)
        # by convexity a promise in a small box bounds the one in the first box
        if (value - promised) * max(1.0, first_radius / radius) <= TOLERANCE * abs(value):
            break
        reached = master.cut(evaluate, point)
        if reached < value - 0.1 * (value - promised):
            at_edge = np.max(np.abs(point - best)) > 0.99 * radius
            best, value = point, reached
            radius *= 4.0 if at_edge else 1.0
        else:
            radius /= 2.0
        if radius > FARTHEST * first_radius or not np.isfinite(value):
            raise ValueError(
                "The loss has no finite best constant decision on these outcomes; check that it is "
                "bounded below on its decision set."
            )
    return best


class _Master:
    """min Σ_g θ_g subject to the cuts θ_g ≥ level + slope·z of each group, and to the set."""

    def __init__(self, decision_set: DecisionSet, share: np.ndarray) -> None:
        self.share = share
        self.groups = min(GROUPS, len(share))
        self.group = np.arange(len(share)) % self.groups
        size = decision_set.dimension
        self.low, self.high = np.full(size, -np.inf), np.full(size, np.inf)
        sums = []
        for block in decision_blocks(decision_set):
            if not np.any(block.directions < 0):
                self.low[block.coordinates] = block.points.min(axis=0)
            if not np.any(block.directions > 0):
                self.high[block.coordinates] = block.points.max(axis=0)
            if block.points.shape[1] > 1:  # a simplex
                sums.append(np.zeros(size + self.groups))
                sums[-1][block.coordinates] = 1.0
        self.sums = np.array(sums) if sums else None
        self.slopes, self.levels = np.zeros((0, size)), np.zeros(0)

    def cut(self, evaluate: Evaluate, point: np.ndarray) -> float:
        """Add one cut per group at a point, and return the mean loss there."""
        losses, gradients = evaluate(point)
        weighted = np.column_stack([losses, gradients]) * self.share[:, None]
        spread = csr_array((np.ones(len(losses)), (self.group, np.arange(len(losses)))))
        sums = spread @ weighted
        self.slopes = np.vstack([self.slopes, sums[:, 1:]])
        self.levels = np.concatenate([self.levels, sums[:, 0] - sums[:, 1:] @ point])
        return float(sums[:, 0].sum())

    def minimise(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, float]:
        """Minimise the cuts' lower bound on the set within a box."""
        size, cuts = self.slopes.shape[1], len(self.levels)
        own = coo_array((-np.ones(cuts), (np.arange(cuts), np.arange(cuts) % self.groups)))
        bounds = np.column_stack([np.maximum(low, self.low), np.minimum(high, self.high)])
        solution = linprog(
            np.concatenate([np.zeros(size), np.ones(self.groups)]),
            A_ub=hstack([csr_array(self.slopes), own]),
            b_ub=-self.levels,
            A_eq=self.sums,
            b_eq=None if self.sums is None else np.ones(len(self.sums)),
            bounds=[*map(tuple, bounds), *[(None, None)] * self.groups],
        )
        if solution.x is None:
            raise RuntimeError(f"The master program was not solved: {solution.message}")
        return np.clip(solution.x[:size], bounds[:, 0], bounds[:, 1]), float(solution.fun)
