"""The one decision that is best on average for a convex piecewise-linear loss, by cutting planes.

    minimise  Σ_i p_i Ψ(z, y_i)   over z in a decision set,

with Ψ known through exact values and subgradients. Rows are gathered in groups; each point tried
adds one cut per group to a linear master program, whose solution within a box around the best point
so far is tried next. The box grows while steps succeed at its edge and shrinks when they fail
(Linderoth & Wright 2003).
"""

from __future__ import annotations

from collections.abc import Callable

import highspy
import jax.numpy as jnp
import numpy as np

from hedgerow.decisions import DecisionSet
from hedgerow.losses.recourse.feasibility import bounds_of, simplices_of
from hedgerow.losses.recourse.warm_solver import silent_highs

GROUPS = 20
TRIALS = 300
TOLERANCE = 1e-8
FARTHEST = 1e9
"""In units of decisions: a minimum farther away is taken for none."""

Evaluate = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def minimise_mean(
    evaluate: Evaluate,
    weights: np.ndarray,
    decision_set: DecisionSet,
    unit: np.ndarray | float = 1.0,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Return a minimiser of the mean of ``evaluate(z) = (losses (n,), subgradients (n, d))``.

    ``unit`` is a first guess of how large decisions are, and how far from ``start`` the best one
    may lie; None: the middle of the set. The solver sees numbers of order one.
    """
    unit = np.where(decision_set.scalable, unit, 1.0)
    share = weights / weights.sum()
    working = decision_set.in_units(unit)
    if start is None:
        start = np.asarray(working.from_raw(jnp.zeros(len(unit))), np.float64) * unit
    losses, slopes = evaluate(start)
    loss_unit = abs(share @ losses) or np.abs(share @ slopes * unit).max() or 1.0

    def rescaled(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        losses, slopes = evaluate(point * unit)
        return losses / loss_unit, slopes * unit / loss_unit

    return unit * _minimise(rescaled, _Master(working, share), start / unit)


def _minimise(evaluate: Evaluate, master: _Master, best: np.ndarray) -> np.ndarray:
    """Cutting planes in a box that follows the best point, in units of order one."""
    value = master.cut(evaluate, best)
    radius = 1.0
    for _ in range(TRIALS):
        point, promised = master.minimise(best - radius, best + radius)
        # by convexity a promise in a small box bounds the one in the first box
        if (value - promised) * max(1.0, 1 / radius) <= TOLERANCE * abs(value):
            break
        reached = master.cut(evaluate, point)
        if reached < value - 0.1 * (value - promised):
            at_edge = np.max(np.abs(point - best)) > 0.99 * radius
            best, value = point, reached
            radius *= 4.0 if at_edge else 1.0
        else:
            radius /= 2.0
        if radius > FARTHEST or not np.isfinite(value):
            raise ValueError(
                "The loss has no finite best constant decision on these outcomes; check that it is "
                "bounded below on its decision set."
            )
    return best


class _Master:
    """min Σ_g θ_g over (z, θ) subject to cuts θ_g ≥ level + slope·z; z in the set and in a box.

    HiGHS keeps the program and its last basis: a few new rows cost a few pivots.
    """

    def __init__(self, decision_set: DecisionSet, share: np.ndarray) -> None:
        self.share = share
        self.groups = min(GROUPS, len(share))
        self.group = np.arange(len(share)) % self.groups
        size = decision_set.dimension
        self.low, self.high = bounds_of(decision_set)
        self.decisions = np.arange(size, dtype=np.int32)
        self.own = np.arange(size, size + self.groups, dtype=np.int32)
        infinite = np.full(self.groups, np.inf)
        self.highs = silent_highs(presolve="off")
        self._be_accurate_to(1e-10)  # promises are sums over groups: 1e-7 would hide the last steps
        self.highs.addVars(size, self.low, self.high)
        self.highs.addVars(self.groups, -infinite, infinite)
        self.highs.changeColsCost(self.groups, self.own, np.ones(self.groups))
        for part in simplices_of(decision_set):
            self.highs.addRow(1.0, 1.0, len(part), self.decisions[part], np.ones(len(part)))

    def cut(self, evaluate: Evaluate, point: np.ndarray) -> float:
        """Add one cut per group at a point, and return the mean loss there."""
        weighted = np.column_stack(evaluate(point)) * self.share[:, None]
        sums = np.column_stack([np.bincount(self.group, c, self.groups) for c in weighted.T])
        levels, slopes = sums[:, 0] - sums[:, 1:] @ point, sums[:, 1:]
        columns = np.column_stack([np.tile(self.decisions, (self.groups, 1)), self.own])
        entries = np.column_stack([-slopes, np.ones(self.groups)])
        starts = np.arange(0, entries.size, entries.shape[1], dtype=np.int32)
        above = np.full(self.groups, np.inf)
        self.highs.addRows(
            self.groups, levels, above, entries.size, starts, columns.ravel(), entries.ravel()
        )
        return float(sums[:, 0].sum())

    def minimise(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, float]:
        """Minimise the cuts' lower bound on the set within a box."""
        low, high = np.maximum(low, self.low), np.minimum(high, self.high)
        self.highs.changeColsBounds(len(low), self.decisions, low, high)
        if not self._solved():  # from scratch, and as accurately as is usual
            self.highs.clearSolver()
            self.highs.setOptionValue("presolve", "on")
            self._be_accurate_to(1e-7)
            if not self._solved():
                raise RuntimeError(
                    f"The master program was not solved: {self.highs.getModelStatus()}."
                )
        point = np.asarray(self.highs.getSolution().col_value[: len(low)])
        return np.clip(point, low, high), float(self.highs.getObjectiveValue())

    def _solved(self) -> bool:
        self.highs.run()
        return self.highs.getModelStatus() == highspy.HighsModelStatus.kOptimal

    def _be_accurate_to(self, tolerance: float) -> None:
        self.highs.setOptionValue("primal_feasibility_tolerance", tolerance)
        self.highs.setOptionValue("dual_feasibility_tolerance", tolerance)
