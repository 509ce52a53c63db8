"""Partial mass near a context, and a budget to bring it there (Esteban-Pérez & Morales 2022).

An adversary picks shares b_i ≤ 1/K of the history's rows, moves each to the context x and its
outcome to where it likes, and may spend ρ on the way:

    sup  Σ b_i Ψ(z, y_i')   s.t.  Σ b_i (d_i + ‖y_i' − y_i‖) ≤ ρ,   0 ≤ b_i ≤ 1/K,   Σ b_i = 1
    =  min  λρ + θ + (1/K) Σ (Ψ(z, y_i) − λ d_i − θ)⁺     over  λ ≥ L, θ,

d_i the distance of contexts and L the largest slope of the loss in y (order 1). The least budget is
what bringing the K nearest costs; with no more than that it is their sample average, and with K all
rows it is the sample average of the history. Distances are those of standardised features, by the
root of their number, in standard deviations of the outcomes, as is the budget beyond the least one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.preprocessing import StandardScaler

from hedgerow.decisions import Box, Free, Product
from hedgerow.losses import RecourseLoss
from hedgerow.losses.recourse import minimise_mean
from hedgerow_studies.rivals.method import Decide, Method, Problem, Setting
from hedgerow_studies.rivals.programs import newsvendor_costs, robust_decisions
from hedgerow_studies.rivals.searching import golden

NEIGHBOURS, BUDGETS = (10, 20, 40), (0.0, 0.03, 0.1, 0.3)
AT_ONCE = 100
FARTHEST = 100.0
"""Prices of transport are looked for up to so many times the loss's slope."""


class Trimming(Method):
    """Trimmings of the history within a transport budget."""

    name: ClassVar[str] = "trimming DRO"
    what: ClassVar[str] = "partial mass near the context, moved within a transport budget, order 1"
    kinds: ClassVar[tuple[str, ...]] = ("newsvendor", "two-stage")
    why_not: ClassVar[str] = "order 1 has no finite value for a square"
    most_rows: ClassVar[int | None] = 5_000

    def programs(self, problem: Problem) -> bool:
        """Each context has its own distances."""
        return True

    def grid(self, problem: Problem) -> Sequence[Setting]:
        """Three masses, four budgets."""
        return [{"neighbours": k, "budget": b} for k in NEIGHBOURS for b in BUDGETS]

    def learn(
        self, problem: Problem, X: np.ndarray, Y: np.ndarray, setting: Setting, seed: int
    ) -> Decide:
        """Keep the history; decide where a context is given."""
        unit = float(np.mean(np.std(Y, axis=0))) or 1.0
        scaler: Any = StandardScaler().fit(X)
        known = scaler.transform(X)
        count = min(setting["neighbours"], len(Y))

        def decide(contexts: np.ndarray) -> np.ndarray:
            found = []
            for first in range(0, len(contexts), AT_ONCE):
                points = scaler.transform(contexts[first : first + AT_ONCE])
                gaps = np.linalg.norm(points[:, None] - known, axis=2) / np.sqrt(X.shape[1])
                found.append(
                    trimmed_decisions(problem, Y, unit * gaps, count, unit * setting["budget"])
                )
            return np.concatenate(found)

        return decide


def trimmed_decisions(
    problem: Problem, Y: np.ndarray, distances: np.ndarray, count: int, extra: float
) -> np.ndarray:
    """Return decisions for contexts at distances (contexts, rows), of K = count."""
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :count]
    least = np.take_along_axis(distances, nearest, axis=1).mean(axis=1)
    if extra == 0 and count < len(Y):
        best = robust_decisions(problem.loss, 0.0)
        even = np.full(count, 1 / count)
        return np.array([best(Y[rows], even) for rows in nearest])
    if problem.kind == "newsvendor":
        return _newsvendor(problem, Y[:, 0], distances, count, least + extra)
    return np.array(
        [
            _two_stage(problem.loss, Y, row, count, float(budget))  # pyright: ignore[reportArgumentType]
            for row, budget in zip(distances, least + extra, strict=True)
        ]
    )


def _newsvendor(
    problem: Problem, y: np.ndarray, distances: np.ndarray, count: int, budget: np.ndarray
) -> np.ndarray:
    """Orders for all contexts at once: z and λ by golden sections, θ is the K-th largest score."""
    holding, stockout = newsvendor_costs(problem.loss)
    steepest = max(holding, stockout)

    def value_at(z: np.ndarray, price: np.ndarray) -> np.ndarray:
        gap = z[:, None] - y
        scores = np.maximum(holding * gap, -stockout * gap) - price[:, None] * distances
        if count < len(y):
            scores = np.partition(scores, len(y) - count, axis=1)[:, len(y) - count :]
        return price * budget + scores.mean(axis=1)

    def value(z: np.ndarray) -> np.ndarray:
        low = np.full(len(z), np.log(steepest))
        return golden(lambda log: value_at(z, np.exp(log)), low, low + np.log(FARTHEST))[1]

    ends = np.full((2, len(distances)), [[y.min()], [y.max()]])
    return golden(value, *ends)[0][:, None]


def _two_stage(
    loss: RecourseLoss, Y: np.ndarray, distances: np.ndarray, count: int, budget: float
) -> np.ndarray:
    """First-stage decision by cutting planes in (z, λ, θ)."""
    constant, in_y, in_z = loss.recourse.pieces()
    levels = constant + Y @ in_y.T
    steepest = float(np.linalg.norm(in_y, axis=1).max())
    share, rows = len(Y) / count, np.arange(len(Y))

    def evaluate(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z, price, level = point[:-2], point[-2], point[-1]
        scores = levels + in_z @ z
        best = np.argmax(scores, axis=1)
        above = scores[rows, best] - price * distances - level
        counts = share * (above > 0)
        slopes = np.column_stack(
            [counts[:, None] * in_z[best], budget - counts * distances, 1 - counts]
        )
        return price * budget + level + share * np.maximum(above, 0), slopes

    decision_set = loss.decisions_for(Y.shape[1])
    price_set = Box(np.array([steepest]), np.array([FARTHEST * steepest]))
    unit = float(np.std(Y, axis=0).max()) or 1.0
    size = decision_set.dimension
    nearest = Y[np.argsort(distances)[:count]]
    start = robust_decisions(loss, 0.0)(nearest, np.full(count, 1 / count))
    level = float(np.mean(loss(start, nearest)))
    found = minimise_mean(
        evaluate,
        np.ones(len(Y)),
        Product(decision_set, price_set, Free(1)),
        np.array([unit] * size + [steepest, abs(level) or 1.0]),
        np.append(start, [steepest, level]),
    )
    return found[:size]


METHODS = (Trimming(),)
