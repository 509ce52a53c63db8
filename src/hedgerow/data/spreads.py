"""Resistant scales: centres and spreads that a few bad rows cannot move, and who the bad rows are.

    deviation   |v − median|
    fence       10 × the 0.9-quantile of the deviations: about 16 standard deviations of a Gaussian
    spread      standard deviation of what lies within the fence
    typo        beyond the fence, and beyond a gap: more than 10 d^(1/3) times as far from the
                median as the farthest value before it, where there are d columns

Clean data lie within their fence, so there the spread is the standard deviation; nearly one in ten
values may be anything. Values at the median itself have no say in the fence: on most days there is
no rain, and no demand for some goods. Where nine in ten values are the same, and not 0, the fence
is ten times that value.

A value beyond its fence takes no part in scales. Whether it looks like a typo is another question:
the tail of stock returns leads out of the fence step by step, a slipped decimal point leaves a gap.
In a tail that falls like x^−3, as that of returns does, the farthest value is g times as far as the
next with probability g^−3, however many rows there are (ratios of order statistics of a Pareto law
are Pareto: Rényi 1953), so in one of d columns with at most d g^−3; the gap above keeps that at one
in a thousand. What lies beyond the first such gap looks like typos, many or few. They stay where
they are unless the user says otherwise.

Rows that come later, to be judged by, are seen beside those of training (``beside_training``):
what lies within sixteen of its spreads does not look like a typo, and what lies a gap farther out
does, however many there are; in between the rows' own ends decide, as above.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hedgerow import _checks
from hedgerow._warnings import OutlierWarning
from hedgerow.describe.numbers import counted, number

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

MEDIAN, MOST = 0.5, 0.9
FENCE = 10.0
GAP, TAIL = 10.0, 3.0
"""How many times as far as the next a lone value is in a single column, and the power of tails."""
JUST_BELOW = 1e-9
"""Off a quantile's level, so that rounding does not decide between two neighbours."""
MANY = 2**20
"""Numbers from which on columns are measured two at a time."""
FEW = 64
"""Rows that a column is looked at by first."""
USUAL = 16.0
"""Spreads of training that later rows may lie off: about what a Gaussian's fence is."""
NAMED = 5
"""Rows that a warning lists."""
CHOICES = ("warn", "clip", "error")


class Spreads(NamedTuple):
    """Mean and standard deviation of each column within its fence, and the fence's ends."""

    centre: Float[np.ndarray, " d"]
    deviation: Float[np.ndarray, " d"]
    low: Float[np.ndarray, " d"]
    high: Float[np.ndarray, " d"]

    @classmethod
    def measure(cls, values: Float[np.ndarray, "n d"], mass: Float[np.ndarray, " n"]) -> Spreads:
        """Read them off weighted rows; a constant column deviates by exactly 0."""
        if values.size < MANY:
            found = [_column(column, mass) for column in values.T]
        else:  # numpy works outside of Python's lock
            with ThreadPoolExecutor(max_workers=2) as threads:
                found = list(
                    threads.map(
                        lambda column: _column(np.ascontiguousarray(column), mass), values.T
                    )
                )
        return cls(*(np.array(part) for part in zip(*found, strict=True)))

    def within(self, values: Float[np.ndarray, "n d"]) -> Bool[np.ndarray, "n d"]:
        """Which values lie within the fences."""
        return (values >= self.low) & (values <= self.high)

    def hold(self, values: Float[np.ndarray, "n d"]) -> bool:
        """Whether all values lie within the fences."""
        return bool(
            np.all(values.min(axis=0) >= self.low) and np.all(values.max(axis=0) <= self.high)
        )

    def varies(self, least: float) -> Bool[np.ndarray, " d"]:
        """Which columns deviate by more than this share of their size."""
        return self.deviation > least * np.abs(self.centre)


