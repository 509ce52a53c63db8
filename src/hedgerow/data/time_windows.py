"""Sums over windows of many series at once, each within its own series.

    S_n[i] = v[i] + v[i − s] + … + v[i − (n−1)s],     S_2m[i] = S_m[i] + S_m[i − m·s]

A window of n values is put together from those of sizes 1, 2, 4, … that make up n: about 2 log₂ n
passes, and always the same additions in the same order. So the sum is a function of the values in
the window and of nothing else, to the last digit: neither of what came before (as differences of
running totals are) nor of where the series stands in the table. Places before the beginning of a
series count as zero.
"""

from __future__ import annotations

import numpy as np

from hedgerow.data.time_grid import TimeGrid


def shifted(values: np.ndarray, by: int, offset: np.ndarray) -> np.ndarray:
    """Return at each place what was ``by`` places earlier in its series, zero if none was.

    ``offset`` is how many places of its series come before each.
    """
    earlier = np.zeros_like(values)
    if by < len(values):
        earlier[by:] = values[: len(values) - by]
        earlier[offset < by] = 0
    return earlier


def brought_back(values: np.ndarray, by: int, offset: np.ndarray) -> np.ndarray:
    """Return at each place what is ``by`` places later in its series, zero if nothing is."""
    later = np.zeros_like(values)
    if by < len(values):
        kept = len(values) - by
        later[:kept] = np.where(offset[by:] >= by, values[by:], 0)
    return later


def window_sums(values: np.ndarray, size: int, offset: np.ndarray, stride: int = 1) -> np.ndarray:
    """Return the sum of the ``size`` values that end at each place, ``stride`` apart."""
    total, taken = np.zeros_like(values), 0
    power, width = values, 1
    while True:
        if size & width:
            total = total + shifted(power, taken * stride, offset)
            taken += width
        if taken == size:
            return total
        power = power + shifted(power, width * stride, offset)
        width *= 2


def outcomes_ahead(grid: TimeGrid, review: int) -> np.ndarray:
    """Return what a decision meets in its first and the following periods, NaN if not all known."""
    sums, complete = _intervals(grid, review)
    sums = brought_back(sums, review - 1, grid.offset)
    return np.where(brought_back(complete, review - 1, grid.offset) == 1, sums, np.nan)


def reach_of_weeks(weeks: int, lead: int, review: int, week: int | None) -> int:
    """Return how many periods before a row the earliest of so many same weekdays lies."""
    return (_first_week(lead, review, week or 1) + weeks - 1) * (week or 1)


def _first_week(lead: int, review: int, week: int) -> int:
    """The latest week before a row whose outcome is complete when the row's decision is made."""
    return -(-(lead + review - 1) // week)


def _intervals(grid: TimeGrid, review: int) -> tuple[np.ndarray, np.ndarray]:
    """Outcomes of decisions whose last period is each place, zero unless complete; whether so."""
    sums = window_sums(grid.outcome, review, grid.offset)
    counts = window_sums(grid.there.astype(np.int32), review, grid.offset)
    complete = (counts == review).astype(np.int32)
    return np.where(complete == 1, sums, 0.0), complete


class Past:
    """What was known of outcomes at each place of a grid, ``lead`` periods ahead of it.

    Parameters
    ----------
    grid : TimeGrid
        The series.
    lead, review : int
        Outcomes up to ``lead`` periods before are known; a decision covers ``review`` periods.
    week : int or None
        Periods in a week.
    partial : bool
        Whether a mean may be over what is there of its window, or must be over all of it.
    """

    def __init__(
        self, grid: TimeGrid, lead: int, review: int, week: int | None, partial: bool
    ) -> None:
        self.grid, self.lead, self.review, self.week = grid, lead, review, week or 1
        self.partial = partial
        self._sums, self._complete = _intervals(grid, review)

    def lag(self, periods: int) -> np.ndarray:
        """Return the outcome of the decision so many periods before."""
        back, offset = periods - self.review + 1, self.grid.offset
        there = shifted(self._complete, back, offset) == 1
        return np.where(there, shifted(self._sums, back, offset), np.nan)

    def rolling(self, size: int, least: int | None = None) -> np.ndarray:
        """Return what a decision meets at the mean rate of the latest periods."""
        there = self.grid.there.astype(np.int32)
        totals = window_sums(self.grid.outcome, size, self.grid.offset)
        counts = window_sums(there, size, self.grid.offset)
        return self.review * self._mean(totals, counts, self.lead, least or size)

    def same_weekday(self, weeks: int) -> np.ndarray:
        """Return the mean outcome of decisions that began on the same weekday."""
        totals = window_sums(self._sums, weeks, self.grid.offset, self.week)
        counts = window_sums(self._complete, weeks, self.grid.offset, self.week)
        back = _first_week(self.lead, self.review, self.week) * self.week - self.review + 1
        return self._mean(totals, counts, back, weeks)

    def _mean(self, totals: np.ndarray, counts: np.ndarray, back: int, least: int) -> np.ndarray:
        counts = shifted(counts, back, self.grid.offset)
        totals = shifted(totals, back, self.grid.offset)
        enough = counts >= (1 if self.partial else least)
        return np.where(enough, totals / np.maximum(counts, 1), np.nan)
