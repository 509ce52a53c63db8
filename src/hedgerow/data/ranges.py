"""Where contexts of training lay, feature by feature, and which later ones are far outside.

    far outside     x < low − SHARE·(high − low)   or   x > high + SHARE·(high − low)

A rule answers there, too, but nothing in its history says that the answer is any good. Values that
look like typos take no part in ranges; a feature that never varied is outside once it differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.describe.numbers import counted, listed

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

SHARE = 0.1
"""Of a range's width, that a value may lie beyond it: new extremes are no surprise."""
ROUNDING = 1e-9


def ranges_of(
    values: Float[np.ndarray, "rows d"],
    low: Float[np.ndarray, " d"],
    high: Float[np.ndarray, " d"],
) -> Float[np.ndarray, "2 d"]:
    """Return the least and the largest value of each column that lies between these ends."""
    least, most = values.min(axis=0), values.max(axis=0)
    if np.all(least >= low) and np.all(most <= high):
        return np.stack([least, most])
    within = (values >= low) & (values <= high)
    least = np.where(within, values, np.inf).min(axis=0)
    return np.stack([least, np.where(within, values, -np.inf).max(axis=0)])


def far_outside(
    ranges: Float[np.ndarray, "2 d"], contexts: Float[np.ndarray, "rows d"]
) -> Bool[np.ndarray, "rows d"]:
    """Which values lie far outside their feature's range."""
    low, high = ranges
    room = SHARE * (high - low) + ROUNDING * np.maximum(np.abs(low), np.abs(high))
    return (contexts < low - room) | (contexts > high + room)


def names_outside(far: Bool[np.ndarray, "rows d"], names: list[str]) -> list[tuple[str, ...]]:
    """Return the names of each row's features that are outside."""
    if not far.any():
        return [()] * len(far)
    return [tuple(names[j] for j in np.flatnonzero(row)) for row in far]


def outside_words(far: Bool[np.ndarray, "rows d"], names: list[str]) -> str | None:
    """Say how many rows are far outside, and by which features; None if none is."""
    rows, columns = int(far.any(axis=1).sum()), np.flatnonzero(far.any(axis=0))
    if not rows:
        return None
    verb = "lies" if rows == 1 else "lie"
    return (
        f"{counted(rows, 'row')} of {len(far):,} {verb} far outside of what the policy was trained "
        f"on ({listed([names[j] for j in columns], most=5)}): look at "
        f"{'its decision' if rows == 1 else 'their decisions'} before you act."
    )
