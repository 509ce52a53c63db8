"""Ways to decide: the policy, what people order today, and what could be ordered without a model.

    same weekday   a quantile of the last outcomes of the row's weekday, at b/(h + b) of its costs
    naive          the last known outcome of the same weekday (of the same month, in monthly tables)

Baselines know only what the lead time allows (``hedgerow.baselines``). Ways are compared on rows on
which both decide, and differences are added up by week: weeks differ from each other by more than
their days do, so that a difference is as sure as its weeks agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from hedgerow._checks import instance
from hedgerow.baselines import same_weekday_quantile, seasonal_naive
from hedgerow.data.columns import numeric_column
from hedgerow.describe.numbers import listed
from hedgerow.metrics import InventoryFigures, inventory_summary
from hedgerow.report.compared_costs import interval
from hedgerow.report.panel.subject import DAY, PanelSubject

WEEKDAYS = 26
"""Outcomes of the weekday that the quantile is of."""


@dataclass(frozen=True)
class Way:
    """One way to decide: its orders, and what they cost; NaN on rows that it cannot decide."""

    name: str
    remark: str
    kind: str
    """The "policy" (the one reported on), an "other" (what people do), or a "reference"."""
    orders: Float[np.ndarray, " rows"]
    losses: Float[np.ndarray, " rows"]

    @property
    def known(self) -> np.ndarray:
        """Rows that it decides."""
        return np.isfinite(self.losses)

    @property
    def total(self) -> float:
        """Cost of the rows that it decides."""
        return float(np.nansum(self.losses))


class Gap(NamedTuple):
    """How much more the policy costs than another way, in total, with its interval's ends."""

    own: float
    other: float
    low: float
    high: float
    weeks: int

    @property
    def difference(self) -> float:
        """Negative: the policy costs less."""
        return self.own - self.other

    @property
    def relative(self) -> float:
        """As a share of what the other way costs."""
        return self.difference / self.other if self.other > 0 else float("nan")

    @property
    def sure(self) -> bool:
        """Whether chance alone would hardly explain it."""
        return not self.low <= 0 <= self.high


def ways_of(subject: PanelSubject, against: Any) -> tuple[list[Way], list[str]]:
    """The policy, columns of present orders and baselines; sentences on what is left out."""
    found = [_way(subject, "This policy", "", "policy", subject.orders)]
    columns = instance("against", against or {}, Mapping, "a dict of name → column")
    for name, column in columns.items():
        orders = _ordered(subject, str(name), column)
        found.append(_way(subject, str(name), f"column {column}", "other", orders))
    references, untold = _references(subject)
    for name, remark, orders in references:
        way = _way(subject, name, remark, "reference", orders)
        if way.known.any():
            found.append(way)
        else:
            untold.append(f"{name} is left out: no row has a history that it could be made of.")
    return found, untold


def gap(subject: PanelSubject, policy: Way, other: Way) -> Gap:
    """Compare totals on rows on which both decide; 95 %, weeks being drawn independently."""
    rows = other.known
    weeks, week = np.unique(week_of(subject)[rows], return_inverse=True)
    own, paid = (np.bincount(week, way.losses[rows]) for way in (policy, other))
    low, high = interval(own - paid)
    if len(weeks) < 2:
        low, high = -np.inf, np.inf
    return Gap(float(own.sum()), float(paid.sum()), low * len(weeks), high * len(weeks), len(weeks))


def week_of(subject: PanelSubject) -> np.ndarray:
    """The week of every row, from Monday on; seven times where they are numbers."""
    return np.floor((subject.days + (3 if subject.dated else 0)) / 7).astype(np.int64)


def inventory(subject: PanelSubject, way: Way, groups: Any = None) -> Any:
    """Service, waste and stock-outs of the rows that a way decides; None: no newsvendor."""
    if subject.unit_costs is None:
        return None
    rows = way.known
    holding, stockout = (cost[rows] for cost in subject.unit_costs)
    return inventory_summary(
        way.orders[rows],
        subject.outcomes[rows],
        holding,
        stockout,
        None if groups is None else groups[rows],
    )


def total_inventory(subject: PanelSubject, way: Way) -> InventoryFigures | None:
    """The same over all series."""
    found = inventory(subject, way)
    return None if found is None else found.total


def _way(subject: PanelSubject, name: str, remark: str, kind: str, orders: np.ndarray) -> Way:
    return Way(name, remark, kind, orders, subject.losses(orders))


def _ordered(subject: PanelSubject, name: str, column: Any) -> np.ndarray:
    """A column of orders; one that is missing is an order that nobody knows."""
    if column not in subject.table.columns:
        raise ValueError(
            f"against={{{name!r}: {column!r}}} names a column that the table does not have; it has "
            f"{listed(subject.table.columns)}."
        )
    given = subject.table[column].notna().to_numpy()
    orders = np.full(subject.rows, np.nan)
    some: Any = subject.table[given]
    orders[given] = numeric_column(some, column)
    if not given.any():
        raise ValueError(f"against={{{name!r}: {column!r}}}: the column holds no order at all.")
    return orders


def _references(
    subject: PanelSubject,
) -> tuple[list[tuple[str, str, np.ndarray]], list[str]]:
    """Baselines that this step of time has, and a sentence on those that it has not."""
    step, past = subject.step, subject.past
    whole_days = step.kind == "us" and step.width % DAY == 0
    unit, width = (DAY, step.width // DAY) if whole_days else (1, 1)
    if step.kind != "M" and not (whole_days and (width == 1 or width % 7 == 0)):
        return [], ["Baselines by weekday need daily or weekly dates, and are left out."]
    history = past.places, past.ticks // unit, past.outcomes
    wanted, lead = (subject.places, subject.ticks // unit), subject.lead * width
    if step.kind == "M":
        orders = seasonal_naive(history, wanted, season=12, lead=lead)
        return [("Same month of last year", "its outcome", orders)], []
    naive = seasonal_naive(history, wanted, lead=lead)
    found = [("Seasonal naive", "the last known outcome of the same weekday", naive)]
    if subject.unit_costs is None:
        return found, ["The quantile of the same weekday needs the costs of a newsvendor."]
    holding, stockout = subject.unit_costs
    level = stockout / (holding + stockout)
    orders = same_weekday_quantile(history, wanted, level, last=WEEKDAYS, lead=lead)
    remark = f"quantile b/(h + b) of the last {WEEKDAYS} known outcomes"
    return [("Same-weekday quantile", remark, orders), *found], []
