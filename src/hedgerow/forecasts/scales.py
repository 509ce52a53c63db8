"""How large residuals are, given the context: s(x).

constant       the same everywhere
proportional   as large as the predicted mean: errors in per cent
regressor      as a model of |y − m̂| says, cross-fitted like the mean itself

Which one is right is decided by what they say of rows they have not seen: the mean pinball loss of
the quantiles m̂ + ŝ·q(r), an estimate of half the continuous ranked probability score (Gneiting &
Raftery 2007). The simpler one is kept unless the other is better by more than a standard error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from hedgerow.data.spreads import Spreads
from hedgerow.forecasts.cross_fitting import Crossed, Split, cross_fit
from hedgerow.forecasts.index_regressor import IndexRegressor

SCALES = ("constant", "proportional")
LEAST = 0.1
"""Of the typical size of residuals: none is taken for smaller."""
LEVELS = (np.arange(20) + 0.5) / 20


def fitted_scale(
    scale: Any,
    means: Crossed,
    X: np.ndarray,
    Y: np.ndarray,
    weights: np.ndarray,
    splits: Sequence[Split],
) -> Crossed:
    """Return sizes of residuals beside the means, (rows, outcomes) each, as asked for."""
    constant = Crossed(np.ones_like(Y), np.ones_like(Y))
    if scale == "constant":
        return constant
    if scale == "proportional":
        return _proportional(means)
    if scale is not None:
        return _regressed(scale, means, X, Y, weights, splits)
    best, best_losses = constant, pinball(means, constant, Y, weights)
    counted = weights[np.isfinite(means.held_out).all(axis=1)]
    for candidate in (
        _proportional(means),
        _regressed(IndexRegressor(), means, X, Y, weights, splits),
    ):
        losses = pinball(means, candidate, Y, weights)
        if clearly_positive(best_losses - losses, counted):
            best, best_losses = candidate, losses
    return best


def clearly_positive(gain: Float[np.ndarray, " rows"], weights: np.ndarray) -> bool:
    """Whether a mean over rows is above 0 by more than its standard error."""
    share = weights / weights.sum()
    mean = share @ gain
    return bool(mean > np.sqrt(np.sum((share * (gain - mean)) ** 2)))


def _proportional(means: Crossed) -> Crossed:
    """In the mean's own units: the typical mean has size 1."""
    typical = np.median(np.abs(means.all_seen), axis=0)
    typical = np.where(typical > 0, typical, 1.0)
    return Crossed(*(np.maximum(np.abs(part) / typical, LEAST) for part in means))


def _regressed(
    regressor: Any,
    means: Crossed,
    X: np.ndarray,
    Y: np.ndarray,
    weights: np.ndarray,
    splits: Sequence[Split],
) -> Crossed:
    """Sizes by a model of |y − m̂|; rows without a residual have the size of their prediction's."""
    off = np.abs(Y - means.held_out)
    seen = np.isfinite(off).all(axis=1)
    typical = Spreads.measure(off[seen], weights[seen]).centre
    typical = np.where(typical > 0, typical, 1.0)
    off = np.where(np.isfinite(off), off, np.abs(Y - means.all_seen)) / typical
    sizes = cross_fit(regressor, X, off, weights, splits)
    return Crossed(*(np.maximum(part, LEAST) for part in sizes))


def pinball(
    means: Crossed,
    sizes: Crossed,
    Y: np.ndarray,
    weights: np.ndarray,
    given: Float[np.ndarray, "held levels y"] | None = None,
) -> Float[np.ndarray, " held"]:
    """Mean pinball loss of the predicted quantiles of each row that was held out, per spread.

    ``given`` are quantiles of each row's residuals; None: those of all of them.
    """
    seen = np.isfinite(means.held_out).all(axis=1)
    mean, size, y = means.held_out[seen], sizes.held_out[seen], Y[seen]
    residuals, share = (y - mean) / size, weights[seen] / weights[seen].sum()
    spread = Spreads.measure(Y, weights).deviation
    total = np.zeros(len(y))
    for column in range(Y.shape[1]):
        if given is None:
            quantiles = np.quantile(
                residuals[:, column], LEVELS, weights=share, method="inverted_cdf"
            )
        else:
            quantiles = given[..., column]
        guess = mean[:, [column]] + size[:, [column]] * quantiles
        gap = y[:, [column]] - guess
        losses = np.maximum(LEVELS * gap, (LEVELS - 1) * gap).mean(axis=1)
        total += losses / (spread[column] if spread[column] > 0 else 1.0)
    return total
