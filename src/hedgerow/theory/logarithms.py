"""Numbers too large for floats, kept as logarithms.

Every constant of the composition carries e^{B/T}, which overflows at ordinary losses.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

from hedgerow import _checks

LARGEST_LOG = math.log(sys.float_info.max)
LARGEST_EXACT = 2.0**53
"""From here on floats skip whole numbers, and rounding a size up means nothing."""

Triple = tuple[float, float, float]


def logarithms(name: str, values: Sequence[float]) -> Triple:
    """Logarithms of three positive numbers."""
    if len(values) != 3:
        raise ValueError(f"{name} must be three numbers, one per level, got {len(values)}.")
    first, second, third = (math.log(_checks.positive(name, value)) for value in values)
    return first, second, third


def exponential(log_value: float) -> float:
    """Return the number, or inf where a float cannot hold it."""
    return math.exp(log_value) if log_value <= LARGEST_LOG else math.inf


def log_whole(needed: float, log_rate: float) -> float:
    """Log of the least whole number N >= 1 with N·rate >= needed."""
    if needed <= 0:
        return 0.0
    log_size = math.log(needed) - log_rate
    if log_size >= math.log(LARGEST_EXACT):
        return log_size
    return math.log(max(math.ceil(math.exp(log_size)), 1))
