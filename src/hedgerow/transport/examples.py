"""The two measures between which the paper draws plans (its Figure 1)."""

from __future__ import annotations

import numpy as np

from hedgerow import _checks
from hedgerow.transport.measure import DiscreteMeasure


def example_measures(points: int = 61) -> tuple[DiscreteMeasure, DiscreteMeasure]:
    """Source and target of the paper's figure, on a grid of [−3, 3]² with ``points`` a side.

    Source: x̂ ~ N(0, 0.1) and ŷ from an equal mixture of N(±1.5, 0.3), variances throughout.
    Target: an equal mixture of two Gaussians at ±(1, 1), with variance 0.3 and correlation 0.6.
    """
    grid = np.linspace(-3, 3, _checks.count("points", points, least=3))
    x, y = np.meshgrid(grid, grid, indexing="ij")

    def bump(value: np.ndarray, centre: float, variance: float) -> np.ndarray:
        return np.exp(-((value - centre) ** 2) / (2 * variance))

    source = bump(x, 0, 0.1) * (bump(y, -1.5, 0.3) + bump(y, 1.5, 0.3))
    variance, correlation = 0.3, 0.6
    target = np.zeros_like(x)
    for centre in (-1, 1):
        u, v = x - centre, y - centre
        form = (u**2 - 2 * correlation * u * v + v**2) / (1 - correlation**2)
        target += np.exp(-form / (2 * variance))
    return (
        DiscreteMeasure.grid(grid, grid, source / source.sum()),
        DiscreteMeasure.grid(grid, grid, target / target.sum()),
    )
