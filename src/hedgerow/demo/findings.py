"""What the demonstration finds: money saved, changed months, a promise, tomorrow and why.

    saved      mean over days of (cost of a rival − own cost), standard error over weeks
    changed    months m with the largest |log(sales_m / sales of the same month a year before)|
    promise    ``hedgerow.calibrate`` on unseen weeks, in € per piece usually sold

The rule decides in units of each series' recent level, and so is its promise: a cost per piece that
is usually sold, which means the same in a small shop and in a large one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from hedgerow.ambiguity import KL
from hedgerow.certify.calibration import calibrate
from hedgerow.certify.promise import Calibration
from hedgerow.certify.value import RobustValue, robust_value
from hedgerow.panels import PanelPolicy
from hedgerow.report.compared_costs import standard_error
from hedgerow.report.panel.reasons import Reason, reasons_of
from hedgerow.report.panel.subject import PanelSubject
from hedgerow.report.panel.ways import Way, total_inventory, ways_of, week_of

LEVEL = 0.9
CHANGED, MOST_ORDERS = 3, 3


@dataclass(frozen=True)
class Promise:
    """What a week costs at most, and the certified value behind it; per piece usually sold."""

    calibration: Calibration
    value: RobustValue
    tenth: float
    """Up to which share the costliest tenth of orders may grow within the radius."""


@dataclass(frozen=True)
class Saving:
    """A rival's cost and the policy's, a day in all series together."""

    name: str
    own: float
    other: float
    error: float
    """Standard error of the difference."""

    @property
    def saved(self) -> float:
        """Positive: the policy costs less."""
        return self.other - self.own


@dataclass(frozen=True)
class Month:
    """A month in which the world changed."""

    name: str
    change: float
    """Sales against the same month a year before, as a share."""
    own: float
    other: float
    """Cost a day of the policy and of the first rival."""
    error: float


@dataclass(frozen=True)
class Tomorrow:
    """One order, made the evening before, and what then happened."""

    series: str
    order: float
    demand: float


@dataclass(frozen=True)
class Facts:
    """Everything the demonstration says."""

    rows: int
    """That were learned from."""
    days: int
    savings: list[Saving]
    served: float
    left_over: float
    """Shares: of demand that was met, of orders that nobody bought."""
    months: list[Month]
    promise: Promise
    weeks: int
    kept: int
    """Weeks of the test, and those whose cost stayed within the promise."""
    day: str
    orders: list[Tomorrow]
    explained: str
    reason: Reason


def promise_of(panel: PanelPolicy, before: Any, begin: str) -> Promise:
    """Calibrate on the weeks from ``begin`` on, which the panel has not seen."""
    assert panel.features is not None
    assert panel.policy_ is not None  # it is pooled
    made: Any = panel.features.training(before)
    made = made[made["date"] >= begin]
    week = (made["date"] - pd.Timestamp(begin)).dt.days.to_numpy() // 7
    whole = week < (made["date"].max() - pd.Timestamp(begin)).days // 7
    rows = panel.panel_.rows(made)
    use = (rows.scale > 0) & whole
    contexts, outcomes = rows.contexts[use], (made["demand"].to_numpy() / rows.scale)[use]
    policy = panel.policy_
    found = calibrate(policy, contexts, outcomes, LEVEL, blocks=week[use], ambiguity=KL(1.0))
    learned = rows_before(panel, before, begin)
    value = robust_value(policy, *learned, ambiguity=found.model)
    return Promise(found, value, _tenth_within(found.radius))


def rows_before(panel: PanelPolicy, before: Any, begin: str) -> tuple[Any, np.ndarray]:
    """The rows that the panel was trained on, contexts and outcomes in units of their series."""
    assert panel.features is not None
    made: Any = panel.features.training(before[before["date"] < begin])
    rows = panel.panel_.rows(made)
    use = rows.scale > 0
    return rows.contexts[use], (made["demand"].to_numpy() / rows.scale)[use]


def facts_of(subject: PanelSubject, promise: Promise, before: Any) -> Facts:
    """What happened in the test year."""
    own, *others = ways_of(subject, None)[0]
    known = np.all([way.known for way in others], axis=0)
    weekly, figures = _weekly(subject, own), total_inventory(subject, own)
    assert figures is not None  # of a newsvendor
    day = subject.ticks == subject.ticks.max()
    tomorrow = np.flatnonzero(day)[np.argsort(-subject.orders[day], kind="stable")]
    first = int(tomorrow[0])
    reason = reasons_of(subject, int(subject.places[first]), np.array([first])).orders[0]
    return Facts(
        rows=int(subject.panel.panel_.facts.rows.sum()),
        days=len(np.unique(subject.ticks)),
        savings=[_saving(subject, own, way, known) for way in others],
        served=float(figures.fill_rate),
        left_over=float(figures.waste_share),
        months=_changed(subject, own, others[0], known, before),
        promise=promise,
        weeks=len(weekly),
        kept=int(np.sum(weekly <= promise.calibration.promise)),
        day=pd.Timestamp(subject.shown_time(first)).strftime("%A %-d %B %Y"),
        orders=[_order(subject, int(row)) for row in tomorrow[:MOST_ORDERS]],
        explained=_name(subject, first),
        reason=reason,
    )


def _saving(subject: PanelSubject, own: Way, other: Way, rows: np.ndarray) -> Saving:
    """A rival on the rows that everybody decides; the error is over weeks."""
    days = len(np.unique(subject.ticks[rows]))
    weeks, week = np.unique(week_of(subject)[rows], return_inverse=True)
    gaps = np.bincount(week, (other.losses - own.losses)[rows])
    error = standard_error(gaps) * len(weeks) / days
    paid, spent = (float(way.losses[rows].sum()) / days for way in (own, other))
    return Saving(other.name, paid, spent, error)


def _changed(
    subject: PanelSubject, own: Way, other: Way, rows: np.ndarray, before: Any
) -> list[Month]:
    """The months whose sales differ most from the year before, in the order of the calendar."""
    times: Any = pd.Series(subject.step.times(subject.ticks))
    months = times.dt.to_period("M")
    earlier: Any = before.groupby(before["date"].dt.to_period("M"))["demand"].sum()
    sales: Any = pd.Series(subject.outcomes).groupby(months).sum()
    last = np.array([earlier.get(month - 12, np.nan) for month in sales.index], dtype=float)
    ratio = sales.to_numpy() / last
    order = np.argsort(-np.abs(np.log(ratio)), kind="stable")[:CHANGED]
    found = []
    for nth in sorted(order[np.isfinite(ratio[order])]):
        month = sales.index[nth]
        some = _saving(subject, own, other, rows & (months == month).to_numpy())
        name = month.strftime("%b %Y")
        found.append(Month(name, float(ratio[nth]) - 1, some.own, some.other, some.error))
    return found


def _weekly(subject: PanelSubject, own: Way) -> np.ndarray:
    """Mean cost per piece usually sold of each whole week, counted from the first day."""
    scale = subject.panel.panel_.rows(subject.table).scale
    use = scale > 0
    week = ((subject.days - subject.days.min()) // 7).astype(int)[use]
    relative = own.losses[use] / scale[use]
    sums, counts = np.bincount(week, relative), np.bincount(week)
    whole = (int(np.ptp(subject.days)) + 1) // 7
    return (sums / counts)[:whole]


def _tenth_within(radius: float) -> float:
    """The largest share q with KL(q ‖ 1/10) ≤ radius, by bisection."""
    low, high = 0.1, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        rest = (1 - middle) * np.log((1 - middle) / 0.9) if middle < 1 else 0.0
        within = middle * np.log(middle / 0.1) + rest <= radius
        low, high = (middle, high) if within else (low, middle)
    return low


def _order(subject: PanelSubject, row: int) -> Tomorrow:
    return Tomorrow(_name(subject, row), float(subject.orders[row]), float(subject.outcomes[row]))


def _name(subject: PanelSubject, row: int) -> str:
    return subject.keys.words(subject.keys.values[int(subject.places[row])])
