"""Predictions learned for what is decided with them, SPO+ (Elmachtoub & Grigas 2022).

Returns are predicted linearly, ĉ = −ω(B x + b), and a portfolio is chosen as if that were true,
w(ĉ) ∈ argmin {ĉ·w + g(w)} over the simplex, where g(w) = w'Σw is the variance over the history. A
prediction costs its regret. Its convex bound, with α = 2 in their derivation and g carried along,

    max_w {(c − 2ĉ)·w − g(w)} + 2(ĉ·w(c) + g(w(c))) − (c·w(c) + g(w(c))),

has the subgradient 2(w(c) − w(2ĉ − c)) in ĉ. An own implementation (PyEPO brings PyTorch for it):
Adam on batches of days from the least-squares prediction on, simplex programs of a whole batch at a
time by projected gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from hedgerow.losses import MeanVariance
from hedgerow_studies.rivals.method import Decide, Method, Problem, Setting, on_simplex

STEPS, BATCH, RATE, ITERATIONS = (0, 50, 150), 32, 0.01, 60
RIDGES = (1.0, 100.0, 10_000.0)


class SPOPlus(Method):
    """Linear returns learned by regret; with no steps it is predict-then-optimise."""

    name: ClassVar[str] = "SPO+"
    what: ClassVar[str] = "linear predictions of returns, learned by the regret of decisions"
    kinds: ClassVar[tuple[str, ...]] = ("portfolio",)
    why_not: ClassVar[str] = "written for linear costs on the simplex only"

    def grid(self, problem: Problem) -> Sequence[Setting]:
        """Three ridge penalties of the first prediction, three numbers of steps."""
        return [{"ridge": ridge, "steps": steps} for ridge in RIDGES for steps in STEPS]

    def learn(
        self, problem: Problem, X: np.ndarray, Y: np.ndarray, setting: Setting, seed: int
    ) -> Decide:
        """Predict by least squares, then descend the bound of the regret."""
        return self.learn_each(problem, X, Y, [setting], seed)[0]

    def learn_each(
        self,
        problem: Problem,
        X: np.ndarray,
        Y: np.ndarray,
        settings: Sequence[Setting],
        seed: int,
    ) -> list[Decide]:
        """Descend once from each first prediction; fewer steps are on the way."""
        loss: Any = problem.loss
        if not isinstance(loss, MeanVariance):
            raise TypeError(f"SPO+ is written for MeanVariance, got {type(loss).__name__}.")
        covariance, mean = np.cov(Y, rowvar=False), Y.mean(axis=0)
        scaler: Any = StandardScaler().fit(X)
        features, costs = scaler.transform(X), -loss.return_weight * Y
        best = choose(costs, covariance)
        paths = {}
        for ridge in dict.fromkeys(setting["ridge"] for setting in settings):
            most = max(s["steps"] for s in settings if s["ridge"] == ridge)
            first = Ridge(ridge).fit(features, costs)
            slopes = np.column_stack([first.coef_, np.reshape(first.intercept_, (-1, 1))])
            paths[ridge] = _descend(slopes, with_one(features), costs, best, covariance, most, seed)

        def rule(slopes: np.ndarray) -> Decide:
            def decide(contexts: np.ndarray) -> np.ndarray:
                held = choose(with_one(scaler.transform(contexts)) @ slopes.T, covariance)
                return np.column_stack([held @ mean, held])

            return decide

        return [rule(paths[setting["ridge"]][setting["steps"]]) for setting in settings]


def _descend(
    slopes: np.ndarray,
    features: np.ndarray,
    costs: np.ndarray,
    best: np.ndarray,
    covariance: np.ndarray,
    steps: int,
    seed: int,
) -> list[np.ndarray]:
    """Return the predictions after 0, 1, … steps of Adam."""
    draw = np.random.default_rng(seed)
    size = float(np.std(costs))
    moment, square = np.zeros_like(slopes), np.zeros_like(slopes)
    path = [slopes]
    for step in range(1, steps + 1):
        rows = draw.integers(len(features), size=BATCH)
        guess = features[rows] @ slopes.T
        slope = 2 * (best[rows] - choose(2 * guess - costs[rows], covariance))
        gradient = slope.T @ features[rows] / BATCH
        moment = 0.9 * moment + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        pace = RATE * size * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        slopes = slopes - pace * moment / (np.sqrt(square) + 1e-8)
        path.append(slopes)
    return path


def with_one(features: np.ndarray) -> np.ndarray:
    """Features, and a column of ones for the constant."""
    return np.column_stack([features, np.ones(len(features))])


def choose(costs: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return argmin c·w + w'Σw over the simplex for each row of costs, by accelerated gradients."""
    pace = 1 / (2 * np.linalg.eigvalsh(covariance)[-1])
    held = np.full(costs.shape, 1 / costs.shape[1])
    ahead, momentum = held, 1.0
    for _ in range(ITERATIONS):
        moved = on_simplex(ahead - pace * (costs + 2 * ahead @ covariance))
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = moved + (momentum - 1) / following * (moved - held)
        held, momentum = moved, following
    return held


METHODS = (SPOPlus(),)
