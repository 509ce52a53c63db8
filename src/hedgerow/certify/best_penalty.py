"""The penalty that goes with a radius, and how penalties are searched for.

    v = inf_λ { λ·ρ̄ + F_λ }

is convex in λ, with derivative ρ̄ − (discrepancy of the worst case at λ beyond the least one), and
the best λ is the root of that (paper: Eq:MCO:whole).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import root_scalar

from hedgerow.ambiguity import Budget
from hedgerow.certify.moments import Moments

TINY = 1e-300
JUMP = 1e-6
"""Of what a radius leaves: what the worst case at the best penalty misses it by, and jumps."""
SEARCH = 25.0
"""The penalty is sought between e^−25 and e^25 working units above its floor."""


def best_penalty(moments: Moments, excess: float, floor: float, before: float | None) -> float:
    """Minimise λ·ρ̄ + F_λ over λ > floor: find where the worst case uses up ρ̄ exactly.

    What it uses falls with λ, nearly as a power of it, so the equation is solved in logarithms,
    bounded far beyond ordinary numbers. At a bound the radius is either too small to leave room for
    any adversary, or too large to bind. ``before`` is the penalty found with fewer nodes.
    """

    def left(position: float) -> float:
        used = -moments.at(floor + math.exp(position)).slope
        return math.log(max(excess, TINY)) - math.log(max(used, TINY))

    start = 0.0 if before is None else math.log(before - floor)
    low, high = ends(left, start, 1.0 if before is None else 0.1)
    if left(low) >= 0:
        return floor + math.exp(low)
    if left(high) <= 0:
        return floor + math.exp(high)
    return floor + math.exp(root_scalar(left, bracket=(low, high), xtol=1e-11, rtol=1e-12).root)


def ends(rising: Callable[[float], float], start: float, step: float) -> tuple[float, float]:
    """Return ends within ± ``SEARCH`` between which a rising function changes sign, if it does."""
    low = high = float(np.clip(start, -SEARCH, SEARCH))
    while rising(high) < 0 and high < SEARCH:
        low, high, step = high, min(high + step, SEARCH), 2 * step
    while rising(low) > 0 and low > -SEARCH:
        low, high, step = max(low - step, -SEARCH), low, 2 * step
    return low, high


def used_up(used: float, above: float, budget: Budget) -> float:
    """Return how much of a radius a worst case uses: all of it, if the best penalty is at no bound.

    Where the adversary's choices are few, what it uses at a penalty jumps; at the best one two
    choices are equally good, and the worst case mixes them.
    """
    bound = math.exp(-SEARCH), math.exp(SEARCH)
    inside = 2 * bound[0] < above < bound[1] / 2
    return budget.excess if inside and abs(used - budget.excess) > JUMP * budget.excess else used
