"""The paper's two synthetic problems, alike: a history to learn from, and what a rule costs.

Losses are exact expectations over the noise, given each test context. The inventory's substitution
costs are transposed, as its published oracle loss asks (``hedgerow.datasets.inventory``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hedgerow.datasets import (
    expected_inventory_loss,
    expected_newsvendor_loss,
    make_inventory,
    make_newsvendor,
    oracle_inventory_loss,
    oracle_newsvendor_loss,
    paper_inventory_costs,
)
from hedgerow.experiments.newsvendor import HOLDING, STOCKOUT
from hedgerow.losses import InventorySubstitution, Loss, Newsvendor

TEST_ROWS = {"tiny": 2_000, "quick": 20_000, "full": 100_000}
SIZES = {
    "newsvendor": [(n, d) for n in (200, 400, 800, 1000) for d in (5, 10, 20, 50)],
    "inventory": [(n, d) for n in (100, 200, 400, 800) for d in (3, 5, 10, 20)],
}
"""Rows and features that the paper has."""
FEW_SIZES = {"newsvendor": [(200, 5), (400, 10)], "inventory": [(100, 3), (400, 10)]}
DRAWS = {"tiny": 1, "quick": 2, "full": 10}


class Trial(NamedTuple):
    """One truth: a loss, a history, test contexts.

    ``truth`` is what demand there depends on: its signal (newsvendor) or its scale (inventory), a
    function of ``test @ beta``.
    """

    problem: str
    loss: Loss
    contexts: np.ndarray
    outcomes: np.ndarray
    beta: np.ndarray
    test: np.ndarray
    truth: np.ndarray

    def judge(self, estimator: Any) -> float:
        """Mean loss of an estimator's decisions."""
        decisions = np.maximum(estimator.predict(self.test), 0.0)
        if self.problem == "newsvendor":
            losses = expected_newsvendor_loss(decisions, self.truth, HOLDING, STOCKOUT)
        else:
            losses = expected_inventory_loss(decisions, self.truth, transposed=True)
        return float(losses.mean())

    def oracle(self) -> float:
        """Mean loss that no rule can do better than."""
        if self.problem == "newsvendor":
            return float(oracle_newsvendor_loss(self.truth, HOLDING, STOCKOUT).mean())
        return float(oracle_inventory_loss(self.truth, transposed=True).mean())


def trial(problem: str, rows: int, features: int, seed: int, test_rows: int) -> Trial:
    """Draw a truth, a history and test contexts; the same seed gives the same ones."""
    newsvendor = problem == "newsvendor"
    make = make_newsvendor if newsvendor else make_inventory
    train = make(rows, features, random_state=seed)
    test = make(test_rows, features, beta=train.beta, random_state=seed + 100_000)
    costs = paper_inventory_costs(transposed=True)
    loss = (
        Newsvendor(HOLDING, STOCKOUT)
        if newsvendor
        else InventorySubstitution(costs.holding, costs.stockout, costs.substitution)
    )
    truth = test.signal if newsvendor else test.scale
    return Trial(problem, loss, train.data, train.target, train.beta, test.data, truth)


def sizes(problem: str, scale: str) -> list[tuple[int, int]]:
    """Rows and features at a scale."""
    return SIZES[problem] if scale == "full" else FEW_SIZES[problem][: 1 if scale == "tiny" else 2]
