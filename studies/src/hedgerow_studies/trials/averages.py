"""Best decisions for many weightings of the same outcomes.

    z(w)  ∈  argmin  Σ_i w_i Ψ(z, y_i)    over z in the decision set

newsvendor             the weighted b/(h+b) quantile of each product, moved into its bounds; exact
linear second stage    cutting planes, from the best constant on: milliseconds each
any other loss         what the loss itself offers, ``best_constant``
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hedgerow import _checks
from hedgerow.losses import Loss, Newsvendor, RecourseLoss
from hedgerow.losses.recourse import bounds_of, minimise_mean, simplices_of

Decide = Callable[[np.ndarray], np.ndarray]
"""Weights (rows, outcomes), each row with sum 1, to decisions (rows, decisions)."""


def minimiser(loss: Loss, outcomes: np.ndarray) -> Decide:
    """Return what finds the best decisions for weights on these outcomes (n, d)."""
    decision_set = loss.decisions_for(outcomes.shape[1])
    if isinstance(loss, Newsvendor) and not simplices_of(decision_set):
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
        self.bounds = bounds_of(loss.decisions_for(outcomes.shape[1]))
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
    """Decisions before a linear second stage, each found from the best constant on."""

    def __init__(self, loss: RecourseLoss, outcomes: np.ndarray) -> None:
        self.loss = loss
        self.outcomes = outcomes
        self.decision_set = loss.decisions_for(outcomes.shape[1])
        self.start = loss.best_constant(outcomes, np.ones(len(outcomes)))
        self.radius = float(np.max(np.std(outcomes, axis=0))) or 1.0

    def __call__(self, weights: np.ndarray) -> np.ndarray:
        """Decisions (rows, decisions), best for each row of weights."""
        return np.array([self._decide(row) for row in weights])

    def _decide(self, weights: np.ndarray) -> np.ndarray:
        outcomes = self.outcomes[weights > 0]
        return minimise_mean(
            lambda z: self.loss.recourse.values_and_gradients(z, outcomes)[:2],
            weights[weights > 0],
            self.decision_set,
            self.radius,
            self.start,
        )
