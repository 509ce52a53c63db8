"""Courses with a known truth: the paper's newsvendor and its inventory with substitution.

Costs are exact expectations over the noise at some contexts that nobody has seen, and the floor is
the oracle's loss at the same contexts. Seeds begin where no tuning and no other table has been.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hedgerow_studies.cells import Cell
from hedgerow_studies.leaderboard.courses import Course, Round
from hedgerow_studies.rivals.method import Decide, Problem
from hedgerow_studies.trials.inventory_trial import InventoryDraw
from hedgerow_studies.trials.newsvendor_trial import NewsvendorDraw

FIRST_SEED = 500
NEWSVENDOR_TEST, INVENTORY_TEST = 1_000, 200
"""Contexts that judge: few, since for some methods each is a program; all see the same."""


class NewsvendorCourse(Course):
    """Newsvendor, 16 sizes."""

    name: ClassVar[str] = "newsvendor"
    what: ClassVar[str] = (
        "the paper's newsvendor: 200 to 1000 rows, 5 to 50 features, costs 0.6 : 1"
    )
    draws: ClassVar[dict[str, int]] = {"tiny": 1, "quick": 1, "full": 2}

    def rounds(self, scale: str) -> list[Cell]:
        """All 16 sizes, or four of them."""
        rows = {"tiny": (60,), "quick": (200, 400), "full": (200, 400, 800, 1000)}[scale]
        features = {"tiny": (3,), "quick": (5, 20), "full": (5, 10, 20, 50)}[scale]
        return [
            {"rows": n, "features": d, "seed": FIRST_SEED + draw}
            for draw in range(self.draws[scale])
            for n in rows
            for d in features
        ]

    def problem(self) -> Problem:
        """A newsvendor of independent rows."""
        return Problem(NewsvendorDraw(10, 2, 0, test_rows=10).loss)

    def rows(self, cell: Cell) -> int:
        """As the cell says."""
        return cell["rows"]

    def round(self, cell: Cell) -> Round:
        """One draw."""
        draw = NewsvendorDraw(cell["rows"], cell["features"], cell["seed"], NEWSVENDOR_TEST)

        def judge(decide: Decide) -> np.ndarray:
            return np.array([draw.mean_loss(lambda X: decide(X)[:, 0])])

        Y = draw.train.target[:, None]
        return Round(Problem(draw.loss), draw.train.data, Y, judge, draw.oracle())


class InventoryCourse(Course):
    """Inventory with substitution, costs as printed."""

    name: ClassVar[str] = "inventory"
    what: ClassVar[str] = "the paper's three products with substitution, printed costs, two stages"

    def rounds(self, scale: str) -> list[Cell]:
        """Four sizes of the paper's 16, along their diagonal."""
        sizes = {
            "tiny": [(40, 3)],
            "quick": [(200, 5)],
            "full": [(100, 3), (200, 5), (400, 10), (800, 20)],
        }
        return [{"rows": n, "features": d, "seed": FIRST_SEED} for n, d in sizes[scale]]

    def problem(self) -> Problem:
        """Two stages, independent rows."""
        return Problem(InventoryDraw(10, 3, 0, test_rows=10).loss)

    def rows(self, cell: Cell) -> int:
        """As the cell says."""
        return cell["rows"]

    def round(self, cell: Cell) -> Round:
        """One draw."""
        draw = InventoryDraw(cell["rows"], cell["features"], cell["seed"], INVENTORY_TEST)

        def judge(decide: Decide) -> np.ndarray:
            return np.array([draw.mean_loss(decide)])

        return Round(Problem(draw.loss), draw.train.data, draw.train.target, judge, draw.oracle())
