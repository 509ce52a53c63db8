"""Best decisions for many weightings of the same outcomes.

    z(w)  ∈  argmin  Σ_i w_i Ψ(z, y_i)    over z in the decision set

newsvendor             the weighted b/(h+b) quantile of each product, moved into its bounds; exact
linear second stage    cutting planes in a moving box, as ``hedgerow.recourse.minimise_mean``, but
                       from the best constant on, in a program HiGHS keeps: milliseconds each
any other loss         what the loss itself offers, ``best_constant``
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import highspy
import numpy as np

from hedgerow import _checks
from hedgerow.decisions import DecisionSet
from hedgerow.losses import Loss, Newsvendor, RecourseLoss
from hedgerow.recourse import decision_blocks

GROUPS = 20
TRIALS = 100
TOLERANCE = 1e-8
"""Of the least average: how far above it a decision of cutting planes may be."""

Decide = Callable[[np.ndarray], np.ndarray]
"""Weights (rows, outcomes), each row with sum 1, to decisions (rows, decisions)."""


def minimiser(loss: Loss, outcomes: np.ndarray) -> Decide:
    """Return what finds the best decisions for weights on these outcomes (n, d)."""
    decision_set = loss.decisions_for(outcomes.shape[1])
    if isinstance(loss, Newsvendor) and not _simplices(decision_set):
        return WeightedQuantiles(loss, outcomes)
    if isinstance(loss, RecourseLoss):
        return CuttingPlanes(loss, outcomes)
    return OwnMinimiser(loss, outcomes)


class WeightedQuantiles:
    """Orders of a newsvendor: the least demand that has a share of b/(b+h) at or below it."""

    def __init__(self, loss: Newsvendor, outcomes: np.ndarray) -> None:
        shape = outcomes.shape[1:]
        holding = np.broadcast_to(_checks.costs("holding", loss.holding), shape)
        stockout = np.broadcast_to(_checks.costs("stockout", loss.stockout), shape)
        self.levels = stockout / (holding + stockout)
        self.bounds = _bounds(loss.decisions_for(outcomes.shape[1]))
        self.order = np.argsort(outcomes, axis=0, kind="stable")
        self.sorted = np.take_along_axis(outcomes, self.order, axis=0)

    def __call__(self, weights: np.ndarray) -> np.ndarray:
        """Orders (rows, products), best for each row of weights."""
        orders = np.empty((len(weights), len(self.levels)))
        for product, level in enumerate(self.levels):
            below = np.cumsum(weights[:, self.order[:, product]], axis=1)
            # sums round: a share equal to the level must not be missed by a hair
            place = np.argmax(below >= np.minimum(level - 1e-12, below[:, -1:]), axis=1)
            orders[:, product] = self.sorted[place, product]
        return np.clip(orders, *self.bounds)


class OwnMinimiser:
    """Decisions by ``best_constant``, spared the outcomes without weight."""

    def __init__(self, loss: Loss, outcomes: np.ndarray) -> None:
        self.loss = loss
        self.outcomes = outcomes

    def __call__(self, weights: np.ndarray) -> np.ndarray:
        """Decisions (rows, decisions), best for each row of weights."""
        return np.array(
            [self.loss.best_constant(self.outcomes[row > 0], row[row > 0]) for row in weights]
        )


class CuttingPlanes:
    """Decisions before a linear second stage; what planes leave open the loss settles itself."""

    def __init__(self, loss: RecourseLoss, outcomes: np.ndarray) -> None:
        self.loss = loss
        self.outcomes = outcomes
        self.decision_set = loss.decisions_for(outcomes.shape[1])
        self.start = loss.best_constant(outcomes, np.ones(len(outcomes)))
        self.radius = float(np.max(np.std(outcomes, axis=0))) or 1.0

    def __call__(self, weights: np.ndarray) -> np.ndarray:
        """Decisions (rows, decisions), best for each row of weights."""
        decisions = np.empty((len(weights), self.decision_set.dimension))
        for place, row in enumerate(weights):
            outcomes, share = self.outcomes[row > 0], row[row > 0] / row.sum()
            found = self._descend(outcomes, share)
            decisions[place] = self.loss.best_constant(outcomes, share) if found is None else found
        return decisions

    def _descend(self, outcomes: np.ndarray, share: np.ndarray) -> np.ndarray | None:
        master = _Master(self.decision_set, min(GROUPS, len(share)))
        group = np.arange(len(share)) % master.groups

        def cut(point: np.ndarray) -> float:
            values, slopes, _ = self.loss.recourse.values_and_gradients(point, outcomes)
            weighted = np.column_stack([values, slopes]) * share[:, None]
            sums = np.column_stack(
                [np.bincount(group, column, master.groups) for column in weighted.T]
            )
            master.cut(sums[:, 0] - sums[:, 1:] @ point, sums[:, 1:])
            return float(sums[:, 0].sum())

        best, radius = self.start, self.radius
        value = cut(best)
        for _ in range(TRIALS):
            found = master.minimise(best - radius, best + radius)
            if found is None:
                return None
            point, promised = found
            # by convexity a promise in a small box bounds the one in the first box
            if (value - promised) * max(1.0, self.radius / radius) <= TOLERANCE * abs(value):
                return best
            reached = cut(point)
            if reached < value - 0.1 * (value - promised):
                at_edge = np.max(np.abs(point - best)) > 0.99 * radius
                best, value = point, reached
                radius *= 4.0 if at_edge else 1.0
            else:
                radius /= 2.0
        return None


class _Master:
    """min Σ_g θ_g over (z, θ) subject to cuts θ_g ≥ level + slope·z; z in the set and in a box.

    HiGHS keeps the program and its last basis: a few new rows cost a few pivots.
    """

    def __init__(self, decision_set: DecisionSet, groups: int) -> None:
        size = decision_set.dimension
        self.groups = groups
        self.low, self.high = _bounds(decision_set)
        self.decisions = np.arange(size, dtype=np.int32)
        self.own = np.arange(size, size + groups, dtype=np.int32)
        infinite = np.full(groups, np.inf)
        self.highs: Any = highspy.Highs()  # its stubs lack half of its methods
        self.highs.setOptionValue("output_flag", False)
        self.highs.setOptionValue("solver", "simplex")
        self.highs.setOptionValue("presolve", "off")
        self.highs.setOptionValue("threads", 1)
        # promises are sums over groups: at the usual 1e-7 their error would hide the last steps
        self.highs.setOptionValue("primal_feasibility_tolerance", 1e-10)
        self.highs.setOptionValue("dual_feasibility_tolerance", 1e-10)
        self.highs.addVars(size, self.low, self.high)
        self.highs.addVars(groups, -infinite, infinite)
        self.highs.changeColsCost(groups, self.own, np.ones(groups))
        for part in _simplices(decision_set):
            self.highs.addRow(1.0, 1.0, len(part), self.decisions[part], np.ones(len(part)))

    def cut(self, levels: np.ndarray, slopes: np.ndarray) -> None:
        """Add one plane per group."""
        columns = np.column_stack([np.tile(self.decisions, (self.groups, 1)), self.own])
        entries = np.column_stack([-slopes, np.ones(self.groups)])
        starts = np.arange(0, entries.size, entries.shape[1], dtype=np.int32)
        above = np.full(self.groups, np.inf)
        self.highs.addRows(
            self.groups, levels, above, entries.size, starts, columns.ravel(), entries.ravel()
        )

    def minimise(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, float] | None:
        """Lowest point of the planes in a box, and how low; None if HiGHS gives up."""
        low, high = np.maximum(low, self.low), np.minimum(high, self.high)
        self.highs.changeColsBounds(len(low), self.decisions, low, high)
        self.highs.run()
        if self.highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        point = np.asarray(self.highs.getSolution().col_value[: len(low)])
        return np.clip(point, low, high), float(self.highs.getObjectiveValue())


def _bounds(decision_set: DecisionSet) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper end of each coordinate."""
    low, high = np.full((2, decision_set.dimension), [[-np.inf], [np.inf]])
    for block in decision_blocks(decision_set):
        if not np.any(block.directions < 0):
            low[block.coordinates] = block.points.min(axis=0)
        if not np.any(block.directions > 0):
            high[block.coordinates] = block.points.max(axis=0)
    return low, high


def _simplices(decision_set: DecisionSet) -> list[np.ndarray]:
    """Coordinates that have to sum to one, part by part."""
    every = np.arange(decision_set.dimension)
    return [every[b.coordinates] for b in decision_blocks(decision_set) if b.points.shape[1] > 1]
