"""Figures that tell how good decisions were.

prescriptiveness   1 − (H − H*)/(H₀ − H*): how much of the gap between a baseline's loss H₀ and the
                   oracle's H* was closed (Bertsimas & Kallus 2020)
sharpe             √periods · mean/standard deviation
cvar               mean loss in the worst share of cases
drawdown           how far wealth is below its highest so far
turnover           share of wealth that changes hands between two portfolios
fill_rate          Σ min(q, y)/Σ y: how much of demand y the orders q served
service_level      share of rows with q ≥ y, all of demand served
waste              Σ (q − y)⁺: units left over; waste_share: as a share of Σ q
stockouts          how many rows have q < y
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Shaped

from hedgerow import _checks
from hedgerow._columns import column, grouped, per_row
from hedgerow._frames import require_pandas

__all__ = [
    "InventoryFigures",
    "InventorySummary",
    "cvar",
    "drawdown",
    "fill_rate",
    "inventory_summary",
    "prescriptiveness",
    "service_level",
    "sharpe",
    "stockouts",
    "turnover",
    "waste",
    "waste_share",
]


def prescriptiveness(loss: Any, baseline: Any, oracle: Any) -> float:
    """Share of the gap between a baseline's mean loss and the oracle's that was closed.

    1 is as good as the oracle, 0 as good as the baseline, below 0 worse. Losses may be given as
    means or case by case; NaN where the baseline is no worse than the oracle.

    Examples
    --------
    >>> prescriptiveness(loss=0.75, baseline=1.0, oracle=0.5)
    0.5
    """
    mean, worse, best = (
        float(np.mean(_checks.series(name, value)))
        for name, value in (("loss", loss), ("baseline", baseline), ("oracle", oracle))
    )
    if not worse > best:
        return math.nan
    return 1 - (mean - best) / (worse - best)


def sharpe(returns: Any, periods: int = 252) -> float:
    """Annualised ratio of mean to standard deviation; NaN for returns that never vary.

    Parameters
    ----------
    returns : (periods,) array
        Returns, one for each period.
    periods : int
        Periods in a year: 252 trading days, 12 months.

    Examples
    --------
    >>> round(sharpe([1.0, 3.0], periods=1), 6)
    2.0
    """
    returns = _checks.series("returns", returns)
    spread = float(np.std(returns))
    return math.sqrt(periods) * float(np.mean(returns)) / spread if spread > 0 else math.nan


def cvar(returns: Any, tail: float = 0.05) -> float:
    """Mean loss (minus return) over the worst ``tail`` of cases, the last one counted in part.

    Parameters
    ----------
    returns : (cases,) array
        Returns; losses are their negatives.
    tail : float in (0, 1]
        Which share of cases counts, the worst.

    Examples
    --------
    >>> cvar([-4.0, -2.0, 0.0, 1.0], tail=0.5)
    3.0
    """
    if not _checks.fraction("tail", tail) < 1:
        raise ValueError(f"tail must be less than 1, got {tail!r}.")
    losses = np.sort(-_checks.series("returns", returns))[::-1]
    shares = np.clip(tail * len(losses) - np.arange(len(losses)), 0.0, 1.0)
    return float(losses @ shares / (tail * len(losses)))


def drawdown(returns: Any) -> np.ndarray:
    """How far below its highest so far wealth stands after each period, as a share.

    ``returns`` are simple returns as fractions; the start counts as a high.

    Examples
    --------
    >>> round(float(drawdown([0.1, -0.5, 0.2])[-1]), 6)
    0.4
    """
    wealth = np.cumprod(1 + _checks.series("returns", returns))
    return 1 - wealth / np.maximum(np.maximum.accumulate(wealth), 1.0)


def turnover(before: Any, after: Any) -> float:
    """Half the sum of absolute changes in weights: 0 no trade, 1 everything sold and bought.

    Parameters
    ----------
    before, after : (assets,) arrays
        Weights of the two portfolios.

    Examples
    --------
    >>> turnover([0.5, 0.5], [0.75, 0.25])
    0.25
    """
    before, after = _checks.series("before", before), _checks.series("after", after)
    if before.shape != after.shape:
        raise ValueError(
            f"before and after must list the same assets, got {before.size} and {after.size}."
        )
    return float(np.abs(after - before).sum() / 2)


class InventoryFigures(NamedTuple):
    """How orders did: numbers, or one of each per group.

    Rows counted, units demanded and ordered, total and mean cost, and what the functions of these
    names say.

    Examples
    --------
    >>> round(inventory_summary([5, 5], [3, 6], holding=1, stockout=3).total.fill_rate, 3)
    0.889
    """

    rows: Any
    demand: Any
    ordered: Any
    cost: Any
    mean_cost: Any
    fill_rate: Any
    service_level: Any
    waste: Any
    waste_share: Any
    stockouts: Any


class InventorySummary(NamedTuple):
    """How orders did, by group and in total.

    Examples
    --------
    >>> summary = inventory_summary([5, 5], [3, 6], holding=1, stockout=3)
    >>> summary.total.mean_cost
    2.5
    """

    groups: Shaped[np.ndarray, "groups ..."]
    by_group: InventoryFigures
    total: InventoryFigures

    def to_frame(self) -> Any:
        """Return a pandas table with a row per group, and what the groups are called first."""
        names = np.asarray(self.groups).reshape(len(self.groups), -1)
        single = names.shape[1] == 1
        called = {
            "group" if single else f"group {j + 1}": column for j, column in enumerate(names.T)
        }
        return require_pandas().DataFrame(called | self.by_group._asdict())


def fill_rate(orders: Any, demand: Any) -> float:
    """Share of the demanded units that were served; NaN if nothing was demanded.

    In this and the functions below, ``orders`` is what there was to sell: the order, with the stock
    that was carried over. Negative demand, goods that came back, asks for nothing.

    Examples
    --------
    >>> fill_rate(orders=[10.0, 10.0], demand=[5.0, 15.0])
    0.75
    """
    return _total(orders, demand).fill_rate


def service_level(orders: Any, demand: Any) -> float:
    """Share of rows on which all of demand was served.

    Parameters
    ----------
    orders : (rows,) array
        What was ordered.
    demand : (rows,) array
        What was then wanted.

    Examples
    --------
    >>> service_level([5, 5, 5, 5], [3, 5, 6, 2])
    0.75
    """
    return _total(orders, demand).service_level


def waste(orders: Any, demand: Any) -> float:
    """Units that were left over, in total.

    Parameters
    ----------
    orders : (rows,) array
        What was ordered.
    demand : (rows,) array
        What was then wanted.

    Examples
    --------
    >>> waste([5, 5, 5, 5], [3, 5, 6, 2])
    5.0
    """
    return _total(orders, demand).waste


def waste_share(orders: Any, demand: Any) -> float:
    """Units that were left over as a share of those ordered; NaN if nothing was ordered.

    Parameters
    ----------
    orders : (rows,) array
        What was ordered.
    demand : (rows,) array
        What was then wanted.

    Examples
    --------
    >>> waste_share([5, 5, 5, 5], [3, 5, 6, 2])
    0.25
    """
    return _total(orders, demand).waste_share


def stockouts(orders: Any, demand: Any) -> int:
    """Count the rows on which some demand was not served: of daily rows, stock-out days.

    Parameters
    ----------
    orders : (rows,) array
        What was ordered.
    demand : (rows,) array
        What was then wanted.

    Examples
    --------
    >>> stockouts([5, 5, 5, 5], [3, 5, 6, 2])
    1
    """
    return _total(orders, demand).stockouts


def inventory_summary(
    orders: Any, demand: Any, holding: Any, stockout: Any, groups: Any = None
) -> InventorySummary:
    """Tell cost, service and waste of orders, by group and in total.

    Parameters
    ----------
    orders, demand : (rows,) arrays
        What there was to sell, and what was asked for.
    holding, stockout : float or (rows,) array
        Cost of each unit left over, and of each unit missing.
    groups : (rows,) or (rows, columns) array or None
        Labels of the series that rows belong to; None: there are no groups, only the total.

    Returns
    -------
    InventorySummary
        ``groups`` are the labels, sorted, ``by_group`` has one number of each kind per group.
    """
    ordered, demanded = _pairs(orders, demand)
    rows = len(ordered)
    left = per_row("holding", holding, rows, least=0.0)
    missing = per_row("stockout", stockout, rows, least=0.0)
    total = _overall(ordered, demanded, left, missing)
    if groups is None:
        none = np.empty(0)
        return InventorySummary(none, InventoryFigures(*(none for _ in total)), total)
    labels, codes = grouped(groups)
    if len(codes) != rows:
        raise ValueError(f"groups has {len(codes)} rows but orders has {rows}.")
    by_group = _figures(ordered, demanded, left, missing, codes, len(labels))
    return InventorySummary(labels, by_group, total)


def _total(orders: Any, demand: Any) -> InventoryFigures:
    ordered, demanded = _pairs(orders, demand)
    free = np.zeros(len(ordered))
    return _overall(ordered, demanded, free, free)


def _pairs(orders: Any, demand: Any) -> tuple[np.ndarray, np.ndarray]:
    ordered, demanded = column("orders", orders), column("demand", demand)
    if len(ordered) != len(demanded) or not len(ordered):
        raise ValueError(
            f"orders and demand must have the same rows, at least one, got {len(ordered)} and "
            f"{len(demanded)}."
        )
    return ordered, demanded


def _overall(
    orders: np.ndarray, demand: np.ndarray, holding: np.ndarray, stockout: np.ndarray
) -> InventoryFigures:
    codes = np.zeros(len(orders), dtype=np.int64)
    figures = _figures(orders, demand, holding, stockout, codes, 1)
    return InventoryFigures(*(values.item() for values in figures))


def _figures(
    orders: np.ndarray,
    demand: np.ndarray,
    holding: np.ndarray,
    stockout: np.ndarray,
    codes: np.ndarray,
    groups: int,
) -> InventoryFigures:
    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(codes, weights=values, minlength=groups)

    def share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
        return np.divide(part, whole, out=np.full(groups, math.nan), where=whole > 0)

    over, under = np.maximum(orders - demand, 0.0), np.maximum(demand - orders, 0.0)
    asked = np.maximum(demand, 0.0)
    rows, cost = np.bincount(codes, minlength=groups), total(holding * over + stockout * under)
    out = np.bincount(codes[under > 0], minlength=groups)
    return InventoryFigures(
        rows=rows,
        demand=total(asked),
        ordered=total(orders),
        cost=cost,
        mean_cost=cost / rows,
        fill_rate=share(total(np.clip(orders, 0.0, asked)), total(asked)),
        service_level=1 - out / rows,
        waste=total(over),
        waste_share=share(total(over), total(orders)),
        stockouts=out,
    )
