"""Least values along one line, for many problems at once: golden sections.

Each problem has its own interval and its own minimum; a step keeps the part of every interval that
the minimum of a quasi-convex function must lie in, 0.618 of it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

GOLDEN = (np.sqrt(5) - 1) / 2
STEPS = 22
"""2.5e-5 of the first interval is left."""


def golden(
    function: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return where function (problems,) → (problems,) is least between low and high, and its value.

    The ends count, too: minima of programs often lie there.
    """
    first, last = low, high
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(STEPS):
        lower = at_left <= at_right
        low, high = np.where(lower, low, left), np.where(lower, right, high)
        new = np.where(lower, high - GOLDEN * (high - low), low + GOLDEN * (high - low))
        value = function(new)
        left, right = np.where(lower, new, right), np.where(lower, left, new)
        at_left, at_right = np.where(lower, value, at_right), np.where(lower, at_left, value)
    places = np.stack([left, right, first, last])
    values = np.stack([at_left, at_right, function(first), function(last)])
    best = np.argmin(values, axis=0)[None]
    return np.take_along_axis(places, best, 0)[0], np.take_along_axis(values, best, 0)[0]
