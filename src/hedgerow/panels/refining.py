"""A factor for each series on top of a shared rule, as far as its own history supports it.

    c_g = (n_g·own best factor + k) / (n_g + k)

The own best factor is the one on a grid under which the shared decisions would have cost least on
the series' rows; k rows of doubt pull it towards 1. k is chosen so that factors found on the
earlier three quarters of every series cost least on the last quarter; k = ∞, no factors at all, is
among the choices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

FACTORS = np.exp(np.linspace(-0.7, 0.7, 57))
DOUBTS = (25.0, 50.0, 100.0, 200.0, 400.0, 800.0, np.inf)
LATER = 0.25
"""Share of every series, at its end, that doubts are chosen on."""
Costs = Callable[[Float[np.ndarray, "rows k"]], Float[np.ndarray, " rows"]]
"""What decisions would have cost on the rows they are for."""


class Refinement(NamedTuple):
    """Factors of all series, and the doubt that they were shrunken by."""

    factors: Float[np.ndarray, " series"]
    doubt: float


def refine(
    decisions: Float[np.ndarray, "rows k"],
    costs: Costs,
    places: Int[np.ndarray, " rows"],
    series: int,
    weights: Float[np.ndarray, " rows"],
) -> Refinement:
    """Find factors of shared decisions; rows are in the order of time within each series."""
    later = _later(places, series)
    on_all, on_earlier = np.empty((2, len(FACTORS), series))
    for i, factor in enumerate(FACTORS):
        paid = costs(factor * decisions) * weights
        on_all[i] = np.bincount(places, paid, minlength=series)
        on_earlier[i] = np.bincount(places, paid * ~later, minlength=series)
    rows = np.bincount(places, minlength=series)
    earlier_rows = np.bincount(places, ~later, minlength=series)

    def later_costs(doubt: float) -> float:
        factors = _shrunken(_best(on_earlier), earlier_rows, doubt)
        return float(np.sum((costs(factors[places, None] * decisions) * weights)[later]))

    doubt = min(reversed(DOUBTS), key=later_costs)  # of equal ones the largest
    return Refinement(_shrunken(_best(on_all), rows, doubt), doubt)


def _later(places: np.ndarray, series: int) -> np.ndarray:
    """Which rows lie in the last part of their series."""
    count = np.bincount(places, minlength=series)
    order = np.argsort(places, kind="stable")
    nth = np.empty(len(places), np.int64)
    nth[order] = np.arange(len(places)) - np.repeat(np.cumsum(count) - count, count)
    return nth >= np.ceil((1 - LATER) * count[places])


def _best(totals: Float[np.ndarray, "factors series"]) -> np.ndarray:
    """The factor of each series that costs least; of equal ones the nearest to 1."""
    nearest = np.argsort(np.abs(np.log(FACTORS)), kind="stable")
    return FACTORS[nearest][np.argmin(totals[nearest], axis=0)]


def _shrunken(own: np.ndarray, rows: np.ndarray, doubt: float) -> np.ndarray:
    return np.ones_like(own) if np.isinf(doubt) else (rows * own + doubt) / (rows + doubt)
