"""The paper's inventory with substitution as a trial of methods.

Substitution costs are as printed in the paper (hedgerow.datasets.inventory_data). Losses are exact
expectations given each test context. Where every decision is a program of its own, fewer contexts
judge, and the oracle's loss on the same contexts is reported beside them, so that the excess over
it can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from hedgerow.datasets import (
    expected_inventory_loss,
    make_inventory,
    oracle_inventory_loss,
    paper_inventory_costs,
)
from hedgerow.losses import InventorySubstitution

TEST_ROWS, FEW_ROWS = 20_000, 300

Decide = Callable[[np.ndarray], np.ndarray]


class InventoryDraw:
    """One truth, one history, one test set; the same seed gives the same draw."""

    problem: ClassVar[str] = "inventory"

    def __init__(self, rows: int, features: int, seed: int, test_rows: int = TEST_ROWS) -> None:
        costs = paper_inventory_costs()
        self.loss = InventorySubstitution(costs.holding, costs.stockout, costs.substitution)
        self.train = make_inventory(rows, features, random_state=seed)
        beta = self.train.beta
        self.test = make_inventory(test_rows, features, beta=beta, random_state=seed + 100_000)

    def oracle(self, rows: int | None = None) -> float:
        """What no rule can do better than, over the first so many test contexts."""
        return float(oracle_inventory_loss(self.test.scale[:rows]).mean())

    def mean_loss(self, decide: Decide, rows: int | None = None) -> float:
        """Mean loss of a rule over the first so many test contexts, the noise averaged exactly."""
        decisions = np.maximum(decide(self.test.data[:rows]), 0.0)
        losses = expected_inventory_loss(decisions, self.test.scale[:rows])
        return float(losses.mean())

    def judge(self, decide: Decide, few: bool = False) -> dict[str, Any]:
        """Mean loss of a rule, and the oracle's, over all or over a few test contexts."""
        rows = FEW_ROWS if few else None
        return {"as trained": {"mean": self.mean_loss(decide, rows)}, "oracle": self.oracle(rows)}
