"""Quantile regressions: the best order of a newsvendor is the b/(b+h) quantile of demand given x.

For inventory with substitution the quantile is taken product by product, which ignores that one
product can stand in for another; other second stages have no such level.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import QuantileRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from hedgerow.losses import InventorySubstitution, Newsvendor
from hedgerow_studies.rivals.method import Decide, Method, Problem, Setting
from hedgerow_studies.trials.baselines import ALPHAS
from hedgerow_studies.trials.contenders import critical_levels

ROUNDS, RATE = (25, 50, 100, 200), 0.05
TREES = 100
Predict = Any
"""Contexts to a quantile (rows,)."""


class QuantileMethod(Method):
    """Base of methods that predict a quantile (abstract): a subclass learns one column."""

    kinds: ClassVar[tuple[str, ...]] = ("newsvendor", "two-stage")
    why_not: ClassVar[str] = "the best decision is no quantile"

    def cannot(self, problem: Problem, rows: int) -> str:
        """Levels are known where holding and shortage have a price each."""
        if not isinstance(problem.loss, Newsvendor | InventorySubstitution):
            return self.why_not
        return super().cannot(problem, rows)

    def learn(
        self, problem: Problem, X: np.ndarray, Y: np.ndarray, setting: Setting, seed: int
    ) -> Decide:
        """Learn each product's quantile."""
        return self.learn_each(problem, X, Y, [setting], seed)[0]

    def learn_each(
        self,
        problem: Problem,
        X: np.ndarray,
        Y: np.ndarray,
        settings: Sequence[Setting],
        seed: int,
    ) -> list[Decide]:
        """Learn all settings, column by column."""
        levels = np.broadcast_to(critical_levels(problem.loss), Y.shape[1])
        with threadpool_limits(1, user_api="openmp"):
            columns = [
                self.column(X, y, float(level), settings, seed)
                for y, level in zip(Y.T, levels, strict=True)
            ]

        def rule(place: int) -> Decide:
            return lambda contexts: np.column_stack([found[place](contexts) for found in columns])

        return [rule(place) for place in range(len(settings))]

    @abstractmethod
    def column(
        self, X: np.ndarray, y: np.ndarray, level: float, settings: Sequence[Setting], seed: int
    ) -> list[Predict]:
        """Learn the quantile of one outcome with each setting."""


class Linear(QuantileMethod):
    """Linear quantile regression."""

    name: ClassVar[str] = "linear quantile"
    what: ClassVar[str] = "linear quantile regression with an L1 penalty"
    most_rows: ClassVar[int | None] = 5_000

    def grid(self, problem: Problem) -> Sequence[Setting]:
        """Five penalties, 0 among them."""
        return [{"penalty": alpha} for alpha in ALPHAS]

    def column(
        self, X: np.ndarray, y: np.ndarray, level: float, settings: Sequence[Setting], seed: int
    ) -> list[Predict]:
        """One linear program each."""
        models = [
            make_pipeline(
                StandardScaler(),
                QuantileRegressor(quantile=level, alpha=setting["penalty"], solver="highs"),
            )
            for setting in settings
        ]
        return [model.fit(X, y).predict for model in models]


class Boosting(QuantileMethod):
    """Gradient-boosted trees of scikit-learn."""

    name: ClassVar[str] = "boosting"
    what: ClassVar[str] = "gradient-boosted trees on the pinball loss (scikit-learn)"

    def grid(self, problem: Problem) -> Sequence[Setting]:
        """Three depths, four numbers of rounds."""
        return [{"depth": depth, "rounds": rounds} for depth in (1, 2, 3) for rounds in ROUNDS]

    def column(
        self, X: np.ndarray, y: np.ndarray, level: float, settings: Sequence[Setting], seed: int
    ) -> list[Predict]:
        """Trees of one depth are learned once, for the most rounds that are asked for."""

        def model(depth: int) -> Any:
            rounds = max(s["rounds"] for s in settings if s["depth"] == depth)
            return HistGradientBoostingRegressor(
                loss="quantile",
                quantile=level,
                learning_rate=2 * RATE,
                max_iter=rounds,
                max_depth=depth,
                early_stopping=False,  # pyright: ignore[reportArgumentType]
                random_state=seed,
            ).fit(X, y)

        models = {depth: model(depth) for depth in {setting["depth"] for setting in settings}}

        def predict(setting: Setting) -> Predict:
            def after(contexts: np.ndarray) -> np.ndarray:
                stages = models[setting["depth"]].staged_predict(contexts)
                return next(s for i, s in enumerate(stages, 1) if i == setting["rounds"])

            return after

        return [predict(setting) for setting in settings]


class LightGBM(QuantileMethod):
    """LightGBM on the pinball loss."""

    name: ClassVar[str] = "LightGBM"
    what: ClassVar[str] = "gradient-boosted trees on the pinball loss (LightGBM)"
    needs: ClassVar[tuple[str, ...]] = ("lightgbm",)

    def grid(self, problem: Problem) -> Sequence[Setting]:
        """Three sizes of trees, four numbers of rounds."""
        return [{"leaves": leaves, "rounds": rounds} for leaves in (4, 8, 31) for rounds in ROUNDS]

    def column(
        self, X: np.ndarray, y: np.ndarray, level: float, settings: Sequence[Setting], seed: int
    ) -> list[Predict]:
        """Trees of one size are learned once."""
        import lightgbm

        def model(leaves: int) -> Any:
            rounds = max(s["rounds"] for s in settings if s["leaves"] == leaves)
            learned: Any = lightgbm.LGBMRegressor(
                objective="quantile",
                alpha=level,
                n_estimators=rounds,
                learning_rate=RATE,
                num_leaves=leaves,
                min_child_samples=20,
                subsample=0.8,
                subsample_freq=1,
                colsample_bytree=0.8,
                n_jobs=1,
                random_state=seed,
                verbose=-1,
            )
            return learned.fit(X, y)

        models = {leaves: model(leaves) for leaves in {setting["leaves"] for setting in settings}}

        def predict(setting: Setting) -> Predict:
            learned = models[setting["leaves"]]
            return lambda contexts: learned.predict(contexts, num_iteration=setting["rounds"])

        return [predict(setting) for setting in settings]


class QuantileForest(QuantileMethod):
    """Quantiles of outcomes that share leaves with a context (Meinshausen 2006)."""

    name: ClassVar[str] = "quantile forest"
    what: ClassVar[str] = "quantiles of outcomes that share leaves (quantile-forest)"
    most_rows: ClassVar[int | None] = 5_000
    needs: ClassVar[tuple[str, ...]] = ("quantile_forest",)

    def grid(self, problem: Problem) -> Sequence[Setting]:
        """Four leaf sizes, two shares of features."""
        return [{"leaf": leaf, "share": share} for leaf in (5, 10, 20, 40) for share in (0.33, 1.0)]

    def column(
        self, X: np.ndarray, y: np.ndarray, level: float, settings: Sequence[Setting], seed: int
    ) -> list[Predict]:
        """One forest each."""
        from quantile_forest import RandomForestQuantileRegressor

        forest: Any = RandomForestQuantileRegressor

        def predict(setting: Setting) -> Predict:
            model = forest(
                n_estimators=TREES,
                min_samples_leaf=setting["leaf"],
                max_features=setting["share"],
                max_samples_leaf=None,
                n_jobs=1,
                random_state=seed,
            ).fit(X, y)
            return lambda contexts: np.ravel(model.predict(contexts, quantiles=[level]))

        return [predict(setting) for setting in settings]


METHODS = (Linear(), Boosting(), LightGBM(), QuantileForest())
