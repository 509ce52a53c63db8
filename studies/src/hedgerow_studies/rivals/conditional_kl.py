"""A divergence around kernel weights (Bertsimas & Van Parys 2022, in the form of Hu & Hong 2013).

    w_i(x) ∝ exp(−d_i² / 2h²)        sup { Σ q_i Ψ(z, y_i) : KL(q ‖ w(x)) ≤ r }
                                     = min over α > 0 of  α r + α log Σ w_i exp(Ψ(z, y_i)/α)

With r = 0 it is the kernel-weighted sample average. The bandwidth h is in median distances between
the history's contexts, standardised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.preprocessing import StandardScaler

from hedgerow.losses import MeanVariance, RecourseLoss
from hedgerow.losses.recourse import bounds_of
from hedgerow_studies.rivals.method import Decide, Method, Problem, Setting
from hedgerow_studies.rivals.programs import descend, newsvendor_costs, robust_decisions
from hedgerow_studies.rivals.searching import golden

BANDWIDTHS, RADII = (0.15, 0.25, 0.4, 0.7), (0.0, 0.03, 0.2)
COLDEST, HOTTEST = 1e-2, 1e2
"""Between which α is looked for, in standard deviations of what decisions cost."""
NEGLIGIBLE = 1e-9
AT_ONCE = 100


class ConditionalKL(Method):
    """KL around kernel weights."""

    name: ClassVar[str] = "conditional KL"
    what: ClassVar[str] = "kernel weights, any weights within a KL divergence of them"
    most_rows: ClassVar[int | None] = 5_000

    def programs(self, problem: Problem) -> bool:
        """Each context has its own weights."""
        return True

    def grid(self, problem: Problem) -> Sequence[Setting]:
        """Four bandwidths, three radii."""
        return [{"bandwidth": h, "radius": r} for h in BANDWIDTHS for r in RADII]

    def learn(
        self, problem: Problem, X: np.ndarray, Y: np.ndarray, setting: Setting, seed: int
    ) -> Decide:
        """Keep the history; weigh it where a context is given."""
        scaler: Any = StandardScaler().fit(X)
        known = scaler.transform(X)
        sample = known[np.linspace(0, len(known) - 1, min(len(known), 300)).astype(int)]
        gaps = cdist(sample, sample)
        width = setting["bandwidth"] * (np.median(gaps[gaps > 0]) if np.any(gaps > 0) else 1.0)

        def decide(contexts: np.ndarray) -> np.ndarray:
            found = []
            for first in range(0, len(contexts), AT_ONCE):
                points = scaler.transform(contexts[first : first + AT_ONCE])
                logs = -(cdist(points, known) ** 2) / (2 * width**2)
                logs -= logsumexp(logs, axis=1, keepdims=True)
                found.append(robust_to_divergence(problem, Y, logs, setting["radius"]))
            return np.concatenate(found)

        return decide


def robust_to_divergence(
    problem: Problem, Y: np.ndarray, log_weights: np.ndarray, radius: float
) -> np.ndarray:
    """Return the best decision for each row of log-weights (contexts, rows)."""
    if radius == 0:
        best = robust_decisions(problem.loss, 0.0)
        return np.array([best(*_seen(Y, np.exp(row))) for row in log_weights])
    if problem.kind == "newsvendor":
        return _newsvendor(problem, Y[:, 0], log_weights, radius)
    solve = _two_stage if problem.kind == "two-stage" else _portfolio
    loss: Any = problem.loss
    return np.array([solve(loss, *_seen(Y, np.exp(row)), radius) for row in log_weights])


def _seen(Y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose weight is not negligible."""
    kept = weights > NEGLIGIBLE * weights.max()
    return Y[kept], weights[kept] / weights[kept].sum()


