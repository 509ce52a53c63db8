"""Several regressors as one: stacked by what they predict of rows they have not seen.

    m = c + Σ_r a_r·(m_r − c),   a ≥ 0      least squares on held-out predictions, around the
                                            constant c (Wolpert 1992; Breiman 1996)

A forest and a curve of one score err differently, and which one is right is for the data to say.
Weights that add up to less than 1 shrink towards the constant, which is right where there is little
to be learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.optimize import nnls

from hedgerow.data.spreads import Spreads
from hedgerow.forecasts.cross_fitted import CrossFitted
from hedgerow.forecasts.cross_fitting import Crossed, Split
from hedgerow.forecasts.forest_regressor import ForestRegressor
from hedgerow.forecasts.index_regressor import IndexRegressor


class StackedRegressor(CrossFitted):
    """Forests and an index, weighted by what they predict of held-out rows.

    Parameters
    ----------
    members : sequence of ForestRegressor and IndexRegressor, or None
        What is stacked; anything with their ``cross_fit`` and ``means`` will do. None: one of each.
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
        given = (ForestRegressor(), IndexRegressor()) if self.members is None else self.members
        self.members_ = [member.replace() for member in given]  # what is learned stays here
        # none needs another, and XLA works outside of Python's lock
        with ThreadPoolExecutor(len(self.members_)) as threads:
            learn = [
                threads.submit(member.cross_fit, X, Y, weights, splits) for member in self.members_
            ]
        crossed = [one.result() for one in learn]
        self._centre = Spreads.measure(Y, weights).centre
        held_out, all_seen = zip(*crossed, strict=True)
        self.weights_ = _weights(held_out, Y, weights, self._centre)
        return Crossed(self._stacked(held_out), self._stacked(all_seen))

    def means(self, X: Float[np.ndarray, "rows d"]) -> Float[np.ndarray, "rows y"]:
        """What all members predict, each with its weight."""
        return self._stacked([member.means(X) for member in self.members_])

    def _stacked(self, predictions: Sequence[np.ndarray]) -> np.ndarray:
        parts = zip(self.weights_, predictions, strict=True)
        return self._centre + sum(weight * (found - self._centre) for weight, found in parts)


def _weights(
    predictions: Sequence[np.ndarray], Y: np.ndarray, weights: np.ndarray, centre: np.ndarray
) -> Float[np.ndarray, "members y"]:
    """Non-negative weights of least squares on held-out rows, outcome by outcome, without typos."""
    usual = Spreads.measure(Y, weights).within(Y) & np.isfinite(predictions[0])
    found = np.empty((len(predictions), Y.shape[1]))
    for j, rows in enumerate(usual.T):
        root = np.sqrt(weights[rows])
        columns = [root * (predicted[rows, j] - centre[j]) for predicted in predictions]
        found[:, j] = nnls(np.column_stack(columns), root * (Y[rows, j] - centre[j]))[0]
    return found
