"""Figures of a panel: by series, and by week or month.

    cost_g, share cost_g/Σ cost, gap_g = cost_g − baseline_g, relative gap_g/baseline_g

A baseline that cannot decide a row yet (no history) is compared on the others. In charts over time
the policy's own cost stands in for it there, so that the distance of two lines is the difference on
rows on which both decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from hedgerow.report.panel.subject import PanelSubject
from hedgerow.report.panel.ways import Way, inventory, week_of

MOST_SERIES = 5_000
"""Series that the table on the page carries."""
MOST_STEPS = 600
"""Steps of the picture of all series."""
MOST_WEEKS, FEWEST_WEEKS, MOST_PERIODS = 110, 7, 150
WORST, LARGEST = 3, 1
"""Series that are shown in detail, if none were asked for."""


@dataclass(frozen=True)
class SeriesFigures:
    """What happened in each series, one number each."""

    rows: Int[np.ndarray, " series"]
    cost: Float[np.ndarray, " series"]
    own: Float[np.ndarray, "others series"]
    """The policy's cost on the rows that each other way decides."""
    other: Float[np.ndarray, "others series"]
    """What the other ways cost there."""
    service: dict[str, Float[np.ndarray, " series"]]
    """Fill rate, service level, waste and stock-outs; empty without the costs of a newsvendor."""

    @classmethod
    def of(cls, subject: PanelSubject, ways: list[Way]) -> SeriesFigures:
        """Add everything up by series."""
        count, places = len(subject.keys), subject.places
        policy, *others = ways

        def total(losses: np.ndarray, rows: np.ndarray) -> np.ndarray:
            return np.bincount(places[rows], losses[rows], minlength=count)

        summary = inventory(subject, policy, places)
        names = ("fill_rate", "service_level", "waste", "stockouts")
        table = np.zeros((len(others), count))
        own, other = table.copy(), table.copy()
        for k, way in enumerate(others):
            own[k], other[k] = total(policy.losses, way.known), total(way.losses, way.known)
        return cls(
            rows=np.bincount(places, minlength=count),
            cost=total(policy.losses, policy.known),
            own=own,
            other=other,
            service={}
            if summary is None
            else {name: np.asarray(getattr(summary.by_group, name), float) for name in names},
        )

    @property
    def relative(self) -> Float[np.ndarray, "others series"]:
        """How much more the policy costs, as a share of the other way's cost; NaN of none."""
        gap = self.own - self.other
        return np.divide(gap, self.other, out=np.full_like(gap, np.nan), where=self.other > 0)

    def worst(self, reference: int) -> Int[np.ndarray, " series"]:
        """All series, those that cost most beyond a way first; without any, the costliest first."""
        if not len(self.other):
            return np.argsort(-self.cost, kind="stable")
        return np.argsort(self.other[reference] - self.own[reference], kind="stable")

    def shown(self, reference: int) -> Int[np.ndarray, " some"]:
        """Series that the page carries: all, or half of them the worst and half the largest."""
        worst = self.worst(reference)
        if len(worst) <= MOST_SERIES:
            return worst
        half = MOST_SERIES // 2
        largest = np.argsort(-self.cost, kind="stable")
        chosen = worst[:half]
        rest = largest[~np.isin(largest, chosen)][: MOST_SERIES - half]
        return worst[np.isin(worst, np.concatenate([chosen, rest]))]

    def notable(self, reference: int) -> list[int]:
        """The few that are shown in detail: those that cost most beyond a way, and the largest."""
        found = [int(place) for place in self.worst(reference)[:WORST]]
        largest = [int(i) for i in np.argsort(-self.cost, kind="stable") if i not in found]
        return found + largest[:LARGEST]


class Steps(NamedTuple):
    """Series sorted by relative cost, each as wide as what the other way costs in it.

    The area between the steps and zero is the difference of the totals.
    """

    ends: Float[np.ndarray, " steps"]
    """Where each step ends, as a share of the other way's cost."""
    relative: Float[np.ndarray, " steps"]
    series: list[int]
    """Which series a step is; −1: several."""


def steps_of(figures: SeriesFigures, other: int) -> Steps:
    """Return the picture of all series against another way."""
    own, paid = figures.own[other], figures.other[other]
    there = np.flatnonzero(paid > 0)
    order = there[np.argsort(figures.relative[other][there], kind="stable")[::-1]]
    if len(order) <= MOST_STEPS:
        groups = [np.array([place]) for place in order]
    else:
        groups = np.array_split(order, MOST_STEPS)
    widths = np.array([paid[group].sum() for group in groups])
    gaps = np.array([(own[group] - paid[group]).sum() for group in groups])
    ends = np.cumsum(widths) / max(float(widths.sum()), 1e-300)
    series = [int(group[0]) if len(group) == 1 else -1 for group in groups]
    return Steps(ends, gaps / np.maximum(widths, 1e-300), series)


class Periods(NamedTuple):
    """What a day (or date) costs in all series together, mean by week or month."""

    word: str
    starts: Float[np.ndarray, " periods"]
    means: list[Float[np.ndarray, " periods"]]
    """Of each way; means, because the first week and the last one may not be whole."""


def periods_of(subject: PanelSubject, ways: list[Way]) -> Periods:
    """Average costs by day, week or month, whichever gives a line that can be read."""
    word, starts, codes = _periods(subject)
    own = ways[0].losses
    first = np.unique(subject.ticks, return_index=True)[1]
    dates = np.bincount(codes[first], minlength=len(starts))
    means = [
        np.bincount(codes, np.where(way.known, way.losses, own), minlength=len(starts)) / dates
        for way in ways
    ]
    return Periods(word, starts, means)


def _periods(subject: PanelSubject) -> tuple[str, np.ndarray, np.ndarray]:
    days, weeks = subject.days, week_of(subject)
    span = int(np.ptp(weeks)) + 1
    if not subject.dated:
        width = max(int(np.ptp(days)) // MOST_PERIODS, 1)
        starts, codes = np.unique(days // width * width, return_inverse=True)
        return "time" if width == 1 else f"{width:,} times", starts, codes
    if span < FEWEST_WEEKS:
        starts, codes = np.unique(np.floor(days), return_inverse=True)
        return "day", starts, codes
    if span <= MOST_WEEKS:
        found, codes = np.unique(weeks, return_inverse=True)
        return "week", found * 7.0 - 3, codes
    months = np.floor(days).astype("datetime64[D]").astype("datetime64[M]")
    found, codes = np.unique(months, return_inverse=True)
    return "month", found.astype("datetime64[D]").astype(np.float64), codes