def mend(
    kind: str,
    values: Float[np.ndarray, "n d"],
    mass: Float[np.ndarray, " n"],
    outliers: str,
    names: Sequence[Any] | None = None,
    ordinary: Spreads | None = None,
) -> Float[np.ndarray, "n d"]:
    """Deal with values that look like typos as the user wishes, and say which they are.

    ``kind`` is what the rows are called, "X" or "Y". Returns the values, those that look like typos
    moved to where the others of their column end, or to its fence if that is wider, if ``outliers``
    is "clip". ``ordinary`` are ``ordinary_ends``, where they are known already.
    """
    _checks.one_of("outliers", outliers, CHOICES)
    ordinary = ordinary_ends(values, mass) if ordinary is None else ordinary
    if ordinary.hold(values):
        return values
    typos = ~ordinary.within(values) & (mass > 0)[:, None]
    if not typos.any():
        return values
    sentence = _sentence(kind, values, ordinary, typos, names)
    if outliers == "error":
        raise ValueError(f"{sentence} Correct or remove them, or set outliers to 'warn' or 'clip'.")
    if outliers == "clip":
        warnings.warn(f"{sentence} They were clipped.", OutlierWarning, stacklevel=4)
        return np.clip(values, ordinary.low, ordinary.high)
    warnings.warn(
        f"{sentence} They are kept as they are, but take no part in scales; correct them, or set "
        "outliers to 'clip' or 'error'.",
        OutlierWarning,
        stacklevel=4,
    )
    return values


class Odd(NamedTuple):
    """Which rows look like typos, and the sentence that names them."""

    rows: Bool[np.ndarray, " n"]
    sentence: str


def beside_training(
    kind: str,
    values: Float[np.ndarray, "n d"],
    mass: Float[np.ndarray, " n"],
    centre: Float[np.ndarray, " d"] | None,
    spread: Float[np.ndarray, " d"],
    names: Sequence[Any] | None = None,
) -> Odd | None:
    """Find values that look like typos beside those whose centre and spread these are.

    ``centre`` None: the middle of the values themselves, so that a level that has moved is no typo.
    A spread of 0 says nothing of its column.
    """
    if len(values) == 0:
        return None
    if centre is None:
        centre = np.array([_quantile(column, mass, MEDIAN) for column in values.T])
    near = np.where(spread > 0, USUAL * spread, np.inf)
    if np.all(values.min(axis=0) >= centre - near) and np.all(values.max(axis=0) <= centre + near):
        return None
    own, far = ordinary_ends(values, mass), near * _gap(values.shape[1])
    ordinary = own._replace(
        centre=centre,
        low=centre - np.clip(centre - own.low, near, far),
        high=centre + np.clip(own.high - centre, near, far),
    )
    typos = ~ordinary.within(values) & (mass > 0)[:, None]
    if not typos.any():
        return None
    return Odd(np.asarray(typos.any(axis=1)), _sentence(kind, values, ordinary, typos, names))


def ordinary_ends(values: Float[np.ndarray, "n d"], mass: Float[np.ndarray, " n"]) -> Spreads:
    """Fences, moved out to where tails end that lead out of them without a gap."""
    spreads = Spreads.measure(values, mass)
    if spreads.hold(values):
        return spreads
    gap = _gap(values.shape[1])
    values = values[mass > 0]
    within = spreads.within(values)
    low, high = spreads.low.copy(), spreads.high.copy()
    for column in np.flatnonzero(~within.all(axis=0)):
        inside, there = within[:, column], values[:, column]
        distance = np.abs(there - (low[column] + high[column]) / 2)
        steps = np.sort([distance[inside].max(), *distance[~inside]])
        alone = steps[1:] / gap > steps[:-1]
        reach = steps[np.argmax(alone)] if alone.any() else steps[-1]
        ordinary = there[inside | (distance <= reach)]
        low[column] = min(low[column], ordinary.min())
        high[column] = max(high[column], ordinary.max())
    return spreads._replace(low=low, high=high)


