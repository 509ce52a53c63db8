"""Means that depend on contexts through one number: single-index models (Ichimura 1993).

    m(x) = g(bᵀx),    g(u) = Σ_i w_i κ(u − u_i) y_i / ( Σ_i w_i κ(u − u_i) + w₀ ),    u_i = bᵀx_i
    b    = argmin  Σ_i w_i H( y_i − g₋ᵢ(u_i) ) + α‖b‖²

g₋ᵢ leaves row i out, κ is a Gaussian of width √2 and outcomes are centred, so that w₀, half a row,
draws towards their mean where there is nothing near. The length of b is one over the bandwidth: α
shrinks both towards a flat curve, and the folds choose it. H is Huber's (``squares``).

From a few hundred rows with fifty features a direction can be learned that trees, boosting and
networks do not find (docs/results/recipe.md). The criterion has many minima, so b begins along the
ridge direction, and α falls in stages, each beginning where the last one ended: what is coarse is
found before what is fine.

κ(u − v) = Σ_g a(u − g)·a(v − g) over whole numbers g, a Gaussian of width 1/√2 (exact to 1e-4): a
curve is two sums for each of GRID numbers, a step costs rows × GRID, and a row its own term less.
The gradient is written out (``_slope``): products of matrices, which take half as long as what
differentiation makes of the criterion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from hedgerow import ladder
from hedgerow.data.spreads import Spreads
from hedgerow.forecasts.cross_fitted import CrossFitted
from hedgerow.forecasts.cross_fitting import Crossed, Split
from hedgerow.forecasts.squares import FARTHEST_SQUARED, SquaredError
from hedgerow.programs import program
from hedgerow.rules.slopes import slopes_of

GRID = 48
PLACES = np.arange(GRID) - (GRID - 1) / 2
PRIOR = 0.5
"""w₀, in rows."""
SHRINKAGES = (10.0, 3.0, 1.0, 0.3, 0.1)
"""α, in squared spreads of the outcome; the coarsest first."""
STEPS, PACE = 60, 0.1
"""Steps of Adam for each of them, and their size, which falls to zero."""
MOST_ROWS = 4000
"""Rows that directions are learned from, evenly spaced; curves are of all rows."""
CHUNK = 16_384


class Curve(NamedTuple):
    """A fitted model of one outcome, in standardised contexts and spreads of the outcome.

    ``totals`` and ``counts`` are Σ w a(u − g)·y and Σ w a(u − g) for every place g; beyond the
    indices that were seen, from ``low`` to ``high``, the curve is flat.
    """

    direction: Float[np.ndarray, " d"]
    totals: Float[np.ndarray, " g"]
    counts: Float[np.ndarray, " g"]
    low: float
    high: float

    @classmethod
    def of(cls, direction: np.ndarray, X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Curve:
        """Sum rows up; those without weight say nothing."""
        X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
        totals, counts = np.zeros(GRID), np.zeros(GRID)
        low, high = np.inf, -np.inf
        for start in range(0, len(X), CHUNK):
            rows = slice(start, start + CHUNK)
            index = X[rows] @ direction
            near = _near(index)
            totals += (weights[rows] * y[rows]) @ near
            counts += weights[rows] @ near
            low, high = min(low, index.min()), max(high, index.max())
        return cls(direction, totals, counts, float(low), float(high))

    def at(self, X: Float[np.ndarray, "rows d"]) -> Float[np.ndarray, " rows"]:
        """The mean outcome in contexts."""
        found = np.empty(len(X))
        for start in range(0, len(X), CHUNK):
            rows = slice(start, start + CHUNK)
            near = _near(np.clip(X[rows] @ self.direction, self.low, self.high))
            found[rows] = (near @ self.totals) / (near @ self.counts + PRIOR)
        return found


class IndexRegressor(CrossFitted):
    """A smooth curve of one learned score, an index; a scikit-learn regressor.

    Parameters
    ----------
    folds : int or splitter
        What the amount of smoothing is chosen by, in ``fit``.
    shared : bool
        Whether all outcomes follow one score, each by a curve of its own: demands that rise and
        fall together, of which each says little of what moves them. Otherwise each has its own.

    Attributes
    ----------
    directions_ : (outcomes, features) array
        b of each outcome, in the features' own units.
    shrinkages_ : list of float
        The α of each outcome by which held-out rows were predicted best.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(200, 2, random_state=0)
    >>> index = hr.IndexRegressor().fit(data.data, data.target)
    >>> index.predict(data.data[:3]).shape
    (3,)
    """

    folds: Any = 5
    shared: bool = False

    def cross_fit(
        self, X: np.ndarray, Y: np.ndarray, weights: np.ndarray, splits: Sequence[Split]
    ) -> Crossed:
        """Learn directions on every fold and on all rows together; smooth as the folds say."""
        inputs, targets = (Spreads.measure(part, weights) for part in (X, Y))
        self._centre, self._factor = inputs.centre, _inverse(inputs.deviation)
        self._mean, self._unit = targets.centre, targets.deviation
        contexts = self._contexts(np.clip(X, inputs.low, inputs.high))
        outcomes = (np.clip(Y, targets.low, targets.high) - self._mean) * _inverse(self._unit)
        usual, counted = targets.within(Y), weights / weights.mean()
        folds = np.array([counted * _held(kept, len(X)) for kept, _ in splits] + [counted])
        self.shrinkages_, self._curves = [], []
        held_out = np.full(Y.shape, np.nan)
        several = range(Y.shape[1])
        for together in [list(several)] if self.shared else [[j] for j in several]:
            targets = [outcomes[:, j] for j in together]
            # at the end of its fence a typo would still move means
            counts = [folds * usual[:, j] for j in together]
            paths = _paths(contexts, np.array(targets), np.stack(counts, axis=1))
            errors = [
                sum(
                    _error(paths[:-1, s], contexts, y, parts, splits)
                    for y, parts in zip(targets, counts, strict=True)
                )
                for s in range(len(paths[0]))
            ]
            best = int(np.argmin(errors))
            for j, y, parts in zip(together, targets, counts, strict=True):
                curves = [
                    Curve.of(b, contexts, y, w) for b, w in zip(paths[:, best], parts, strict=True)
                ]
                for (_, held), curve in zip(splits, curves, strict=False):
                    held_out[held, j] = curve.at(contexts[held])
                self.shrinkages_.append(SHRINKAGES[best])
                self._curves.append(curves[-1])
        self.directions_ = np.array([curve.direction for curve in self._curves]) * self._factor
        return Crossed(self._mean + self._unit * held_out, self.means(X))

    def means(self, X: Float[np.ndarray, "rows d"]) -> Float[np.ndarray, "rows y"]:
        """Read the curves."""
        contexts = self._contexts(X)
        found = np.column_stack([curve.at(contexts) for curve in self._curves])
        return self._mean + self._unit * found

    def _contexts(self, X: np.ndarray) -> np.ndarray:
        return (X - self._centre) * self._factor


def _paths(
    contexts: np.ndarray,
    outcomes: Float[np.ndarray, "together rows"],
    parts: Float[np.ndarray, "parts together rows"],
) -> Float[np.ndarray, "parts shrinkages d"]:
    """Directions of every part after each stage, from its own ridge direction on."""
    count = len(contexts)
    seen = np.linspace(0, count - 1, min(count, MOST_ROWS)).round().astype(int)
    contexts, outcomes, parts = contexts[seen], outcomes[:, seen], parts[:, :, seen]
    begin = np.stack([_beginning(contexts, outcomes, weights) for weights in parts])
    missing = ladder.doubling(len(seen)) - len(seen)
    rows = np.pad(contexts, ((0, missing), (0, 0)))
    padded = (
        np.pad(part, [*[(0, 0)] * (part.ndim - 1), (0, missing)]) for part in (outcomes, parts)
    )
    found = _descents(*(np.asarray(part, np.float32) for part in (begin, rows, *padded)))
    return np.asarray(found, np.float64)


def _beginning(
    contexts: np.ndarray,
    outcomes: Float[np.ndarray, "together rows"],
    weights: Float[np.ndarray, "together rows"],
) -> Float[np.ndarray, " d"]:
    """The ridge direction, or what those of several outcomes have most in common."""
    found = [
        slopes_of(contexts[w > 0], y[w > 0, None], w[w > 0])
        for y, w in zip(outcomes, weights, strict=True)
    ]
    directions = np.stack([one.directions[0] for one in found])
    if len(found) == 1:
        return directions[0]
    # outcomes may rise where others fall: the first principal component of what is explained
    shares = np.sqrt([one.explained[0] for one in found])[:, None] * directions
    scores = contexts @ shares.T
    leading = np.linalg.eigh(scores.T @ scores)[1][:, -1] @ shares
    deviation = (contexts @ leading).std()
    return leading / deviation if deviation > 0 else leading


@program
def _descents(
    begin: Float[Array, "parts d"],
    X: Float[Array, "rows d"],
    outcomes: Float[Array, "together rows"],
    parts: Float[Array, "parts together rows"],
) -> Float[Array, "parts shrinkages d"]:
    """Stage after stage, one part after the other: what a step looks at stays near."""
    optimiser = optax.adam(optax.linear_schedule(PACE, 0.0, STEPS))

    def stages(part: tuple[Array, Array]) -> Array:
        b, weights = part

        def slope(b: Array, shrinkage: Array) -> Array:
            if len(outcomes) == 1:
                return _slope(b, X, outcomes[0], weights[0], shrinkage)
            each = jax.vmap(_slope, in_axes=(None, None, 0, 0, None))
            return jnp.sum(each(b, X, outcomes, weights, shrinkage / len(outcomes)), axis=0)

        def stage(b: Array, shrinkage: Array) -> tuple[Array, Array]:
            def step(state: Any, _: None) -> tuple[Any, None]:
                b, memory = state
                change, memory = optimiser.update(slope(b, shrinkage), memory)
                return (optax.apply_updates(b, change), memory), None

            (b, _), _ = jax.lax.scan(step, (b, optimiser.init(b)), length=STEPS)
            return b, b

        return jax.lax.scan(stage, b, jnp.array(SHRINKAGES))[1]

    return jax.lax.map(stages, (begin, parts))


def _slope(b: Array, X: Array, y: Array, w: Array, shrinkage: Array) -> Array:
    """Gradient of  ( 2·Σ w H(y − t/(c + w₀)) + α‖b‖² ) / Σ w,  the rows' own terms left out.

    With the curve's sums T and C over places, t = a·T − own·y and c = a·C − own at every row; r and
    s are the criterion's derivatives in t and c, and R, S what they sum up to over places, so that

        ∂/∂a_ig = r_i T_g + s_i C_g + w_i (y_i R_g + S_g) − 2 w_i (r_i y_i + s_i)·a_ig
        ∂/∂u_i  = −2 Σ_g (u_i − g)·a_ig·∂/∂a_ig.
    """
    places = jnp.asarray(PLACES, X.dtype)
    u = X @ b
    near = jnp.exp(-((u[:, None] - places) ** 2))
    squares = near**2
    own, total = w * jnp.sum(squares, axis=1), jnp.sum(w)

    def sums_at_rows(by_row: Array) -> tuple[Array, Array]:
        """Sums over places of what rows sum up to there, and the same times the places."""
        sums = by_row @ near
        at = near @ jnp.concatenate([sums, sums * places]).T
        return at[:, :2], at[:, 2:]

    curve, curve_moments = sums_at_rows(jnp.stack([w * y, w]))
    t, c = curve[:, 0] - own * y, curve[:, 1] - own
    below = jnp.maximum(c, 0) + PRIOR
    off = jnp.clip(y - t / below, -FARTHEST_SQUARED, FARTHEST_SQUARED)
    r = -2 * w * off / (below * total)
    s = jnp.where(c > 0, -r * t / below, 0.0)
    back, back_moments = sums_at_rows(jnp.stack([r, s]))
    ahead, behind = jnp.stack([r, s], axis=1), jnp.stack([w * y, w], axis=1)
    along = jnp.sum(ahead * (u[:, None] * curve - curve_moments), axis=1)
    along += jnp.sum(behind * (u[:, None] * back - back_moments), axis=1)
    along -= 2 * w * (r * y + s) * (u * jnp.sum(squares, axis=1) - squares @ places)
    return -2 * along @ X + 2 * shrinkage * b / total


def _error(
    directions: Float[np.ndarray, "folds d"],
    contexts: np.ndarray,
    y: np.ndarray,
    parts: np.ndarray,
    splits: Sequence[Split],
) -> float:
    """Mean error of the folds' models on what they hold out."""
    errors, counted = [], []
    for direction, weights, (_, held) in zip(directions, parts, splits, strict=False):
        found = Curve.of(direction, contexts, y, weights).at(contexts[held])
        errors.append(SquaredError()(found[:, None], y[held, None]))
        counted.append(parts[-1, held])
    return float(np.average(np.concatenate(errors), weights=np.concatenate(counted)))


def _near(index: Float[np.ndarray, " rows"]) -> Float[np.ndarray, "rows g"]:
    """a(u − g) for every place g."""
    return np.exp(-((index[:, None] - PLACES) ** 2))


def _held(kept: np.ndarray, count: int) -> np.ndarray:
    """1 for rows that a fold learns from, 0 for others."""
    learned = np.zeros(count)
    learned[kept] = 1.0
    return learned


def _inverse(deviation: np.ndarray) -> np.ndarray:
    """1/s, and 0 for what does not vary."""
    return np.where(deviation > 0, 1 / np.where(deviation > 0, deviation, 1.0), 0.0)
