"""Residuals around a conditional mean, which may move (Kannan, Bayraksan & Luedtke 2024).

    scenarios at x:  m(x) + r_i,   r_i = y_i − m_{−i}(x_i) out of fold;   a W_2 ball around them

With radius 0 it is the residual sample average ("ER-SAA"). The mean is linear (ridge) or a random
forest; the radius is in standard deviations of the residuals. A second entry takes the mean that
hedgerow's own residual nominal predicts, which tells the mean's part in a result from the rule's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hedgerow.forecasts import StackedRegressor
from hedgerow_studies.rivals.method import Decide, Method, Problem, Setting
from hedgerow_studies.rivals.programs import robust_decisions

RADII = (0.0, 0.03, 0.1, 0.3, 1.0)
TREES = 100
MOST_SCENARIOS = 500
"""Of several outcomes: more residuals are thinned out evenly, in the order of their first."""


class ResidualRobust(Method):
    """Residual-based distributionally robust optimisation."""

    name: ClassVar[str] = "residual DRO"
    what: ClassVar[str] = "mean (ridge or forest) and residuals, in a Wasserstein ball of order 2"
    means: ClassVar[tuple[str, ...]] = ("linear", "forest")
    most_rows: ClassVar[int | None] = 5_000

    def programs(self, problem: Problem) -> bool:
        """A newsvendor's quantile moves with the mean."""
        return problem.kind != "newsvendor"

    def grid(self, problem: Problem) -> Sequence[Setting]:
        """Means and five radii."""
        return [{"mean": mean, "radius": r} for mean in self.means for r in RADII]

    def learn(
        self, problem: Problem, X: np.ndarray, Y: np.ndarray, setting: Setting, seed: int
    ) -> Decide:
        """Predict, take residuals, decide around predictions."""
        return self.learn_each(problem, X, Y, [setting], seed)[0]

    def learn_each(
        self,
        problem: Problem,
        X: np.ndarray,
        Y: np.ndarray,
        settings: Sequence[Setting],
        seed: int,
    ) -> list[Decide]:
        """Learn each mean once; radii share it."""
        kinds = dict.fromkeys(setting["mean"] for setting in settings)
        learned = {kind: _Predicted(kind, problem, X, Y, seed) for kind in kinds}
        return [learned[setting["mean"]].decide_with(setting["radius"]) for setting in settings]


class _Predicted:
    """A mean and the residuals of rows that it had not seen."""

    def __init__(self, kind: str, problem: Problem, X: np.ndarray, Y: np.ndarray, seed: int):
        self.problem = problem
        model = mean_model(kind, seed)
        target = Y[:, 0] if Y.shape[1] == 1 else Y
        self.residuals = Y - held_out_means(model, X, Y)
        self.model = model.fit(X, target)
        if problem.kind != "newsvendor" and len(Y) > MOST_SCENARIOS:
            places = np.linspace(0, len(Y) - 1, MOST_SCENARIOS).astype(int)
            self.residuals = self.residuals[np.argsort(self.residuals[:, 0])[places]]

    def decide_with(self, radius: float) -> Decide:
        unit = float(np.mean(np.std(self.residuals, axis=0)))
        best = robust_decisions(self.problem.loss, radius * unit)
        even = np.full(len(self.residuals), 1 / len(self.residuals))

        def decide(X: np.ndarray) -> np.ndarray:
            means = np.asarray(self.model.predict(X)).reshape(len(X), -1)
            if self.problem.kind == "newsvendor":  # the quantile moves with the mean
                return means + best(self.residuals, even)
            return np.array([best(self._around(mean), even) for mean in means])

        return decide

    def _around(self, mean: np.ndarray) -> np.ndarray:
        """Scenarios at a mean, within the outcomes' support."""
        support = self.problem.loss.support_for(len(mean))
        scenarios = mean + self.residuals
        return scenarios if support is None else np.clip(scenarios, *support)


class ResidualRobustIndex(ResidualRobust):
    """The same around the mean of hedgerow's residual nominal."""

    name: ClassVar[str] = "residual DRO (hedgerow's mean)"
    what: ClassVar[str] = "the same around the mean of hedgerow's own residual nominal"
    means: ClassVar[tuple[str, ...]] = ("stacked",)
    most_rows: ClassVar[int | None] = 2_000


def held_out_means(model: Any, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Predict rows that the model had not seen, in five folds."""
    target = Y[:, 0] if Y.shape[1] == 1 else Y
    return np.asarray(cross_val_predict(model, X, target, cv=5)).reshape(Y.shape)


def mean_model(kind: str, seed: int) -> Any:
    """A regressor of outcomes: ridge, a random forest, or hedgerow's own ("stacked")."""
    if kind == "stacked":
        return StackedRegressor()
    if kind == "linear":
        return make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 3, 11)))
    return RandomForestRegressor(TREES, min_samples_leaf=5, max_features=1 / 3, random_state=seed)


METHODS = (ResidualRobust(), ResidualRobustIndex())