def _gap(columns: int) -> float:
    """How many times as far as the next a value is that looks like a typo in one of the columns."""
    return GAP * columns ** (1 / TAIL)


def _sentence(
    kind: str,
    values: np.ndarray,
    spreads: Spreads,
    beyond: np.ndarray,
    names: Sequence[Any] | None,
) -> str:
    """Which rows look like typos, with the farthest one's value and where others lie."""
    rows = np.flatnonzero(beyond.any(axis=1))
    width = spreads.high - spreads.low
    distance = np.abs(values - spreads.centre) / np.where(width > 0, width, 1.0)
    row, column = map(
        int, np.unravel_index(np.argmax(np.where(beyond, distance, -1)), values.shape)
    )
    rest = values[spreads.within(values)[:, column], column]
    listed = ", ".join(str(row) for row in rows[:NAMED]) + (", …" if len(rows) > NAMED else "")
    look = "looks like a typo" if len(rows) == 1 else "look like typos"
    name = column if names is None else names[column]
    of = "" if values.shape[1] == 1 else f" in column {name}"
    where = f"where training was about {number(spreads.centre[column])}"
    if len(rest):
        where = f"where the others lie between {number(rest.min())} and {number(rest.max())}"
    return (
        f"{counted(len(rows), 'row')} of {kind} {look} (counted from 0: {listed}): row {row} has "
        f"{number(values[row, column])}{of}, {where}."
    )


def _column(values: np.ndarray, mass: np.ndarray) -> tuple[float, float, float, float]:
    """Centre, deviation and fence of one column."""
    lowest, highest = values.min(), values.max()
    if lowest == highest:
        return float(lowest), 0.0, float(lowest), float(highest)
    middle, most = _of_two(values, mass) or _of_many(values, mass)
    low, high = middle - FENCE * most, middle + FENCE * most
    inside = (values >= low) & (values <= high)
    if not inside.all():
        values, mass = values[inside], mass[inside]
    if values.min() == values.max():
        return float(values[0]), 0.0, low, high
    centre = np.average(values, weights=mass)
    deviation = np.sqrt(np.average((values - centre) ** 2, weights=mass))
    return float(centre), float(deviation), low, high


def _of_many(values: np.ndarray, mass: np.ndarray) -> tuple[float, float]:
    """The median of a column, and how far most values are from it that are elsewhere."""
    middle = _quantile(values, mass, MEDIAN)
    apart = np.abs(values - middle)
    elsewhere = (apart > 0) & (mass > 0)
    if middle != 0 and _quantile(apart, mass, MOST) == 0:
        return middle, abs(middle)
    return middle, _quantile(apart[elsewhere], mass[elsewhere], MOST)


def _of_two(values: np.ndarray, mass: np.ndarray) -> tuple[float, float] | None:
    """The same, counted instead of sorted, where rows count alike and have one of two values.

    So have the columns that say which store or which weekday it is, most of a panel's.
    """
    low, high = float(values.min()), float(values.max())
    for some in (values[:FEW], values):  # most other columns are told by a few rows
        at_low = some == low
        if not np.all(at_low | (some == high)):
            return None
    if mass.min() != mass.max() or not mass[0] > 0:
        return None
    lower = int(at_low.sum())
    middle = low if lower > _place(len(values), MEDIAN) else high
    there = lower if middle == low else len(values) - lower
    if middle != 0 and there > _place(len(values), MOST):
        return middle, abs(middle)
    return middle, high - low


def _place(rows: int, level: float) -> int:
    """Where a quantile stands among so many rows that count alike."""
    return max(int(np.ceil((level - JUST_BELOW) * rows)) - 1, 0)


def _quantile(values: np.ndarray, mass: np.ndarray, level: float) -> float:
    """The least value with at least this share of the mass at or below it."""
    if mass.min() == mass.max():
        place = _place(len(values), level)
        return float(np.partition(values, place)[place])
    level -= JUST_BELOW
    return float(np.quantile(values, level, weights=mass, method="inverted_cdf"))
