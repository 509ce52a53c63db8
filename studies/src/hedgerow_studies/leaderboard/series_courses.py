"""Courses of real demand, split by time: dishes of a restaurant, a bakery series by series, pooled.

The splits are those of ``trials.real_series``, which says what is known when a day is decided for.
Of the bakery the ten reported stores compete; the fifteen others are for tuning. Series by series
each store brings one product, in turn. Holding costs 1, a missing unit 3; a round's costs are means
by week of the test period.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hedgerow.losses import Newsvendor
from hedgerow_studies.cells import Cell
from hedgerow_studies.leaderboard.courses import Course, Round, by_week
from hedgerow_studies.rivals.method import Decide, Problem
from hedgerow_studies.trials import real_series
from hedgerow_studies.trials.real_series import DISHES, Panel, tables

HOLDING, STOCKOUT = 1.0, 3.0
QUICK = 2
"""Series of a quick run."""


class SeriesCourse(Course):
    """Base of courses of real demand (abstract)."""

    relative_to: ClassVar[str] = "cost; the best constant order's is 1"

    def problem(self) -> Problem:
        """A newsvendor in the order of time."""
        return Problem(Newsvendor(HOLDING, STOCKOUT), in_time=True)

    def panel_round(self, panel: Panel, pooled: bool) -> Round:
        """Learn from a panel's training days, decide for its test days, in the order of time."""
        made = tables(panel, pooled)
        X, X_test = (table.to_numpy() for table in made.numbers)
        order = np.argsort(made.dates, kind="stable")
        demand = panel.test["demand"].to_numpy(float) / made.units[1]
        dates = panel.test["date"].to_numpy()
        problem = self.problem()

        def judge(decide: Decide) -> np.ndarray:
            costs = np.asarray(problem.loss(decide(X_test), demand[:, None]))
            return by_week(costs, dates)

        return Round(problem, X[order], made.outcomes[order, None], judge)


class RestaurantCourse(SeriesCourse):
    """Seven dishes."""

    name: ClassVar[str] = "restaurant"
    what: ClassVar[str] = "seven dishes of a restaurant: 573 days to learn from, the next 192 judge"

    def rounds(self, scale: str) -> list[Cell]:
        """Dishes."""
        dishes = DISHES[:1] if scale == "tiny" else DISHES[:QUICK] if scale == "quick" else DISHES
        return [{"dish": dish} for dish in dishes]

    def rows(self, cell: Cell) -> int:
        """Three quarters of 765 days."""
        return 573

    def round(self, cell: Cell) -> Round:
        """One dish."""
        return self.panel_round(_restaurant().only([cell["dish"]]), pooled=False)


class BakeryCourse(SeriesCourse):
    """Ten series of a bakery."""

    name: ClassVar[str] = "bakery"
    what: ClassVar[str] = "ten series of a bakery's reported stores: 816 days, the next year judges"

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def rounds(self, scale: str) -> list[Cell]:
        """Places among the reported stores; the product follows from them."""
        count = {"tiny": 1, "quick": QUICK, "full": 10}[scale]
        return [{"store": place, "product": place % 3} for place in range(count)]

    def missing(self) -> str:
        """The file is not in the library."""
        file = Path(self.folder) / real_series.BAKERY
        return "" if file.is_file() else f"needs {real_series.BAKERY} of ddop 0.7.6 in --data"

    def data(self) -> dict[str, Any]:
        """The file's contents."""
        return {"file": digest(Path(self.folder) / real_series.BAKERY)}

    def rows(self, cell: Cell) -> int:
        """Days from 2016 on, less those without a past."""
        return 816

    def round(self, cell: Cell) -> Round:
        """One store's product."""
        panel = _bakery(self.folder)
        stores = list(dict.fromkeys(name.split("/")[0] for name in panel.series))
        products = sorted({name.split("/")[1] for name in panel.series})
        series = f"{stores[cell['store']]}/{products[cell['product']]}"
        return self.panel_round(panel.only([series]), pooled=False)


class PooledBakeryCourse(BakeryCourse):
    """All thirty series in one table."""

    name: ClassVar[str] = "bakery-pooled"
    what: ClassVar[str] = "thirty series in one table, in units of their means: 24,480 rows × 43"

    def rounds(self, scale: str) -> list[Cell]:
        """One."""
        return [{"series": 3 if scale == "tiny" else 30}]

    def rows(self, cell: Cell) -> int:
        """All series' days."""
        return 816 * cell["series"]

    def round(self, cell: Cell) -> Round:
        """All series, or the first few."""
        panel = _bakery(self.folder)
        return self.panel_round(panel.only(panel.series[: cell["series"]]), pooled=True)


def digest(file: Path) -> str:
    """What a file holds, in short."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


@cache
def _restaurant() -> Panel:
    return real_series.restaurant()


@cache
def _bakery(folder: str) -> Panel:
    return real_series.bakery(Path(folder), tuning=False)