def _newsvendor(
    problem: Problem, y: np.ndarray, log_weights: np.ndarray, radius: float
) -> np.ndarray:
    """Orders for all contexts at once, z and log α by golden sections."""
    holding, stockout = newsvendor_costs(problem.loss)
    unit = max(holding, stockout) * float(np.std(y)) or 1.0

    def value(z: np.ndarray) -> np.ndarray:
        gap = z[:, None] - y
        losses = np.maximum(holding * gap, -stockout * gap)
        most = losses.max(axis=1)

        def dual(log: np.ndarray) -> np.ndarray:
            alpha = np.exp(log)
            scores = (losses - most[:, None]) / alpha[:, None] + log_weights
            top = scores.max(axis=1)
            together = np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top
            return alpha * (radius + together) + most

        ends = np.log(unit * np.array([COLDEST, HOTTEST]))
        return golden(dual, *np.full((2, len(z)), ends[:, None]))[1]

    ends = np.full((2, len(log_weights)), [[y.min()], [y.max()]])
    return golden(value, *ends)[0][:, None]


def _two_stage(loss: RecourseLoss, Y: np.ndarray, weights: np.ndarray, radius: float) -> np.ndarray:
    """First-stage decision by descent in (z, log α) from the sample average's on."""
    constant, in_y, in_z = loss.recourse.pieces()
    levels = constant + Y @ in_y.T
    start = robust_decisions(loss, 0.0)(Y, weights)
    spread = float(np.std(loss(start, Y))) or 1.0
    unit = float(np.std(Y, axis=0).max()) or 1.0
    rows, logs = np.arange(len(Y)), np.log(weights)

    def evaluate(point: np.ndarray) -> tuple[float, np.ndarray]:
        alpha = spread * np.exp(point[-1])
        scores = levels + in_z @ point[:-1]
        best = np.argmax(scores, axis=1)
        losses = scores[rows, best]
        together = float(logsumexp(losses / alpha + logs))  # pyright: ignore[reportArgumentType]
        share = np.exp(losses / alpha + logs - together)
        value = alpha * (radius + together)
        return float(value), np.append(share @ in_z[best], value - share @ losses)

    low, high = bounds_of(loss.decisions_for(Y.shape[1]))
    coldest, hottest = np.log([COLDEST, HOTTEST])
    first = np.append(start, np.clip(-0.5 * np.log(2 * radius), coldest, hottest))
    ends = np.column_stack([np.append(low, coldest), np.append(high, hottest)])
    return descend(evaluate, first, np.append(np.full(len(start), unit), 1.0), ends)[:-1]


def _portfolio(loss: MeanVariance, Y: np.ndarray, weights: np.ndarray, radius: float) -> np.ndarray:
    """(z₀, w) by sequential quadratic programs: everything is smooth."""
    start = robust_decisions(loss, 0.0)(Y, weights)
    omega, logs = loss.return_weight, np.log(weights)
    first = loss(start, Y)
    spread = float(np.sqrt(weights @ (first - weights @ first) ** 2)) or 1.0

    def value(point: np.ndarray) -> tuple[float, np.ndarray]:
        level, held, alpha = point[0], point[1:-1], spread * np.exp(point[-1])
        r = Y @ held
        losses = (r - level) ** 2 - omega * r
        together = float(logsumexp(losses / alpha + logs))  # pyright: ignore[reportArgumentType]
        share = np.exp(losses / alpha + logs - together)
        off = 2 * (r - level)
        slope = np.concatenate(
            [[-share @ off], Y.T @ (share * (off - omega)), [alpha * (radius + together)]]
        )
        slope[-1] -= share @ losses
        return float(alpha * (radius + together)) / spread, slope / spread

    bounds = [(None, None), *[(0.0, 1.0)] * (len(start) - 1), tuple(np.log([COLDEST, HOTTEST]))]
    sums = {
        "type": "eq",
        "fun": lambda point: point[1:-1].sum() - 1,
        "jac": lambda point: np.concatenate([[0.0], np.ones(len(point) - 2), [0.0]]),
    }
    found = minimize(
        value,
        np.append(start, -0.5 * np.log(2 * radius)),
        jac=True,
        bounds=bounds,
        constraints=[sums],
        method="SLSQP",
        options={"maxiter": 60, "ftol": 1e-7},
    )
    return found.x[:-1]


METHODS = (ConditionalKL(),)
