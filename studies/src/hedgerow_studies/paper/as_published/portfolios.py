"""Portfolios by the released protocol, on other stocks.

    dates        the first trading day of eight quarters, 2021 and 2022
    pool         50 stocks, drawn once for all dates
    history      the last 730 rows up to and *including* the day of the decision, where it is a
                 trading day: its return is learned from and then held
    held         60 days
    P            per date, 1 − (H − PT)/(CMV − PT), clipped below at −100 %; 33.2 % is the mean of
                 80 such values, of eight dates, five ω and two orders, with forests

The released stocks could not be had; ours are 394 where they are 399, so that the pool differs, and
several pools are drawn to show how much that matters. CMV is the empirical risk by Adam at 0.05 for
400 passes. ``text`` is the protocol of the paper's text instead: 24 months, a pool drawn for each,
500 trading days, nothing of the day itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from hedgerow.losses import MeanVariance
from hedgerow_studies.paper import market_study, published
from hedgerow_studies.paper.as_published import losses, rules
from hedgerow_studies.paper.as_published.histories import SMALL, History
from hedgerow_studies.paper.as_published.training import PORTFOLIO_PASSES, Trainer, train
from hedgerow_studies.paper.market_study import MarketStudy
from hedgerow_studies.paper.study import Cell, Row
from hedgerow_studies.portfolio import Market, Window, figures
from hedgerow_studies.portfolio.selection import choose, parameters_for

DATES = (
    "2021-01-03", "2021-04-01", "2021-07-01", "2021-10-01",
    "2022-01-03", "2022-04-01", "2022-07-01", "2022-10-03",
)  # fmt: skip
HISTORY, HELD, POOL = 730, 60, 50
POOLS = {"tiny": 1, "quick": 1, "full": 3}
FIXED, CMV = ("PT", "EW", "MV"), "CMV, rerun"
RELEASED = {1: "1-Causal-SDRO, as released", 2: "2-Causal-SDRO, as released"}
HEDGEROW = {"1-Causal-SDRO": "hedgerow, order 1", "2-Causal-SDRO": "hedgerow, order 2"}
METHODS = (*FIXED, CMV, *RELEASED.values(), *HEDGEROW.values())
FEWER = {"hedgerow, order 1": 0, "network": 1}
"""Pools of what takes long; order 1 of the library is left to ``table1``."""


@dataclass(frozen=True)
class PortfolioAsPublished(MarketStudy):
    """The released protocol."""

    what: ClassVar[str] = "Portfolios as published"
    family: ClassVar[str | None] = "as_published"

    @property
    def source(self) -> str:
        """Its cells are those of no other study."""
        return "as-published-portfolio"

    def cells(self, scale: str) -> list[Cell]:
        """One per pool, rule, method, ω and date: a run that is stopped has few pools."""
        omegas = published.OMEGAS if scale != "tiny" else published.OMEGAS[:1]
        dates = range(len(DATES)) if scale != "tiny" else range(1)
        methods = METHODS if scale != "tiny" else (*FIXED, RELEASED[2])
        wanted = [("" if method in FIXED else "forest", method) for method in methods]
        if scale == "full":
            wanted += [("network", method) for method in (CMV, *RELEASED.values())]
        return [
            {"method": method, "rule": rule, "omega": omega, "date": date, "pool": pool,
             "scale": scale}
            for pool in range(POOLS[scale])
            for rule, method in wanted
            if pool < min(FEWER.get(method, POOLS[scale]), FEWER.get(rule, POOLS[scale]))
            for omega in omegas
            for date in dates
        ]  # fmt: skip

    def check(self, scale: str) -> None:
        """Also refuse a market without the first or the last date."""
        for date in (0, len(DATES) - 1):
            window(market_study.market(self.files), DATES[date], 0)

    def data(self) -> dict[str, Any]:
        """The market, by its content."""
        return {"market": market_study.market(self.files).fingerprint()}

    def run(self, cell: Cell) -> list[Row]:
        """Choose one portfolio and judge it over the days it is held."""
        seen = window(market_study.market(self.files), DATES[cell["date"]], cell["pool"])
        passes = 5 if cell["scale"] == "tiny" else PORTFOLIO_PASSES
        weights = chosen(cell["method"], cell["rule"], seen, cell["omega"], passes)
        return [{"day": str(seen.date)} | figures(MeanVariance(cell["omega"]), seen.held @ weights)]

    def label(self, cell: Cell) -> str:
        """Method and date."""
        return f"{cell['method']}, {DATES[cell['date']]}"


def window(market: Market, date: str, pool: int) -> Window:
    """What is learned from, decided on and held on a date, as released."""
    days = market.dates
    first = int(np.searchsorted(days, np.datetime64(date)))
    last_known = int(np.searchsorted(days, np.datetime64(date), side="right"))
    if last_known < HISTORY or first + HELD > len(days):
        raise ValueError(
            f"The market runs from {days[0]} to {days[-1]}; a decision on {date} needs {HISTORY} "
            f"trading days up to it and {HELD} from it on."
        )
    draw = np.random.default_rng([pool, 42])
    count = min(POOL, len(market.assets))
    assets = np.sort(draw.choice(len(market.assets), count, replace=False))
    past, future = slice(last_known - HISTORY, last_known), slice(first, first + HELD)
    return Window(
        date=days[first],
        assets=assets,
        contexts=market.covariates[past],
        outcomes=market.returns[past][:, assets],
        today=market.covariates[first],
        held=market.returns[future][:, assets],
    )


def chosen(method: str, rule: str, seen: Window, omega: float, passes: int) -> np.ndarray:
    """Weights of one method."""
    if method in FIXED:
        plain = choose(method, rule, seen, MeanVariance(omega), parameters_for(method), 0)
        return plain.weights
    for name, ours in HEDGEROW.items():
        if method == ours:
            loss = MeanVariance(omega)
            return choose(name, rule, seen, loss, parameters_for(name), 0).weights
    trainer = Trainer("rows", return_weight=omega, passes=passes)
    for order, name in RELEASED.items():
        if method == name:
            at = published.OMEGAS.index(omega)
            penalty, epsilon = published.PORTFOLIO_TUNED[f"{order}-Causal-SDRO"][at]
            changed = {"kind": "released", "order": order, "penalty": penalty}
            trainer = replace(trainer, **changed, epsilon=float(epsilon or 0.0))
    mean, deviation = seen.contexts.mean(axis=0), seen.contexts.std(axis=0, ddof=1) + SMALL
    today = ((seen.today - mean) / deviation)[None]
    contexts = (seen.contexts - mean) / deviation
    history = History(contexts, seen.outcomes, today, seen.held[:1], np.zeros(1))
    seed = int(seen.date.astype("datetime64[D]").astype(int))
    decisions, start = seen.outcomes.shape[1] + 1, np.random.default_rng([seed, 2])
    begun = rules.first(rule, contexts.shape[1], decisions, start, diverse=False)
    learned = train("portfolio", trainer, begun, history, seed)
    decided = rules.decide(learned, jnp.asarray(today, jnp.float32))
    return np.asarray(losses.weights(decided)[0], np.float64)
