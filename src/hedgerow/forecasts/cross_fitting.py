"""Predictions of rows by models that have not seen them.

    m̂_k = the prediction at x̂_k of the model fitted without k's fold

Residuals y_k − m̂_k are what an outcome may be off by on a new row; those of a model that has seen
the row are too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import clone

from hedgerow.data.rows import in_order, tie_labels

Split = tuple[Int[np.ndarray, " kept"], Int[np.ndarray, " held"]]


class Crossed(NamedTuple):
    """Predictions (rows, outcomes) by the folds' models of what they hold out, and by that of all.

    Rows that no fold holds out, such as the first ones of folds in order of time, are NaN.
    """

    held_out: Float[np.ndarray, "rows y"]
    all_seen: Float[np.ndarray, "rows y"]


def counted_rows(
    folds: Any, X: np.ndarray, Y: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows with weight, in order and each once; as they come if a splitter goes by their place."""
    if hasattr(folds, "split"):
        return X[weights > 0], Y[weights > 0], weights[weights > 0]
    return in_order(X, Y, weights)


def splits_of(folds: Any, X: Float[np.ndarray, "rows d"], seed: int = 0) -> list[Split]:
    """Split rows: so many random folds, or as a splitter such as ``TimeSeriesSplit(5)`` has it.

    Rows differ (``counted_rows``), but several may have one context, and these go into several
    folds: a model that has never seen a Sunday cannot say what others are off by on one.
    """
    if hasattr(folds, "split"):
        return [(np.asarray(kept), np.asarray(held)) for kept, held in folds.split(X)]
    if len(X) == 1:  # nothing else to learn from
        return [(np.arange(1), np.arange(1))]
    count = min(int(folds), len(X))
    rank = np.argsort(np.argsort(tie_labels(X), kind="stable"))
    rows = (np.random.default_rng(seed).permutation(len(X)) % count)[rank]
    return [(np.flatnonzero(rows != i), np.flatnonzero(rows == i)) for i in range(count)]


def cross_fit(
    regressor: Any, X: np.ndarray, Y: np.ndarray, weights: np.ndarray, splits: Sequence[Split]
) -> Crossed:
    """Fit a scikit-learn regressor on every fold and on all rows.

    One that has a ``cross_fit`` of its own, as ``ForestRegressor`` does, is asked for it.
    """
    if hasattr(regressor, "cross_fit"):
        return regressor.cross_fit(X, Y, weights, splits)
    held_out = np.full(Y.shape, np.nan)
    everything = np.arange(len(X))
    for kept, held in splits:
        held_out[held] = _fitted(regressor, X, Y, weights, kept)(X[held])
    return Crossed(held_out, _fitted(regressor, X, Y, weights, everything)(X))


def _fitted(
    regressor: Any, X: np.ndarray, Y: np.ndarray, weights: np.ndarray, rows: np.ndarray
) -> Any:
    """Fit a copy on some rows; return what predicts (rows, outcomes)."""
    y = Y[rows, 0] if Y.shape[1] == 1 else Y[rows]
    even = np.ptp(weights) == 0  # not every regressor takes weights, and few need to
    weighted = {} if even else {"sample_weight": weights[rows]}
    model = cast(Any, clone(regressor)).fit(X[rows], y, **weighted)
    return lambda contexts: np.asarray(model.predict(contexts), np.float64).reshape(-1, Y.shape[1])
