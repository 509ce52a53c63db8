"""Kernels on what contexts and outcomes were declared to be.

Contexts: a kernel of the columns that are numbers, between their ends, times categorical variables
and fixed columns (``hedgerow.contexts``, ``kernels.mixed``). Outcomes: the loss's support, the
whole numbers on it (``kernels.lattice``), or nothing but where they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hedgerow.contexts import Supports, check_kinds, supports_of
from hedgerow.data import NominalDistribution, Units
from hedgerow.kernels import (
    MOST_POINTS,
    AbstractKernel,
    StillKernel,
    kernel_of,
    lattice,
    mixed,
)

INTEGERS, STILL = "integers", "fixed"
FAR = 72.0
"""Cost over ε beyond which there is no mass."""
WITHOUT_ENTROPY = 4.0
"""Scales that whole numbers reach beyond the data where there is no ε."""


class Declared(NamedTuple):
    """What was declared, found out on a nominal distribution: supports, and the first counts."""

    supports: Supports | None
    first: np.ndarray | None


def declared(
    model: Any, units: Units, y_scale: np.ndarray, support: Any, nominal: NominalDistribution
) -> Declared | None:
    """Return what a model's declarations mean here, or refuse data that are otherwise."""
    kinds = check_kinds(model.contexts)
    supports = supports_of(kinds, nominal, units) if kinds else None
    first = None
    if model.outcomes == INTEGERS:
        first = _first_counts(model, y_scale, support, nominal)
    return None if supports is None and first is None else Declared(supports, first)


def context_kernel(
    order: float,
    norm: float | None,
    epsilon: Any,
    scale: np.ndarray,
    supports: Supports | None,
    units: Units,
) -> AbstractKernel:
    """Return the kernel of contexts in working units."""
    if supports is None:
        return kernel_of(order, norm, epsilon, scale)
    varies = units.x_factor > 0
    held = supports.fixed.copy()
    variables = []
    for columns, values, mismatch in supports.variables:
        held[list(columns)] = True
        if varies[list(columns)].any():
            working = (values - units.x_centre[list(columns)]) * units.x_factor[list(columns)]
            variables.append((columns, working, mismatch))
    low: Any = None
    high: Any = None
    if np.any(np.isfinite([supports.low, supports.high])):
        low, high = (
            np.where(
                varies & np.isfinite(end),
                (np.where(np.isfinite(end), end, 0.0) - units.x_centre) * units.x_factor,
                side * np.inf,
            )
            for side, end in ((-1, supports.low), (1, supports.high))
        )
    numbers = int(np.sum(~held))
    smooth = kernel_of(order, norm, epsilon, np.where(held, 0.0, scale), low, high, numbers)
    return mixed(smooth, variables, np.flatnonzero(supports.fixed).tolist())


def outcome_kernel(
    order: float,
    norm: float | None,
    epsilon: Any,
    scale: np.ndarray,
    ends: tuple[Any, Any],
    outcomes: str | None,
    first: np.ndarray | None,
    unit: np.ndarray,
) -> AbstractKernel:
    """Return the kernel of outcomes in working units."""
    if outcomes == STILL:
        nowhere: Any = np.zeros_like(scale)
        return StillKernel(order=np.float64(order), epsilon=epsilon, scale=nowhere)
    along = kernel_of(order, norm, epsilon, scale, *ends)
    if first is None:
        return along
    if along.by_coordinate() is None:
        raise ValueError(
            'outcomes="integers" counts each column by itself: leave norm out for outcomes, as in '
            "norm=(2, None)."
        )
    return lattice(along, first, 1 / unit)  # pyright: ignore[reportArgumentType]


def _first_counts(
    model: Any, y_scale: np.ndarray, support: Any, nominal: NominalDistribution
) -> np.ndarray:
    """The first of the whole numbers around the data, for each outcome, with room on both sides."""
    low, high = nominal.outcomes.min(axis=0), nominal.outcomes.max(axis=0)
    epsilon = getattr(model, "epsilon", None)
    reach = WITHOUT_ENTROPY * y_scale
    if epsilon is not None:
        reach = (FAR * float(epsilon)) ** (1 / model.order) * y_scale
    least = np.full(len(low), -np.inf) if support is None else np.asarray(support[0])
    below = np.where(low - reach > least, low - reach, least)
    needed = np.ceil(high + reach) - np.floor(below) + 1
    if np.any(needed > MOST_POINTS):
        raise ValueError(
            f'outcomes="integers" would have to look at {int(needed.max())} whole numbers (at most '
            f"{MOST_POINTS}): outcomes spread so widely are as good as continuous, so leave "
            "outcomes out."
        )
    room = (MOST_POINTS - needed) // 2
    start = np.floor(below) - room
    return np.where(start > least, start, np.ceil(np.where(np.isfinite(least), least, 0.0)))
