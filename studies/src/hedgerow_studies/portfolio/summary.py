"""What came of a backtest: a table like the paper's, and tracks to draw.

Each month's portfolio is judged over its own holding period, and figures are averaged over months.
For charts, portfolios are chained: each is held until the next decision.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow import metrics
from hedgerow._frames import require_pandas
from hedgerow.losses import PortfolioLoss
from hedgerow_studies.portfolio.backtest import DIVERGED, Outcome
from hedgerow_studies.portfolio.market import Market

if TYPE_CHECKING:
    import pandas as pd

ORACLE, BASELINES = "PT", ("CMV", "CMV-early", "MV")


def figures(loss: PortfolioLoss, returns: np.ndarray) -> dict[str, float]:
    """Loss, Sharpe ratio, mean, standard deviation and CVaR of a portfolio's daily returns."""
    return {
        "loss": loss.realised(returns),
        "sharpe": metrics.sharpe(returns),
        "mean": float(returns.mean()),
        "std": float(returns.std()),
        "cvar": metrics.cvar(returns),
    }


def monthly(outcomes: list[Outcome]) -> pd.DataFrame:
    """One row per portfolio: its loss, mean, standard deviation, Sharpe ratio, CVaR and status."""
    pandas = require_pandas()
    rows = []
    for outcome in outcomes:
        task = outcome.task
        rows.append(
            {
                "omega": task.return_weight,
                "method": task.method,
                "rule": task.rule,
                "date": task.date,
                **figures(task.loss, outcome.returns),
                "status": outcome.status,
            }
        )
    return pandas.DataFrame(rows)


def table(outcomes: list[Outcome], market: Market) -> pd.DataFrame:
    """Averages over months, one row per return weight, method and rule.

    Prescriptiveness is given against each baseline that was run with the same rule, from losses
    averaged over months; ``turnover`` is the mean share of wealth moved from one month's decision
    to the next; ``diverged`` counts choices whose training did.
    """
    pandas = require_pandas()
    if not outcomes:
        raise ValueError("There are no outcomes to summarise.")
    by_month = monthly(outcomes)
    keys = ["omega", "method", "rule"]
    averages: Any = by_month.groupby(keys, sort=False).mean(numeric_only=True)
    moved, failed = {}, {}
    for key, group in _grouped(outcomes).items():
        full = [_spread(outcome, len(market.assets)) for outcome in group]
        changes = [metrics.turnover(before, after) for before, after in pairwise(full)]
        moved[key] = float(np.mean(changes)) if changes else math.nan
        failed[key] = sum(outcome.status == DIVERGED for outcome in group)
    averages["turnover"] = pandas.Series(moved)
    averages["diverged"] = pandas.Series(failed)
    losses = averages["loss"]
    for baseline in BASELINES:
        averages[f"P against {baseline}"] = [
            _closed(losses, omega, method, rule, baseline) for omega, method, rule in averages.index
        ]
    return averages.reset_index()


def tracks(outcomes: list[Outcome], market: Market) -> pd.DataFrame:
    """Daily returns in percent of chained portfolios, one column per (ω, method, rule)."""
    pandas = require_pandas()
    columns = {}
    for key, group in _grouped(outcomes).items():
        starts = [int(np.searchsorted(market.dates, outcome.task.window.date)) for outcome in group]
        ends = [*starts[1:], starts[-1] + len(group[-1].returns)]
        pieces = [
            market.returns[start:end] @ _spread(outcome, len(market.assets))
            for outcome, start, end in zip(group, starts, ends, strict=True)
        ]
        dates = market.dates[starts[0] : ends[-1]]
        columns[key] = pandas.Series(np.concatenate(pieces), index=pandas.DatetimeIndex(dates))
    return pandas.DataFrame(columns)


def weights(outcomes: list[Outcome], market: Market) -> pd.DataFrame:
    """Every holding: one row per portfolio and asset bought."""
    pandas = require_pandas()
    rows = [
        (task.return_weight, task.method, task.rule, task.date, market.assets[asset], weight)
        for outcome in outcomes
        for task in (outcome.task,)
        for asset, weight in zip(task.window.assets, outcome.weights, strict=True)
        if weight > 1e-6
    ]
    return pandas.DataFrame(rows, columns=["omega", "method", "rule", "date", "asset", "weight"])


def _closed(losses: Any, omega: float, method: str, rule: str, baseline: str) -> float:
    """Prescriptiveness of one row; NaN where oracle or baseline were not run."""
    own_rule = "" if baseline == "MV" else rule
    try:
        best, worse = losses[omega, ORACLE, ""], losses[omega, baseline, own_rule]
    except KeyError:
        return math.nan
    return metrics.prescriptiveness(losses[omega, method, rule], worse, best)


def _grouped(outcomes: list[Outcome]) -> dict[tuple[float, str, str], list[Outcome]]:
    """Outcomes by (ω, method, rule), in order of time."""
    groups: dict[tuple[float, str, str], list[Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda outcome: outcome.task.date):
        task = outcome.task
        groups.setdefault((task.return_weight, task.method, task.rule), []).append(outcome)
    return groups


def _spread(outcome: Outcome, assets: int) -> np.ndarray:
    """Weights on all assets of the market, 0 outside the pool."""
    full = np.zeros(assets)
    full[outcome.task.window.assets] = outcome.weights
    return full
