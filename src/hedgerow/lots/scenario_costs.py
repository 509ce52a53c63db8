"""What orders are expected to cost under scenarios of demand, and the quantile that costs least.

    C(q) = Σ_j p_j [ h (q − d_j)⁺ + b (d_j − q)⁺ ]
    q*   = min { d_j : Σ_{i : d_i ≤ d_j} p_i ≥ b/(b+h) }

Rows are independent; scenarios and their masses p_j are one row for all, or one for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from hedgerow import _checks
from hedgerow._columns import per_row

Column = Float[np.ndarray, " rows"]
Scenarios = Float[np.ndarray, "rows scenarios"]

EQUAL = 1e-12
"""Costs, and levels of quantiles, that differ by less are equal up to rounding of floats."""
BLOCK = 2**20
"""Scenarios that are looked at in one go, so that many rows need little memory."""


@dataclass(frozen=True)
class Costs:
    """Holding and stock-out costs of some rows."""

    holding: Column
    stockout: Column

    @classmethod
    def checked(cls, holding: Any, stockout: Any, rows: int) -> Costs:
        """Finite, not negative, not both zero."""
        costs = cls(
            per_row("holding", holding, rows, least=0.0),
            per_row("stockout", stockout, rows, least=0.0),
        )
        free = costs.holding + costs.stockout == 0
        if np.any(free):
            raise ValueError(
                f"holding and stockout are both 0 in row {int(np.argmax(free))}: every order would "
                "be optimal."
            )
        return costs

    @property
    def level(self) -> Column:
        """The critical ratio b/(b+h)."""
        return self.stockout / (self.holding + self.stockout)

    def take(self, rows: slice) -> Costs:
        """Costs of these rows."""
        return Costs(self.holding[rows], self.stockout[rows])

    def expected(self, orders: Column, demand: Scenarios, masses: Scenarios) -> Column:
        """C(q) of one order per row."""
        over = orders[:, None] - demand
        each = over * np.where(over > 0, self.holding[:, None], -self.stockout[:, None])
        return np.sum(each * masses, axis=1)


def table(name: str, value: Any) -> Scenarios:
    """Return scenarios or errors as a finite table."""
    array = _checks.parameter(name, value)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(f"{name} must have the shape (rows, scenarios), got {array.shape}.")
    return array


def masses_of(weights: Any, rows: int, width: int) -> Scenarios:
    """Return weights that sum to one, of shape (1, scenarios) or (rows, scenarios)."""
    if weights is None:
        return np.full((1, width), 1 / width)
    array = np.atleast_2d(_checks.parameter("weights", weights))
    if array.shape not in ((1, width), (rows, width)):
        raise ValueError(
            f"weights must be of shape ({width},) or ({rows}, {width}), one per scenario; got "
            f"{array.shape}."
        )
    total = array.sum(axis=1, keepdims=True)
    wrong = np.any(array < 0, axis=1) | (total[:, 0] <= 0)
    if np.any(wrong):
        raise ValueError(
            "weights must not be negative, nor all of them 0 on a row; see row "
            f"{int(np.argmax(wrong))}."
        )
    return array / total


def quantiles(values: Scenarios, masses: Scenarios, levels: Column) -> Column:
    """Smallest values at which the masses up to them reach the levels, one per level."""
    values, masses = np.broadcast_arrays(values, masses)
    order = np.argsort(values, axis=1, kind="stable")
    reached = np.cumsum(np.take_along_axis(masses, order, axis=1), axis=1)
    # a level that a sum of masses meets up to rounding is met; what has no mass is never reached
    asked = np.maximum(levels - EQUAL, np.finfo(np.float64).tiny)
    places = np.minimum(np.sum(reached < asked[:, None], axis=1), values.shape[1] - 1)
    ordered = np.take_along_axis(values, order, axis=1)
    of_row = np.arange(len(levels)) if len(values) == len(levels) else 0
    return ordered[of_row, places]


def blocks(rows: int, width: int) -> Iterator[slice]:
    """Yield slices of rows with some ``BLOCK`` scenarios each; an empty one if there are none."""
    step = max(1, BLOCK // width)
    for start in range(0, max(rows, 1), step):
        yield slice(start, min(start + step, rows))


def shared(array: np.ndarray, rows: slice) -> np.ndarray:
    """Return these rows of an array; its only row is that of all."""
    return array if len(array) == 1 else array[rows]
