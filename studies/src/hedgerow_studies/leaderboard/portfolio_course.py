"""A course of portfolios: twenty large stocks, decided on at the beginning of a month.

Learn from 500 trading days, decide on the covariates of the evening before, hold for 21 days; the
last dates of skfolio's sample. Costs are those of mean–variance with ω = 5, the level best in
hindsight, the floor is the best constant portfolio in hindsight. A month's own range can be next to
nothing, so rounds share a unit.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from hedgerow.losses import MeanVariance
from hedgerow_studies.cells import Cell
from hedgerow_studies.leaderboard.courses import Course, Round
from hedgerow_studies.portfolio import Horizon, Market, latest_months, sp500_market
from hedgerow_studies.rivals.method import Decide, Problem

WINDOW, HOLDING, RETURN_WEIGHT = 500, 21, 5.0
DATES = {"tiny": 1, "quick": 2, "full": 12}


class PortfolioCourse(Course):
    """Monthly decisions."""

    name: ClassVar[str] = "portfolio"
    what: ClassVar[str] = "twenty stocks, monthly: 500 days to learn from, 21 held, mean–variance"
    relative_to: ClassVar[str] = "excess over hindsight; the best constant portfolio's is 1"
    shared_unit: ClassVar[bool] = True

    def rounds(self, scale: str) -> list[Cell]:
        """The last months that can be judged."""
        if self.missing():
            return []
        last = latest_months(_market(), WINDOW, HOLDING, count=DATES[scale])[1]
        months = np.datetime64(last, "M") - np.arange(DATES[scale])[::-1]
        return [{"month": str(month)} for month in months]

    def missing(self) -> str:
        """The market is skfolio's."""
        return "" if find_spec("skfolio") else "needs skfolio: 'hedgerow-studies[portfolio]'"

    def data(self) -> dict[str, Any]:
        """The market's contents."""
        return {"market": _market().fingerprint()}

    def problem(self) -> Problem:
        """Mean–variance in the order of time."""
        return Problem(MeanVariance(RETURN_WEIGHT), in_time=True)

    def rows(self, cell: Cell) -> int:
        """The window."""
        return WINDOW

    def round(self, cell: Cell) -> Round:
        """One month."""
        horizon = Horizon(cell["month"], cell["month"], WINDOW, HOLDING, pool=None)
        window = horizon.windows(_market())[0]
        loss = MeanVariance(RETURN_WEIGHT)

        def cost(held: np.ndarray) -> float:
            return loss.realised(window.held @ held)

        def judge(decide: Decide) -> np.ndarray:
            return np.array([cost(decide(window.today[None])[0, 1:])])

        best = loss.best_constant(window.held, np.ones(len(window.held)))[1:]
        return Round(self.problem(), window.contexts, window.outcomes, judge, cost(best))


@cache
def _market() -> Market:
    return sp500_market()
