"""The market that portfolios are studied on, and when decisions are taken.

With files, as in the paper (Section 6.3): the first trading day of each month from January 2021 to
December 2022, 50 stocks drawn at random, 500 trading days to learn from, 60 to hold. Without, the
twenty stocks that come with skfolio, all of them, on the latest 24 months they allow.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from hedgerow_studies.paper.study import Study
from hedgerow_studies.portfolio import (
    Horizon,
    Market,
    Window,
    latest_months,
    read_market,
    sp500_market,
)

WINDOW, HOLDING, MONTHS = 500, 60, 24


class Files(NamedTuple):
    """Two tables, as ``hedgerow_studies.portfolio.read_market`` takes them."""

    returns: str
    covariates: str


@cache
def market(files: Files | None) -> Market:
    """Read the market, once in a process."""
    return sp500_market() if files is None else read_market(*files)


@cache
def horizon(files: Files | None) -> Horizon:
    """Months, window, holding period and pool."""
    if files is not None:
        return Horizon("2021-01", "2022-12", WINDOW, HOLDING, pool=50)
    start, end = latest_months(market(None), WINDOW, HOLDING, count=MONTHS)
    return Horizon(start, end, WINDOW, HOLDING, pool=None)


@cache
def window(files: Files | None, month: int) -> Window:
    """What is known, and what then happened, in one month of the horizon, counted from 0."""
    whole = horizon(files)
    return whole.window_of(market(files), str(np.datetime64(whole.start, "M") + month))


def description(files: Files | None) -> str:
    """What the market is called on a page."""
    count = len(market(files).assets)
    return f"{count} stocks, {'the sample of skfolio' if files is None else 'from files'}"


@dataclass(frozen=True)
class MarketStudy(Study):
    """Base of studies of one market (abstract).

    Parameters
    ----------
    files : Files or None
        Returns and covariates; None: the sample that comes with skfolio.
    """

    files: Files | None = None

    def check(self, scale: str) -> None:
        """Also refuse a market without the first or the last of the months."""
        super().check(scale)
        for month in (0, MONTHS - 1):
            window(self.files, month)

    def data(self) -> dict[str, Any]:
        """The market, by its content, wherever it was read from, and the horizon."""
        whole = asdict(horizon(self.files))
        return {"market": market(self.files).fingerprint(), "horizon": whole}
