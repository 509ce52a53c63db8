"""A whole distribution of outcomes in every context: a conditional mean, and what it is off by.

    ŷ_kj = m(x̂_k) + s(x̂_k)·r_j,     r = (y − m̂)/ŝ on rows that m̂ and ŝ have not seen

History has one outcome per context, which says little of what else might have happened there. Here
each context gets ``outcomes`` of them, made of its predicted mean and the residuals of all rows, or
of near ones. So causal robustness is not vacuous, and a quantile is estimated with the efficiency
of a mean (docs/results/causality.md).

Residuals are drawn systematically: their order cut into as many pieces as outcomes are wanted, one
from each, at a place that goes on from context to context by the golden ratio, so that together the
contexts use all of them. With several outcomes whole vectors are drawn, in the order of their first
principal component; what goes together stays together.

Of censored rows the residuals are censored, too: what they weigh goes to larger ones that were seen
(``data.censoring``), and mean and scale are learned as ``forecasts.censored`` has it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.neighbors import NearestNeighbors

from hedgerow import _checks
from hedgerow.data.censoring import among_all, censored_in_order
from hedgerow.data.nominal import Nominal, NominalDistribution
from hedgerow.data.rows import standardised, tie_labels
from hedgerow.data.spreads import Spreads
from hedgerow.describe.parts import NominalDescription
from hedgerow.forecasts.censored import censored_fit
from hedgerow.forecasts.cross_fitting import Crossed, counted_rows, cross_fit, splits_of
from hedgerow.forecasts.nearness import chosen_neighbours
from hedgerow.forecasts.scales import SCALES, fitted_scale
from hedgerow.forecasts.stacked_regressor import StackedRegressor

GOLDEN = (np.sqrt(5) - 1) / 2
AUTO = "auto"


class ResidualNominal(Nominal):
    """Each context with a predicted mean, plus the residuals of other rows.

    Parameters
    ----------
    regressor : scikit-learn regressor or None
        What predicts the mean; None: ``StackedRegressor()``, a soft forest and a curve of one
        learned score, weighted by what they predict of the same folds.
    scale : {"constant", "proportional"}, regressor or None
        How the size of residuals depends on the context: not at all; as the predicted mean does; as
        a regressor of their sizes has it. None: whichever of these predicts held-out rows best, the
        simpler one unless it is clearly worse.
    outcomes : int
        Outcomes per context.
    folds : int or splitter
        Rows are predicted by models that have not seen their fold. ``TimeSeriesSplit(5)`` for
        rows in order of time: nothing is predicted from its future.
    neighbours : int, "auto" or None
        Residuals of so many nearest rows only; None: of all. "auto": of the nearest quarter where
        that predicts held-out rows clearly better, and no row is censored.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> nominal = hr.ResidualNominal(outcomes=16)
    >>> policy = hr.RobustPolicy(loss, nominal=nominal, rule=hr.Affine(), solver=hr.SCSC(steps=50))
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    regressor: Any = None
    scale: Any = None
    outcomes: int = 32
    folds: Any = 5
    neighbours: int | str | None = "auto"

    def check(self) -> None:
        """Counts are whole and positive, and a regressor is one."""
        _checks.count("outcomes", self.outcomes)
        if isinstance(self.neighbours, str):
            _checks.one_of("neighbours", self.neighbours, (AUTO,))
        elif self.neighbours is not None:
            _checks.count("neighbours", self.neighbours)
        if not hasattr(self.folds, "split") and _checks.count("folds", self.folds) < 2:
            raise ValueError(f"folds must be at least 2, or a splitter; got {self.folds!r}.")
        if isinstance(self.scale, str):
            _checks.one_of("scale", self.scale, SCALES)
        for name in ("regressor", "scale"):
            given = getattr(self, name)
            usable = given is None or (hasattr(given, "predict") and hasattr(given, "fit"))
            if not usable and not (name == "scale" and isinstance(given, str)):
                raise TypeError(
                    f"{name} must be None or a regressor with fit and predict, got {given!r}."
                )

    def description(self) -> NominalDescription:
        """Each has a distribution of its own."""
        return NominalDescription(
            f"residual: a predicted mean and {self.outcomes} residuals for each context",
            "each with what might have happened there as well, by what predictions were off",
        )

    def build(self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> NominalDistribution:
        """Predict, take residuals, and give every context some of them."""
        X, Y, weights = counted_rows(self.folds, X, Y, weights)
        splits = splits_of(self.folds, X)
        means = cross_fit(self._regressor(), X, Y, weights, splits)
        sizes = fitted_scale(self.scale, means, X, Y, weights, splits)
        seen = np.flatnonzero(np.isfinite(means.held_out).all(axis=1))
        residuals = ((Y - means.held_out) / sizes.held_out)[seen]
        _, first, labels = np.unique(tie_labels(X), return_index=True, return_inverse=True)
        near: Any = self.neighbours
        if near == AUTO:
            near = chosen_neighbours(means, sizes, X, Y, weights)
        drawn = self._drawn(X[first], X[seen], residuals, weights[seen], near)
        return _around(X, weights, first, labels, means, sizes, residuals[drawn])

    def outline(
        self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray
    ) -> NominalDistribution | None:
        """As many outcomes for every context, all what one row of it had."""
        X, Y, weights = counted_rows(self.folds, X, Y, weights)
        _, first, labels = np.unique(tie_labels(X), return_index=True, return_inverse=True)
        seen, sizes = Crossed(Y, Y), Crossed(np.ones_like(Y), np.ones_like(Y))
        none = np.zeros((len(first), self.outcomes, Y.shape[1]))
        return _around(X, weights, first, labels, seen, sizes, none)

    def build_censored(
        self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray, censored: np.ndarray
    ) -> NominalDistribution:
        """Predict, and hand what censored residuals weigh on to larger ones that were seen."""
        if hasattr(self.folds, "split"):
            X, Y, weights, censored = (part[weights > 0] for part in (X, Y, weights, censored))
        else:
            X, Y, weights, censored = censored_in_order(X, Y, weights, censored)
        splits = splits_of(self.folds, X)
        means, sizes = censored_fit(self._regressor(), self.scale, X, Y, weights, censored, splits)
        seen = np.flatnonzero(np.isfinite(means.held_out).all(axis=1))
        residuals = ((Y - means.held_out) / sizes.held_out)[seen, 0]
        parts = among_all(residuals, weights[seen], censored[seen])
        residuals, low = parts.equal_parts(residuals)
        each = residuals.shape[1]
        residuals, low = residuals.reshape(-1, 1), low.reshape(-1, 1)
        _, first, labels = np.unique(tie_labels(X), return_index=True, return_inverse=True)
        near = self.neighbours * each if isinstance(self.neighbours, int) else None
        owner = np.repeat(seen, each)
        drawn = self._drawn(X[first], X[owner], residuals, weights[owner], near)
        found = _around(X, weights, first, labels, means, sizes, residuals[drawn])
        bounds = _around(X, weights, first, labels, means, sizes, low[drawn])
        return replace(found, entry_low=bounds.outcomes)

    def _regressor(self) -> Any:
        return StackedRegressor() if self.regressor is None else self.regressor

    def _drawn(
        self,
        contexts: np.ndarray,
        X: np.ndarray,
        residuals: np.ndarray,
        weights: np.ndarray,
        neighbours: int | None,
    ) -> np.ndarray:
        """Places of the residuals that each context gets, (contexts, outcomes)."""
        order = np.argsort(_leading(residuals, weights), kind="stable")
        phase = (np.arange(len(contexts))[:, None] * GOLDEN) % 1
        levels = (np.arange(self.outcomes) + phase) / self.outcomes
        if neighbours is None or neighbours >= len(X):
            below = np.cumsum(weights[order]) / weights.sum()
            return order[np.minimum(np.searchsorted(below, levels), len(order) - 1)]
        rank = np.argsort(order)
        both = standardised(np.concatenate([X, contexts]))
        search = NearestNeighbors(n_neighbors=neighbours).fit(both[: len(X)])
        near = np.sort(rank[search.kneighbors(both[len(X) :], return_distance=False)], axis=1)
        shares = weights[order][near]
        below = np.cumsum(shares, axis=1) / shares.sum(axis=1, keepdims=True)
        # one search for all contexts: each has its cumulative shares in an interval of its own
        own = np.arange(len(contexts))[:, None]
        places = np.searchsorted((below + own).ravel(), (levels + own).ravel()).reshape(
            levels.shape
        )
        places = np.minimum(places - own * neighbours, neighbours - 1)
        return order[np.take_along_axis(near, places, axis=1)]


def _around(
    X: np.ndarray,
    weights: np.ndarray,
    first: np.ndarray,
    labels: np.ndarray,
    means: Crossed,
    sizes: Crossed,
    residuals: Float[np.ndarray, "contexts outcomes y"],
) -> NominalDistribution:
    """Every context with its mean and residuals of its own; ``first`` is a row of each."""
    count = residuals.shape[1]
    made = means.all_seen[first, None] + sizes.all_seen[first, None] * residuals
    mass = np.bincount(labels, weights)
    entries = len(first) * count
    return NominalDistribution(
        contexts=X[first],
        context_mass=mass / mass.sum(),
        outcomes=made.reshape(entries, -1),
        start=np.arange(len(first)) * count,
        count=np.full(len(first), count),
        entry_outcome=np.arange(entries),
        entry_mass=np.full(entries, 1 / count),
    )


def _leading(residuals: Float[np.ndarray, "n y"], weights: np.ndarray) -> Float[np.ndarray, " n"]:
    """What residuals are ordered by: themselves, or their first principal component."""
    if residuals.shape[1] == 1:
        return residuals[:, 0]
    spreads = Spreads.measure(residuals, weights)
    scale = np.where(spreads.deviation > 0, spreads.deviation, 1.0)
    usual = np.clip(residuals, spreads.low, spreads.high)
    unitless = (usual - spreads.centre) / scale * np.sqrt(weights)[:, None]
    return unitless @ np.linalg.svd(unitless, full_matrices=False)[2][0]
