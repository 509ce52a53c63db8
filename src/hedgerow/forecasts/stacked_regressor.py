"""Several regressors as one: stacked by what they predict of rows they have not seen.

    m = c + Σ_r a_r·(m_r − c),   a ≥ 0      least squares on held-out predictions, around the
                                            constant c (Wolpert 1992; Breiman 1996)

A forest, a curve of one score and a line of logarithms err differently, and which one is right is
for the data to say. Weights that add up to less than 1 shrink towards the constant, which is right
where there is little to be learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.optimize import nnls

from hedgerow import programs
from hedgerow.data.spreads import Spreads
from hedgerow.forecasts.cross_fitted import CrossFitted
from hedgerow.forecasts.cross_fitting import Crossed, Split
from hedgerow.forecasts.forest_regressor import ForestRegressor
from hedgerow.forecasts.index_regressor import IndexRegressor
from hedgerow.forecasts.log_linear_regressor import LogLinearRegressor
from hedgerow.forecasts.scales import clearly_positive

MOST_FEATURES = 200
"""Of a model of logarithms: Newton's steps cost the cube of their number."""


class StackedRegressor(CrossFitted):
    """Forests, indices and lines, weighted by what they predict of held-out rows.

    Parameters
    ----------
    members : sequence of ForestRegressor, IndexRegressor and LogLinearRegressor, or None
        What is stacked; anything with their ``cross_fit`` and ``means`` will do. None: one of each,
        of several outcomes also those whose outcomes share a direction; logarithms only of
        outcomes that are not negative, and for at most 200 features.
    folds : int or splitter
        What everything is chosen by, in ``fit``.

    Attributes
    ----------
    members_ : list
        The fitted members.
    weights_ : (members, outcomes) array
        What each of them counts.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(200, 2, random_state=0)
    >>> stacked = hr.StackedRegressor().fit(data.data, data.target)
    >>> stacked.predict(data.data[:3]).shape
    (3,)
    """

    members: Sequence[CrossFitted] | None = None
    folds: Any = 5

    def cross_fit(
        self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray, splits: Sequence[Split]
    ) -> Crossed:
        """Cross-fit every member, and weight them."""
        given = default_members(X, Y) if self.members is None else self.members
        self.members_ = [member.replace() for member in given]  # what is learned stays here
        # none needs another, and XLA works outside of Python's lock
        with ThreadPoolExecutor(min(len(self.members_), programs.threads())) as pool:
            learn = [
                pool.submit(member.cross_fit, X, Y, weights, splits) for member in self.members_
            ]
        crossed = [one.result() for one in learn]
        self._centre = Spreads.measure(Y, weights).centre
        held_out, all_seen = zip(*crossed, strict=True)
        self.weights_ = _weights(held_out, Y, weights, self._centre, splits)
        return Crossed(self._stacked(held_out), self._stacked(all_seen))

    def means(self, X: Float[np.ndarray, "rows d"]) -> Float[np.ndarray, "rows y"]:
        """What all members predict, each with its weight."""
        return self._stacked([member.means(X) for member in self.members_])

    def _stacked(self, predictions: Sequence[np.ndarray]) -> np.ndarray:
        parts = zip(self.weights_, predictions, strict=True)
        return self._centre + sum(weight * (found - self._centre) for weight, found in parts)


def default_members(X: np.ndarray, Y: np.ndarray) -> list[CrossFitted]:
    """Return what ``members=None`` stands for with such rows."""
    several = Y.shape[1] > 1
    found: list[CrossFitted] = [ForestRegressor(), IndexRegressor()]
    if several:
        found.append(IndexRegressor(shared=True))
    if np.all(Y >= 0) and X.shape[1] <= MOST_FEATURES:
        found.append(LogLinearRegressor(shared=several))
    return found


def _weights(
    predictions: Sequence[np.ndarray],
    Y: np.ndarray,
    weights: np.ndarray,
    centre: np.ndarray,
    splits: Sequence[Split],
) -> Float[np.ndarray, "members y"]:
    """Non-negative weights of least squares on held-out rows, without typos.

    The same ones for all outcomes, unless weights of their own clearly predict folds better on
    which they were not chosen: where outcomes say little, such weights are noise.
    """
    spreads = Spreads.measure(Y, weights)
    unit = np.where(spreads.deviation > 0, spreads.deviation, 1.0)
    usual = spreads.within(Y) & np.isfinite(predictions[0])
    off = np.where(usual, (Y - centre) / unit, 0.0)
    guesses = np.stack([np.where(usual, (found - centre) / unit, 0.0) for found in predictions])
    if Y.shape[1] == 1:
        return _least_squares(guesses, off, weights)
    gain = np.full(len(Y), np.nan)
    for _, held in splits:
        others = weights.copy()
        others[held] = 0.0
        own = _least_squares(guesses, off, others)
        shared = _least_squares(guesses, off, others, shared=True)
        errors = [
            np.sum((off[held] - np.sum(chosen[:, None] * guesses[:, held], axis=0)) ** 2, axis=1)
            for chosen in (shared, own)
        ]
        gain[held] = errors[0] - errors[1]
    seen = np.isfinite(gain) & usual.any(axis=1)
    clearly = clearly_positive(gain[seen], weights[seen])
    return _least_squares(guesses, off, weights, shared=not clearly)


def _least_squares(
    guesses: Float[np.ndarray, "members rows y"],
    off: Float[np.ndarray, "rows y"],
    weights: np.ndarray,
    shared: bool = False,
) -> Float[np.ndarray, "members y"]:
    """Weights of each outcome, or of all together."""
    root = np.sqrt(weights)[:, None]
    columns, target = guesses * root, off * root
    if shared:
        found = nnls(columns.reshape(len(columns), -1).T, target.ravel())[0]
        return np.tile(found[:, None], off.shape[1])
    return np.stack(
        [nnls(part.T, y)[0] for part, y in zip(columns.transpose(2, 0, 1), target.T, strict=True)],
        axis=1,
    )
