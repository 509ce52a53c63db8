"""Means and scales of outcomes of which some are only known to be at least so much.

    y*_i = y_i                                        where it was seen
           m̂_i + ŝ_i·E[ r | r > (y_i − m̂_i)/ŝ_i ]     where it is censored

with r as the product limit of the residuals (y − m̂)/ŝ has it. A mean that is fitted to y* has other
residuals, and those give another y* (Buckley & James 1979). To begin with, y* is what was seen
beyond y_i in near contexts. Residuals are those of rows held out, by the same folds in every round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from hedgerow.data.censoring import among_all, among_near
from hedgerow.forecasts.cross_fitting import Crossed, Split, cross_fit
from hedgerow.forecasts.scales import fitted_scale

ROUNDS = 2
"""Fits of the mean after the first one; later ones change next to nothing."""


def censored_fit(
    regressor: Any,
    scale: Any,
    X: np.ndarray,
    Y: np.ndarray,
    weights: np.ndarray,
    censored: np.ndarray,
    splits: Sequence[Split],
) -> tuple[Crossed, Crossed]:
    """Means, and sizes of residuals beside them, (rows, 1) each, that are those of y itself."""
    parts = among_near(X, Y[:, 0], weights, censored)
    expected = parts.expected(Y[:, 0])[:, None]
    means = cross_fit(regressor, X, expected, weights, splits)
    sizes = _scale(scale, means, X, parts.equal_parts(Y[:, 0])[0], weights, splits)

    def beyond(means: Crossed, sizes: Crossed) -> tuple[np.ndarray, np.ndarray]:
        """What is expected of each row, and what it may have been in equal parts."""
        mean, size = _predicted(means), _predicted(sizes)
        residuals = ((Y - mean) / size)[:, 0]
        parts = among_all(residuals, weights, censored)
        expected = mean + size * parts.expected(residuals)[:, None]
        return expected, mean + size * parts.equal_parts(residuals)[0]

    for _ in range(ROUNDS):
        expected, _ = beyond(means, sizes)
        means = cross_fit(regressor, X, expected, weights, splits)
    _, several = beyond(means, sizes)
    return means, _scale(scale, means, X, several, weights, splits)


def _scale(
    scale: Any,
    means: Crossed,
    X: np.ndarray,
    outcomes: Float[np.ndarray, "rows parts"],
    weights: np.ndarray,
    splits: Sequence[Split],
) -> Crossed:
    """Sizes of residuals of rows that are in equal parts, all in as many: no weights are needed."""
    if isinstance(scale, str):
        return fitted_scale(scale, means, X, outcomes[:, :1], weights, splits)
    each = outcomes.shape[1]
    rows = np.repeat(np.arange(len(X)), each)
    several: list[Split] = [
        (np.flatnonzero(np.isin(rows, kept)), np.flatnonzero(np.isin(rows, held)))
        for kept, held in splits
    ]
    crossed = Crossed(means.held_out[rows], means.all_seen[rows])
    sizes = fitted_scale(scale, crossed, X[rows], outcomes.reshape(-1, 1), weights[rows], several)
    return Crossed(sizes.held_out[::each], sizes.all_seen[::each])


def _predicted(crossed: Crossed) -> np.ndarray:
    """Held out, and what has seen the row where no fold held it out."""
    return np.where(np.isfinite(crossed.held_out), crossed.held_out, crossed.all_seen)
