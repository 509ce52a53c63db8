"""Affine rules in a Wasserstein ball of order 1 (Mohajerin Esfahani & Kuhn 2018).

With z = A x + c each piece of the loss is affine in (x, y), so without bounds on them the worst
mean within a ball of radius ε around the history is the history's plus the steepest piece:

    min  (1/N) Σ_i max_k (a_k + b_k·y_i + d_k·(A x_i + c))  +  ε · max_k ‖(Aᵀd_k, b_k)‖₂

Features and outcomes are standardised. With ε = 0 it is the empirical risk of an affine rule. Where
decisions are bounded, they are so on the history's contexts, and are moved into bounds elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.preprocessing import StandardScaler

from hedgerow_studies.rivals.method import Decide, Method, Problem, Setting
from hedgerow_studies.rivals.programs import newsvendor_costs

RADII = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.4, 0.8, 1.6)


class WassersteinAffine(Method):
    """An affine rule against the worst in a ball."""

    name: ClassVar[str] = "Wasserstein affine"
    what: ClassVar[str] = "affine rule, Wasserstein ball of order 1 on (x, y), a cone program"
    kinds: ClassVar[tuple[str, ...]] = ("newsvendor", "two-stage")
    why_not: ClassVar[str] = "an affine rule leaves the simplex"
    needs: ClassVar[tuple[str, ...]] = ("cvxpy", "clarabel")
    most_rows: ClassVar[int | None] = 5_000
    radii: ClassVar[tuple[float, ...]] = RADII

    def grid(self, problem: Problem) -> Sequence[Setting]:
        """Ten radii."""
        return [{"radius": radius} for radius in self.radii]

    def learn(
        self, problem: Problem, X: np.ndarray, Y: np.ndarray, setting: Setting, seed: int
    ) -> Decide:
        """Solve the cone program."""
        return self.learn_each(problem, X, Y, [setting], seed)[0]

    def learn_each(
        self,
        problem: Problem,
        X: np.ndarray,
        Y: np.ndarray,
        settings: Sequence[Setting],
        seed: int,
    ) -> list[Decide]:
        """State the program once, solve it for each radius."""
        scaler: Any = StandardScaler().fit(X)
        program = _Program(problem, scaler.transform(X), Y)

        def rule(slopes: np.ndarray, constant: np.ndarray) -> Decide:
            return lambda contexts: scaler.transform(contexts) @ slopes.T + constant

        return [rule(*program.solve(setting["radius"])) for setting in settings]


def pieces_of(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Constants (k,), slopes in y and in z of a loss that is a maximum of affine functions."""
    if problem.kind == "newsvendor":
        holding, stockout = newsvendor_costs(problem.loss)
        in_z = np.array([[holding], [-stockout]])
        return np.zeros(2), -in_z, in_z
    loss: Any = problem.loss
    return loss.recourse.pieces()


class _Program:
    """The cone program of a history; only the radius is open."""

    def __init__(self, problem: Problem, X: np.ndarray, Y: np.ndarray) -> None:
        import cvxpy as cp

        constant, in_y, in_z = pieces_of(problem)
        self.unit = float(np.mean(np.std(Y, axis=0))) or 1.0
        scaled = Y / self.unit
        self.slopes = cp.Variable((in_z.shape[1], X.shape[1]))
        self.constant = cp.Variable(in_z.shape[1])
        losses, steepest = cp.Variable(len(X)), cp.Variable()
        self.radius = cp.Parameter(nonneg=True)
        orders = X @ self.slopes.T + np.ones((len(X), 1)) @ cp.reshape(
            self.constant, (1, in_z.shape[1]), order="C"
        )
        fixed = constant / self.unit + scaled @ in_y.T
        constraints = [losses >= fixed[:, k] + orders @ slope for k, slope in enumerate(in_z)] + [
            cp.norm(cp.hstack([self.slopes.T @ slope, in_y[k]])) <= steepest
            for k, slope in enumerate(in_z)
        ]
        if problem.kind != "newsvendor":
            constraints.append(orders >= 0)
        self.problem = cp.Problem(
            cp.Minimize(cp.sum(losses) / len(X) + self.radius * steepest), constraints
        )

    def solve(self, radius: float) -> tuple[np.ndarray, np.ndarray]:
        """Slopes (decisions, features) and constant (decisions,), in the outcomes' units."""
        self.radius.value = radius
        self.problem.solve(solver="CLARABEL")
        slopes: Any = self.slopes.value
        constant: Any = self.constant.value
        return self.unit * slopes, self.unit * constant


class EmpiricalAffine(WassersteinAffine):
    """The same without a ball."""

    name: ClassVar[str] = "empirical risk affine"
    what: ClassVar[str] = "affine rule of least empirical risk, a linear program"
    radii: ClassVar[tuple[float, ...]] = (0.0,)


METHODS = (WassersteinAffine(), EmpiricalAffine())
