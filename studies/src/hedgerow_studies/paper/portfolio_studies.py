"""Studies of portfolio selection: one choice a cell, which all of them share.

    table1     methods on average: loss, Sharpe ratio, mean, standard deviation and CVaR
    fig9       forests and networks, orders 1 and 2
    fig14      penalties and epsilons at ω = 5
    fig16      Causal-SDRO, SDRO, Causal-WDRO, of order 1 and 2, and KL-DRO
    ablations  a hedged forest, one whose contexts are shuffled in time, and a hedged constant

How portfolios are chosen and judged is ``hedgerow_studies.portfolio``; parameters are those chosen
on earlier years there. A quick run is part of a full one: what it computed is not computed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from hedgerow.ambiguity import InadmissiblePenaltyError
from hedgerow.losses import MeanVariance
from hedgerow_studies.paper import market_study
from hedgerow_studies.paper.market_study import MarketStudy
from hedgerow_studies.paper.study import Cell, Row
from hedgerow_studies.portfolio import figures
from hedgerow_studies.portfolio.selection import FIXED, choose, parameters_for

ORDERS = ("1-Causal-SDRO", "2-Causal-SDRO")
MODELS = (*ORDERS, "1-SDRO", "SDRO", "1-Causal-WDRO", "Causal-WDRO", "KL-DRO")
"""SDRO and Causal-WDRO alone are of order 2."""
ORACLE, BASELINES = "PT", ("CMV", "CMV-early")
"""Hindsight, and the empirical risk, trained long and stopped early."""
RULES = ("forest", "two-layer")
OMEGAS = {"tiny": (5.0,), "quick": (1.0, 5.0), "full": (1.0, 3.0, 5.0, 7.0, 9.0)}
MONTHS: dict[str, Sequence[int]] = {
    "tiny": (0,),
    "quick": (0, 11, 23),
    "full": range(market_study.MONTHS),
}
"""Of the horizon, counted from 0."""
CONSTANT, SHUFFLED = "constant", "forest, contexts shuffled"
ABLATED = ("forest", SHUFFLED, CONSTANT)
SLOW = ("CMV", "1-Causal-SDRO", "1-SDRO", "1-Causal-WDRO", "Causal-WDRO")
"""What tests do without."""
MAPPED = 5.0
"""The ω whose penalties and epsilons are mapped."""
GRIDS = {
    "tiny": ((0.1, 3.0), (0.3,)),
    "quick": ((0.3, 3.0, 30.0), (0.3, 1.0)),
    "full": ((0.1, 0.3, 1.0, 3.0, 10.0, 30.0), (0.1, 0.3, 1.0)),
}
"""Penalties and epsilons."""


class Portfolio(MarketStudy):
    """Base of studies of portfolios (abstract)."""

    family: ClassVar[str | None] = "portfolio"

    @property
    def source(self) -> str:
        """One for all: a choice is the same whoever asks for it."""
        return "portfolio"

    def run(self, cell: Cell) -> list[Row]:
        """Choose one portfolio and judge it over the days it is held."""
        window = market_study.window(self.files, cell["month"])
        rule = cell["rule"]
        if rule == SHUFFLED:
            order = np.random.default_rng([cell["seed"], cell["month"]])
            window = replace(window, contexts=order.permutation(window.contexts))
            rule = "forest"
        loss = MeanVariance(cell["omega"])
        about: Row = {"date": str(window.date), "pool": len(window.assets)}
        about["market"] = market_study.description(self.files)
        given = {name: cell[name] for name in ("penalty", "epsilon") if name in cell}
        parameters = replace(parameters_for(cell["method"]), **given)
        try:
            choice = choose(cell["method"], rule, window, loss, parameters, cell["seed"])
        except InadmissiblePenaltyError:
            if not given:
                raise
            return [about | {"loss": float("nan"), "status": "inadmissible"}]
        return [about | figures(loss, window.held @ choice.weights) | {"status": choice.status}]


class PortfolioTable(Portfolio):
    """Methods on average."""

    what: ClassVar[str] = "Portfolio methods on average"

    def cells(self, scale: str) -> list[Cell]:
        """One per method, ω and month."""
        return _choices((ORACLE, "EW", "MV", *BASELINES, *ORDERS), ("forest",), scale)


class PortfolioRules(Portfolio):
    """Forests and networks."""

    what: ClassVar[str] = "Decision rules on portfolios"

    def cells(self, scale: str) -> list[Cell]:
        """One per method, rule, ω and month."""
        return _choices((ORACLE, *BASELINES, *ORDERS), RULES, scale)


class PortfolioModels(Portfolio):
    """What to hedge against: every model with a forest."""

    what: ClassVar[str] = "Models of ambiguity on portfolios"

    def cells(self, scale: str) -> list[Cell]:
        """One per method, ω and month."""
        return _choices((ORACLE, *BASELINES, *MODELS), ("forest",), scale)


class PortfolioAblations(Portfolio):
    """What context is worth: one hedged model, with it and without."""

    what: ClassVar[str] = "Hedged portfolios without context"

    def cells(self, scale: str) -> list[Cell]:
        """One per rule and month at one ω, and what they are compared with."""
        tiny = scale == "tiny"
        fixed = _choices((ORACLE, "MV"), ("",), scale, (MAPPED,))
        return fixed + _choices(ORDERS[1:], ABLATED[2 * tiny :], scale, (MAPPED,))


class PortfolioParameters(Portfolio):
    """Losses over penalties and epsilons."""

    what: ClassVar[str] = "Penalty and epsilon on portfolios"

    def cells(self, scale: str) -> list[Cell]:
        """One per order, penalty, epsilon and month, and what they are compared with."""
        months = MONTHS[scale] if scale == "full" else MONTHS[scale][:2]
        penalties, epsilons = GRIDS[scale]
        mapped = _choices(ORDERS, ("forest",), scale, (MAPPED,), months)
        return _choices((ORACLE, *BASELINES), ("forest",), scale, (MAPPED,), months) + [
            choice | {"penalty": penalty, "epsilon": epsilon}
            for choice in mapped
            for penalty in penalties
            for epsilon in epsilons
        ]


def _choices(
    methods: Iterable[str],
    rules: Iterable[str],
    scale: str,
    omegas: Iterable[float] | None = None,
    months: Iterable[int] | None = None,
) -> list[Cell]:
    """Cells by method, rule, ω and month; what needs no rule is asked for once."""
    rules, seed = tuple(rules), 0
    omegas = OMEGAS[scale] if omegas is None else tuple(omegas)
    months = MONTHS[scale] if months is None else tuple(months)
    return [
        {"method": method, "rule": rule, "omega": omega, "month": month, "seed": seed}
        for method in methods
        if scale != "tiny" or method not in SLOW
        for rule in (("",) if method in FIXED else rules)
        for omega in omegas
        for month in months
    ]
