"""Means and scales of outcomes of which some are only known to be at least so much.

    y*_i = y_i                              where it was seen
           m̂_i + E[ r | r > y_i − m̂_i ]     where it is censored, r ~ the residuals' product limit

A mean that is fitted to y* has other residuals, and those give another y* (Buckley & James 1979).
To begin with, y* is what was seen beyond y_i in near contexts. Residuals are those of rows held
out, so the same folds serve every round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow.data.censoring import among_all, among_near
from hedgerow.forecasts.cross_fitting import Crossed, Split, cross_fit
from hedgerow.forecasts.scales import SCALES, fitted_scale

ROUNDS = 2
"""Fits after the first one; later ones change next to nothing."""


def censored_means(
    regressor: Any,
    X: np.ndarray,
    Y: np.ndarray,
    weights: np.ndarray,
    censored: np.ndarray,
    splits: Sequence[Split],
) -> Crossed:
    """Predictions that are not too low for the censored rows, (rows, 1) each."""
    expected = among_near(X, Y[:, 0], weights, censored).expected(Y[:, 0])[:, None]
    means = cross_fit(regressor, X, expected, weights, splits)
    for _ in range(ROUNDS):
        guess = _predicted(means)
        residuals = (Y - guess)[:, 0]
        expected = among_all(residuals, weights, censored).expected(residuals)[:, None]
        means = cross_fit(regressor, X, guess + expected, weights, splits)
    return means


def censored_scale(
    scale: Any,
    means: Crossed,
    X: np.ndarray,
    Y: np.ndarray,
    weights: np.ndarray,
    censored: np.ndarray,
    splits: Sequence[Split],
) -> Crossed:
    """Sizes of residuals beside the means; a censored row counts in parts of what it may have been.

    All rows are in as many parts, so that regressors need not take weights.
    """
    if isinstance(scale, str) and scale in SCALES:
        return fitted_scale(scale, means, X, Y, weights, splits)
    guess = _predicted(means)
    residuals = (Y - guess)[:, 0]
    residuals, _ = among_all(residuals, weights, censored).equal_parts(residuals)
    each = residuals.shape[1]
    rows = np.repeat(np.arange(len(X)), each)
    several: list[Split] = [
        (np.flatnonzero(np.isin(rows, kept)), np.flatnonzero(np.isin(rows, held)))
        for kept, held in splits
    ]
    crossed = Crossed(means.held_out[rows], means.all_seen[rows])
    outcomes = guess[rows] + residuals.reshape(-1, 1)
    sizes = fitted_scale(scale, crossed, X[rows], outcomes, weights[rows], several)
    return Crossed(sizes.held_out[::each], sizes.all_seen[::each])


def _predicted(means: Crossed) -> np.ndarray:
    """Held out, and what has seen the row where no fold held it out."""
    return np.where(np.isfinite(means.held_out), means.held_out, means.all_seen)
