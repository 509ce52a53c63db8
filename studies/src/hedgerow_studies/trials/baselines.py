"""What a practitioner would use instead: quantile regression and weighted sample averages.

QuantileBoosting   gradient-boosted trees for the quantile of an outcome given its context
LinearQuantile     linear quantile regression with an L1 penalty
WeightedSAA        z(x) ∈ argmin Σ_i w_i(x) Ψ(z, y_i) with weights of a forest or of nearest
                   neighbours (Bertsimas & Kallus 2020)

The newsvendor's best order is the b/(b+h) quantile of demand given x, so all three serve it; a
loss of several outcomes at once, such as inventory with substitution, needs the third. What has to
be chosen is chosen by five-fold cross-validation on the training data, judged by the loss at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self, cast

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import QuantileRegressor
from sklearn.model_selection import KFold
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import check_consistent_length, gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from hedgerow import _checks, _row_checks
from hedgerow.losses import Loss
from hedgerow_studies.trials.averages import WeightedQuantiles, minimiser

FOLDS = 5
DEPTHS = (1, 2, 3)
MOST_TREES = 200
LEARNING_RATE = 0.1
ALPHAS = (0.0, 0.003, 0.01, 0.03, 0.1)
"""Slopes of the pinball loss have no unit and features are standardised, so one grid suits all."""
FOREST_TREES = 100
LEAF_SIZES = (5, 10, 20, 40)
NEIGHBOURS = (5, 10, 20, 40, 80)
ROWS_AT_ONCE = 2000
HELD_OUT = 40
"""Rows of a fold that judge sizes where each decision is a program of its own."""

Folds = list[tuple[np.ndarray, np.ndarray]]
Weigh = Callable[[np.ndarray], np.ndarray]
"""Contexts (rows, features) to weights (rows, training rows), each row with sum 1."""


class _QuantileEstimator(BaseEstimator):
    """Base of estimators of quantiles (abstract): a subclass fits one column of outcomes.

    Parameters
    ----------
    level : float or (outcomes,)
        Level of the quantile, in (0, 1): b/(b+h) for a newsvendor.
    random_state : int
        Seed of the folds.
    """

    def __init__(self, level: Any, random_state: int = 0) -> None:
        self.level = level
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Choose and fit one model per column of y."""
        X = _contexts(self, X, reset=True)
        Y = _outcomes(X, y)
        levels = _levels(self.level, Y.shape[1])
        folds = _folds(len(X), self.random_state)
        self.models_ = [
            self._column(X, column, level, folds) for column, level in zip(Y.T, levels, strict=True)
        ]
        self._single_outcome = np.ndim(y) == 1
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the quantiles given each row, (rows,) or (rows, outcomes) as y was."""
        check_is_fitted(self, "models_")
        X = _contexts(self, X, reset=False)
        quantiles = np.column_stack([model.predict(X) for model in self.models_])
        return quantiles[:, 0] if self._single_outcome else quantiles

    def _column(self, X: np.ndarray, y: np.ndarray, level: float, folds: Folds) -> Any:
        raise NotImplementedError


class QuantileBoosting(_QuantileEstimator):
    """Gradient-boosted trees for conditional quantiles.

    The depth (1 to 3) and the number of trees (up to 200, at a learning rate of 0.1) are those of
    least pinball loss on the folds.

    Attributes
    ----------
    models_ : list of HistGradientBoostingRegressor
        One per outcome.
    """

    def _column(self, X: np.ndarray, y: np.ndarray, level: float, folds: Folds) -> Any:
        def booster(depth: int, trees: int) -> HistGradientBoostingRegressor:
            return HistGradientBoostingRegressor(
                loss="quantile",
                quantile=level,
                learning_rate=LEARNING_RATE,
                max_iter=trees,
                max_depth=depth,
                early_stopping=False,  # pyright: ignore[reportArgumentType]
                random_state=self.random_state,
            )

        # on tables this small threads wait for each other most of the time
        with threadpool_limits(1, user_api="openmp"):
            losses = np.zeros((len(DEPTHS), MOST_TREES))
            for row, depth in enumerate(DEPTHS):
                for kept, held in folds:
                    model = booster(depth, MOST_TREES).fit(X[kept], y[kept])
                    stages = np.array(list(model.staged_predict(X[held])))
                    losses[row] += _pinball(y[held] - stages, level).sum(axis=1)
            row, stage = np.unravel_index(np.argmin(losses), losses.shape)
            return booster(DEPTHS[row], int(stage) + 1).fit(X, y)


class LinearQuantile(_QuantileEstimator):
    """Linear quantile regression on standardised features, with an L1 penalty.

    The penalty's weight is the one of least pinball loss on the folds; 0 is among them.

    Attributes
    ----------
    models_ : list of Pipeline
        Scaler and ``QuantileRegressor``, one pair per outcome.
    """

    def _column(self, X: np.ndarray, y: np.ndarray, level: float, folds: Folds) -> Any:
        def line(alpha: float) -> Any:
            return make_pipeline(
                StandardScaler(), QuantileRegressor(quantile=level, alpha=alpha, solver="highs")
            )

        losses = np.zeros(len(ALPHAS))
        for place, alpha in enumerate(ALPHAS):
            for kept, held in folds:
                guess = line(alpha).fit(X[kept], y[kept]).predict(X[held])
                losses[place] += _pinball(y[held] - guess, level).sum()
        return line(ALPHAS[int(np.argmin(losses))]).fit(X, y)


class WeightedSAA(BaseEstimator):
    """Decisions that are best on average over training outcomes weighted by likeness to x.

    Parameters
    ----------
    loss : Loss
        What decisions cost. Exact for a newsvendor, to 1e-8 of the average for losses with a
        linear second stage such as ``InventorySubstitution``; other convex losses are minimised by
        their ``best_constant``, which takes longer.
    weights : {"forest", "neighbours"}
        ``"forest"``: how often, over 100 trees of a random forest, a training row shares the leaf
        of x, each time divided by the leaf's size. A third of the features compete for each split.
        ``"neighbours"``: equal weights on the nearest rows, features being standardised.
    random_state : int
        Seed of the folds and of the forest.
    sizes : sequence of int or None
        Least leaf sizes, or numbers of neighbours, to choose from by loss on the folds. None: 5 to
        40, or 5 to 80 neighbours as far as half of the training rows suffice.

    Attributes
    ----------
    size_ : int
        Least leaf size or number of neighbours chosen.
    """

    def __init__(
        self,
        loss: Loss,
        weights: str = "forest",
        random_state: int = 0,
        sizes: Sequence[int] | None = None,
    ) -> None:
        self.loss = loss
        self.weights = weights
        self.random_state = random_state
        self.sizes = sizes

    def fit(self, X: Any, y: Any) -> Self:
        """Choose a size on the folds, then learn the weights from all rows."""
        _checks.instance("loss", self.loss, Loss, "a loss such as hedgerow.Newsvendor(1, 2)")
        _checks.one_of("weights", self.weights, ("forest", "neighbours"))
        X = _contexts(self, X, reset=True)
        Y = _outcomes(X, y)
        _row_checks.within_support(Y, self.loss.support_for(Y.shape[1]))
        sizes = self._sizes(len(X))
        self.size_ = sizes[0] if len(sizes) == 1 else self._choose(X, Y, sizes)
        self._weigh = self._learn(X, Y, self.size_)
        self._decide = minimiser(self.loss, Y)
        self._single_outcome = np.ndim(y) == 1
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the decision for each row, (rows,) where y was 1-D and decisions are single."""
        check_is_fitted(self, "size_")
        X = _contexts(self, X, reset=False)
        decisions = np.concatenate(
            [self._decide(self._weigh(X[batch])) for batch in gen_batches(len(X), ROWS_AT_ONCE)]
        )
        return decisions[:, 0] if self._single_outcome and decisions.shape[1] == 1 else decisions

    def weights_at(self, X: Any) -> np.ndarray:
        """Return the weights of the training rows given each row, (rows, training rows)."""
        check_is_fitted(self, "size_")
        return self._weigh(_contexts(self, X, reset=False))

    def _sizes(self, rows: int) -> list[int]:
        if self.sizes is None and self.weights == "forest":
            return list(LEAF_SIZES)
        if self.sizes is None:
            return [size for size in NEIGHBOURS if size <= rows / 2] or [max(1, rows // 2)]
        if not len(self.sizes):
            raise ValueError("sizes must name at least one size, got none; None is the default.")
        return [_checks.count("sizes", size) for size in self.sizes]

    def _choose(self, X: np.ndarray, Y: np.ndarray, sizes: list[int]) -> int:
        losses = np.zeros(len(sizes))
        for kept, held in _folds(len(X), self.random_state):
            decide = minimiser(self.loss, Y[kept])
            if not isinstance(decide, WeightedQuantiles) and len(held) > HELD_OUT:
                held = held[np.linspace(0, len(held) - 1, HELD_OUT).astype(int)]
            for place, size in enumerate(sizes):
                decisions = decide(self._learn(X[kept], Y[kept], size)(X[held]))
                losses[place] += np.sum(self.loss(decisions, Y[held]))
        return sizes[int(np.argmin(losses))]

    def _learn(self, X: np.ndarray, Y: np.ndarray, size: int) -> Weigh:
        if self.weights == "neighbours":
            return _NeighbourWeights(X, size)
        return _ForestWeights(X, Y, size, self.random_state)


class _NeighbourWeights:
    """w_i(x) = 1/k for the k rows nearest to x in standardised features."""

    def __init__(self, X: np.ndarray, size: int) -> None:
        self.rows = len(X)
        self.scaler = StandardScaler().fit(X)
        self.index = NearestNeighbors(n_neighbors=min(size, len(X))).fit(self.scaler.transform(X))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        nearest = self.index.kneighbors(self.scaler.transform(X), return_distance=False)
        weights = np.zeros((len(X), self.rows))
        np.put_along_axis(weights, nearest, 1 / nearest.shape[1], axis=1)
        return weights


class _ForestWeights:
    """w_i(x) = mean over trees of 1{x_i in the leaf of x} / number of rows in that leaf.

    As a product of sparse matrices, (rows, leaves) by (leaves, training rows), since a leaf holds
    few of the rows. Outcomes are standardised so that each of them counts when leaves are split.
    """

    def __init__(self, X: np.ndarray, Y: np.ndarray, size: int, seed: Any) -> None:
        outcomes = StandardScaler().fit_transform(Y)
        self.forest = RandomForestRegressor(
            FOREST_TREES, min_samples_leaf=size, max_features=1 / 3, random_state=seed
        ).fit(X, outcomes[:, 0] if outcomes.shape[1] == 1 else outcomes)
        nodes = [tree.tree_.node_count for tree in self.forest.estimators_]
        self.first = np.cumsum([0, *nodes[:-1]])
        self.nodes = sum(nodes)
        members = self._leaves(X)
        per_leaf = members.sum(axis=0)
        members.data /= len(nodes) * per_leaf[members.indices]
        self.shares = members.T.tocsr()

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return (self._leaves(X) @ self.shares).toarray()

    def _leaves(self, X: np.ndarray) -> csr_array:
        """Matrix (rows, nodes of all trees) with a one at each row's leaves."""
        leaves = self.forest.apply(X) + self.first
        starts = np.arange(0, leaves.size + 1, leaves.shape[1])
        ones = np.ones(leaves.size)
        return csr_array((ones, leaves.ravel(), starts), shape=(len(X), self.nodes))


def _contexts(estimator: BaseEstimator, X: Any, *, reset: bool) -> np.ndarray:
    _checks.numeric("X", X)
    return cast(np.ndarray, validate_data(estimator, X, reset=reset, dtype=np.float64))


def _outcomes(X: np.ndarray, y: Any) -> np.ndarray:
    Y = _row_checks.outcomes(y)
    check_consistent_length(X, Y)
    return Y


def _levels(level: Any, outcomes: int) -> np.ndarray:
    levels = _checks.parameter("level", level)
    if levels.shape not in ((), (outcomes,)):
        raise ValueError(
            f"level must be one number or one per column of y ({outcomes}), got shape "
            f"{levels.shape}."
        )
    if not np.all((levels > 0) & (levels < 1)):
        raise ValueError(f"level must lie between 0 and 1, got {level!r}.")
    return np.broadcast_to(levels, outcomes)


def _folds(rows: int, seed: Any) -> Folds:
    return list(KFold(FOLDS, shuffle=True, random_state=seed).split(np.empty(rows)))


def _pinball(excess: np.ndarray, level: float) -> np.ndarray:
    """level·e⁺ + (1 − level)·e⁻ of outcomes less guesses."""
    return np.maximum(level * excess, (level - 1) * excess)
