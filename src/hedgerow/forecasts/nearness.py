"""Whose residuals may happen in a context: those of all rows, or of the nearer ones.

    all     residuals have one law everywhere, up to their size s(x)
    near    those of the nearest rows: the law may change from Mondays to Sundays in any way

Decided as sizes are (``scales``): by the mean pinball loss of the quantiles m̂ + ŝ·q(r) on rows that
were held out, where q is over all residuals, or over those of the row's neighbours without its own.
All are kept unless near ones are better by more than a standard error.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from sklearn.neighbors import NearestNeighbors

from hedgerow.data.rows import standardised
from hedgerow.forecasts.cross_fitting import Crossed
from hedgerow.forecasts.scales import LEVELS, clearly_positive, pinball

SHARE, FEWEST = 0.25, 20
"""Of the rows, how many are near; too few say nothing of a quantile."""


def chosen_neighbours(
    means: Crossed, sizes: Crossed, X: np.ndarray, Y: np.ndarray, weights: np.ndarray
) -> int | None:
    """Return how many rows' residuals a context is to have, or None: all."""
    seen = np.isfinite(means.held_out).all(axis=1)
    near = int(SHARE * seen.sum())
    if near < FEWEST:
        return None
    residuals = ((Y - means.held_out) / sizes.held_out)[seen]
    search = NearestNeighbors(n_neighbors=near).fit(standardised(X[seen]))
    who = search.kneighbors(return_distance=False)  # without the row itself
    quantiles = np.stack(
        [_quantiles(column, weights[seen], who) for column in residuals.T], axis=-1
    )
    losses = [pinball(means, sizes, Y, weights, given) for given in (None, quantiles)]
    return near if clearly_positive(losses[0] - losses[1], weights[seen]) else None


def _quantiles(
    residuals: Float[np.ndarray, " rows"],
    weights: Float[np.ndarray, " rows"],
    who: Int[np.ndarray, "rows near"],
) -> Float[np.ndarray, "rows levels"]:
    """Weighted quantiles of each row's neighbours."""
    order = np.argsort(residuals[who], axis=1)
    who = np.take_along_axis(who, order, axis=1)
    below = np.cumsum(weights[who], axis=1)
    below /= below[:, -1:]
    own = np.arange(len(who))[:, None]  # each row's shares in an interval of its own
    places = np.searchsorted((below + own).ravel(), (LEVELS + own).ravel()).reshape(len(who), -1)
    places = np.minimum(places - own * who.shape[1], who.shape[1] - 1)
    return residuals[np.take_along_axis(who, places, axis=1)]
