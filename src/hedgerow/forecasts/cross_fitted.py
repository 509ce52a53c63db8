"""Regressors that say of every row what they would have predicted without it.

A member of this family is fitted on all rows and on folds in one go, so what is chosen by folds
(when to stop, how much to smooth) is chosen once, and predictions of held-out rows come along.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self, cast

import numpy as np
from jaxtyping import Float
from sklearn.base import RegressorMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted, validate_data

from hedgerow import _checks, _row_checks
from hedgerow._components import ABSENT, Component
from hedgerow.forecasts.cross_fitting import Crossed, Split, counted_rows, splits_of


class CrossFitted(RegressorMixin, Component):
    """A scikit-learn regressor of means that cross-fits itself (abstract).

    ``folds``, a number of folds or a splitter, is a parameter of every member.
    """

    folds = ABSENT

    @abstractmethod
    def cross_fit(
        self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray, splits: Sequence[Split]
    ) -> Crossed:
        """Learn from checked rows; return predictions by folds' models and by that of all rows."""

    @abstractmethod
    def means(self, X: Float[np.ndarray, "rows d"]) -> Float[np.ndarray, "rows y"]:
        """Return what the model of all rows predicts of checked contexts."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose by folds what there is to choose, and learn from all rows."""
        X = cast(np.ndarray, validate_data(self, X, dtype=np.float64, ensure_min_samples=2))
        _row_checks.given(self, y)
        y = _checks.numeric("y", y)
        Y = _row_checks.outcomes(y)
        check_consistent_length(X, Y)
        rows = counted_rows(self.folds, X, Y, _row_checks.weights(sample_weight, len(X)))
        self.cross_fit(*rows, splits_of(self.folds, rows[0]))
        self._single_outcome = y.ndim == 1
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the mean outcome given each row, (rows,) or (rows, outcomes) as y was."""
        check_is_fitted(self, "_single_outcome")
        X = cast(np.ndarray, validate_data(self, X, reset=False, dtype=np.float64))
        found = self.means(X)
        return found[:, 0] if self._single_outcome else found

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that y may have several columns."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
