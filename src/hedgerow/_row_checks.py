"""What the rows of a history must be like: contexts X, outcomes Y, their weights, who is censored.

    (rows, features), (rows, outcomes), (rows,), (rows,)

As in ``_checks``: a check returns rows in the form that the mathematics wants, or raises with one
sentence that says what was got, what was expected, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow._checks import numeric


def given(estimator: Any, y: Any) -> None:
    """Refuse a missing y, in the words that scikit-learn expects."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )


def in_columns(X: Any, names: Sequence[Any] | None) -> Any:
    """Return a table's columns in the order of these names; anything else as it is."""
    if names is None or not hasattr(X, "columns"):
        return X
    missing = [str(name) for name in names if name not in X.columns]
    if missing:
        raise ValueError(
            f"The table lacks the column(s) {', '.join(missing[:12])}, which the policy was "
            "trained with."
        )
    return X[list(names)]


def contexts(X: np.ndarray) -> np.ndarray:
    """Return contexts if float32, in which rules decide, can hold every one of them."""
    beyond = np.abs(X) > np.finfo(np.float32).max
    if np.any(beyond):
        row, column = (int(place) for place in np.argwhere(beyond)[0])
        raise ValueError(
            f"X has a value too large for float32, {X[row, column]:g} at row {row}, column "
            f"{column}; correct it or change that column's unit."
        )
    return X


def outcomes(Y: Any) -> np.ndarray:
    """Return outcomes as a float64 matrix (rows, outcomes); a 1-D Y is one column."""
    array = numeric("Y", Y)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(
            f"Y must have one row per observation and one column per outcome, got shape "
            f"{array.shape}."
        )
    return array


def weights(sample_weight: Any, rows: int) -> np.ndarray:
    """Return observation weights (rows,), non-negative with a positive sum; None means equal."""
    if sample_weight is None:
        return np.ones(rows)
    array = numeric("sample_weight", sample_weight)
    if array.ndim == 0:
        array = np.full(rows, array)
    if array.shape != (rows,):
        raise ValueError(
            f"sample_weight must have one entry per row ({rows}), got shape {array.shape}."
        )
    if np.any(array < 0):
        raise ValueError("sample_weight must not be negative.")
    if array.sum() <= 0:
        raise ValueError("sample_weight must have a positive sum, but every weight is zero.")
    return array


def censored(mask: Any, outcomes: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
    """Return which rows are censored, (rows,); None if none is."""
    if mask is None:
        return None
    array = np.asarray(mask)
    if array.dtype != np.bool_:
        raise TypeError(
            "censored must hold True (the outcome was at least this much) and False only, got "
            f"{array.dtype} numbers or objects; a column of 0 and 1 becomes such by .astype(bool)."
        )
    rows, columns = outcomes.shape
    if array.shape not in ((rows,), outcomes.shape):
        raise ValueError(f"censored must have one entry per row ({rows}), got shape {array.shape}.")
    if not array.any():
        return None
    if columns > 1:
        raise ValueError(
            f"Censored rows are understood for one outcome, but Y has {columns} columns; fit one "
            "policy per outcome, or leave censored out."
        )
    array = array.reshape(rows)
    if np.all(array[weights > 0]):
        raise ValueError(
            "Every row is censored, so nothing says how large outcomes are; at least some rows "
            "must have been seen in full."
        )
    return array


def within_support(outcomes: np.ndarray, support: tuple[np.ndarray, np.ndarray] | None) -> None:
    """Refuse outcomes outside the loss's outcome support, if it has one."""
    if support is None:
        return
    low, high = support
    outside = (outcomes < low) | (outcomes > high)
    if np.any(outside):
        row, column = (int(place) for place in np.argwhere(outside)[0])
        raise ValueError(
            f"{int(outside.any(axis=1).sum())} row(s) of Y lie outside the loss's outcome support, "
            f"first {outcomes[row, column]:g} at row {row}, column {column}, where the support is "
            f"[{low[column]:g}, {high[column]:g}]; correct the data or widen outcome_support."
        )
