"""Means that change by per cents: a logarithm that is linear in the context (Poisson regression).

    m_j(x) = c_j·exp(bᵀx)
    b      = argmin  Σ_i w_i ( μ_i − t_i log μ_i ) + α‖b‖²/2,      μ_i = exp(a + bᵀx_i)
    t      = y/ȳ,    or of outcomes that share b   Σ_j ω_j y_j/ȳ_j,   ω_j ∝ 1/var(y_j/ȳ_j)

Demand is often a product: so much more on a Saturday, so much less in the rain. The criterion is
that of Poisson's law and right for any outcome that is not negative: what it asks of the data is
their mean alone (quasi-likelihood, Wedderburn 1974). Where outcomes rise and fall together by one
factor, each says a little of it, the less variable ones more: the weighted sum t says all that
there is to learn of b if outcomes are Gamma with one scale.

The criterion is convex: b is found by Newton's method, from the strongest shrinkage down, each α
beginning where the last one ended. The folds choose α, in units of the variance of t.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from hedgerow.data.spreads import Spreads
from hedgerow.forecasts.cross_fitted import CrossFitted
from hedgerow.forecasts.cross_fitting import Crossed, Split

SHRINKAGES = np.array([1e4, 3e3, 1e3, 3e2, 1e2, 3e1, 1e1, 3.0, 1.0])
STEPS, CLOSE = 8, 1e-6
"""Newton steps for each α at most, and the change of log μ from which on none is needed."""
FEWEST_USUAL = 0.5
"""Share of rows with all features within their fences; of very many columns each has odd rows."""
LONGEST = 2.0
"""The most a step may change log μ anywhere: far away the criterion is no parabola."""


class LogLinearRegressor(CrossFitted):
    """Means whose logarithm is linear in the context; a scikit-learn regressor.

    Parameters
    ----------
    folds : int or splitter
        What the amount of shrinkage is chosen by, in ``fit``.
    shared : bool
        Whether all outcomes rise and fall by one factor. Otherwise each has its own.

    Attributes
    ----------
    slopes_ : (outcomes, features) array
        b of each outcome, in the features' own units.
    shrinkages_ : list of float
        The α of each outcome by which held-out rows were predicted best.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(200, 2, random_state=0)
    >>> factors = hr.LogLinearRegressor().fit(data.data, data.target)
    >>> factors.predict(data.data[:3]).shape
    (3,)
    """

    folds: Any = 5
    shared: bool = False

    def cross_fit(
        self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray, splits: Sequence[Split]
    ) -> Crossed:
        """Learn on every fold and on all rows; shrink as the folds say."""
        if np.any(Y < 0):
            raise ValueError(
                f"Outcomes must not be negative where their logarithms are modelled; got "
                f"{np.min(Y):g}. Take hedgerow.IndexRegressor() or another regressor."
            )
        inputs, targets = (Spreads.measure(part, weights) for part in (X, Y))
        self._centre = inputs.centre
        self._factor = np.where(inputs.deviation > 0, inputs.deviation, np.inf) ** -1.0
        contexts = self._contexts(np.clip(X, inputs.low, inputs.high))
        usual = targets.within(Y)
        near = inputs.within(X).all(axis=1)  # a lone context far away would turn the line
        if near.mean() < FEWEST_USUAL:
            near[:] = True
        typical = np.where(targets.centre > 0, targets.centre, 1.0)
        relative = np.clip(Y, targets.low, targets.high) / typical
        spread = np.maximum(targets.deviation / typical, 1e-6)
        held_out, self.shrinkages_, found = np.full(Y.shape, np.nan), [], []
        several = list(range(Y.shape[1]))
        for together in [several] if self.shared else [[j] for j in several]:
            shares = spread[together] ** -2.0
            target = relative[:, together] @ (shares / shares.sum())
            counted = weights / weights.mean() * (near & usual[:, together].all(axis=1))
            own, alpha, logs = _fitted(contexts, target, counted, splits)
            found += [own] * len(together)
            self.shrinkages_ += [alpha] * len(together)
            held_out[:, together] = logs[:, None]
        self._levels, self._slopes = (np.array(part) for part in zip(*found, strict=True))
        self.slopes_, self._typical = self._slopes * self._factor, targets.centre
        logs = self._logs(contexts)
        seen = usual & (near & (weights > 0))[:, None]
        self._low, self._high = (
            reach(logs, axis=0, where=seen, initial=start)
            for reach, start in ((np.min, np.inf), (np.max, -np.inf))
        )
        held_out = np.exp(np.clip(held_out, self._low, self._high)) * self._typical
        return Crossed(held_out, self.means(X))

    def means(self, X: Float[np.ndarray, "rows d"]) -> Float[np.ndarray, "rows y"]:
        """Read the factors; beyond what training rows had, they stay as they are."""
        logs = np.clip(self._logs(self._contexts(X)), self._low, self._high)
        return np.exp(logs) * self._typical

    def _contexts(self, X: np.ndarray) -> np.ndarray:
        return (X - self._centre) * self._factor

    def _logs(self, contexts: np.ndarray) -> np.ndarray:
        return self._levels + contexts @ self._slopes.T

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that outcomes are not negative."""
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


Line = tuple[float, Float[np.ndarray, " d"]]
"""a and b."""


def _fitted(
    contexts: Float[np.ndarray, "rows d"],
    target: Float[np.ndarray, " rows"],
    weights: Float[np.ndarray, " rows"],
    splits: Sequence[Split],
) -> tuple[Line, float, Float[np.ndarray, " rows"]]:
    """Return what all rows say at the best shrinkage, that, and log μ as folds predict it."""
    mean = np.average(target, weights=weights)
    scale = float(np.average((target - mean) ** 2, weights=weights))
    if mean <= 0 or scale == 0:
        none = np.zeros(contexts.shape[1])
        logs = np.full(len(target), np.nan)
        logs[np.concatenate([held for _, held in splits])] = 0.0
        return (0.0, none), float(SHRINKAGES[0]), logs
    logs = np.full((len(SHRINKAGES), len(target)), np.nan)
    for kept, held in splits:
        for i, (level, slopes) in enumerate(
            _path(contexts[kept], target[kept], weights[kept], scale)
        ):
            logs[i, held] = level + contexts[held] @ slopes
    seen = np.isfinite(logs[0])
    losses = np.exp(logs[:, seen]) - target[seen] * logs[:, seen]
    best = int(np.argmin(losses @ weights[seen]))
    return _path(contexts, target, weights, scale)[best], float(SHRINKAGES[best]), logs[best]


def _path(
    contexts: np.ndarray, target: np.ndarray, weights: np.ndarray, scale: float
) -> list[Line]:
    """The minimiser for each α, the strongest first."""
    count = contexts.shape[1]
    columns = np.column_stack([np.ones(len(contexts)), contexts])
    total = np.sum(weights)
    level = np.log(max(np.sum(weights * target) / total, 1e-12)) if total > 0 else 0.0
    line = np.concatenate([[level], np.zeros(count)])
    found = []
    for shrinkage in SHRINKAGES * scale:
        penalty = np.concatenate([[1e-9], np.full(count, shrinkage)])
        for _ in range(STEPS):
            means = np.exp(columns @ line)
            slope = columns.T @ (weights * (target - means)) - penalty * line
            curvature = (columns * (weights * means)[:, None]).T @ columns + np.diag(penalty)
            step = np.linalg.solve(curvature, slope)
            change = np.max(np.abs(columns @ step))
            line = line + step * min(1.0, LONGEST / max(change, CLOSE))
            if change < CLOSE:
                break
        found.append((float(line[0]), line[1:]))
    return found
