"""The worst case within a conformal region around a prediction (Patel, Rayan & Tewari 2024).

    box        |y_j − m_j(x)| ≤ q·s_j for all j          newsvendor and second stages
    ellipsoid  ‖S^{−1/2}(y − m(x))‖₂ ≤ q                 portfolios

q is the (1 − α) quantile of the scores of rows that the prediction had not seen (five folds), so a
region holds the outcome with a probability of about 1 − α; what is decided is best for the worst
outcome in it. That is closed form for a newsvendor, (h·low + b·high)/(h + b), a small linear
program for a second stage, and a cone program for a portfolio: with d = q‖S^{1/2}w‖ and M = ω/2
the worst of −ωr + (r − z₀)² at its best z₀ is −ω w·m + (2Md if d ≤ M, else d² + M²).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linprog

from hedgerow.losses import MeanVariance
from hedgerow.losses.recourse import bounds_of
from hedgerow_studies.rivals.method import Decide, Method, Problem, Setting
from hedgerow_studies.rivals.programs import newsvendor_costs
from hedgerow_studies.rivals.residual_robust import held_out_means, mean_model
from hedgerow_studies.rivals.wasserstein_affine import pieces_of

MISSED = (0.6, 0.4, 0.2, 0.1, 0.05, 0.02)


class Conformal(Method):
    """A robust decision for a conformal region."""

    name: ClassVar[str] = "conformal robust"
    what: ClassVar[str] = "mean (ridge or forest), worst outcome in a conformal box or ellipsoid"

    def programs(self, problem: Problem) -> bool:
        """All but the newsvendor's."""
        return problem.kind != "newsvendor"

    def grid(self, problem: Problem) -> Sequence[Setting]:
        """Two means, six shares of outcomes outside."""
        return [{"mean": mean, "missed": a} for mean in ("linear", "forest") for a in MISSED]

    def learn(
        self, problem: Problem, X: np.ndarray, Y: np.ndarray, setting: Setting, seed: int
    ) -> Decide:
        """Predict, take scores, decide for the worst."""
        return self.learn_each(problem, X, Y, [setting], seed)[0]

    def learn_each(
        self,
        problem: Problem,
        X: np.ndarray,
        Y: np.ndarray,
        settings: Sequence[Setting],
        seed: int,
    ) -> list[Decide]:
        """Learn each mean once; shares outside share it."""
        target = Y[:, 0] if Y.shape[1] == 1 else Y
        learned = {}
        for kind in dict.fromkeys(setting["mean"] for setting in settings):
            guess = held_out_means(mean_model(kind, seed), X, Y)
            learned[kind] = mean_model(kind, seed).fit(X, target), Y - guess

        def rule(setting: Setting) -> Decide:
            model, off = learned[setting["mean"]]
            best = _worst_case(problem, off, setting["missed"])

            def decide(contexts: np.ndarray) -> np.ndarray:
                return best(np.asarray(model.predict(contexts)).reshape(len(contexts), -1))

            return decide

        return [rule(setting) for setting in settings]


def conformal_quantile(scores: np.ndarray, missed: float) -> float:
    """Return the ⌈(n + 1)(1 − α)⌉-th smallest score; the largest if there are too few."""
    place = int(np.ceil((len(scores) + 1) * (1 - missed)))
    return float(np.sort(scores)[min(place, len(scores)) - 1])


def _worst_case(problem: Problem, off: np.ndarray, missed: float) -> Decide:
    """Return what turns predicted means into decisions."""
    if problem.kind == "portfolio":
        return _ellipsoid(problem, off, missed)
    size = np.std(off, axis=0)
    size[size == 0] = 1.0
    half = conformal_quantile(np.abs(off / size).max(axis=1), missed) * size
    if problem.kind == "newsvendor":
        holding, stockout = newsvendor_costs(problem.loss)
        return lambda means: means + half * (stockout - holding) / (stockout + holding)
    return lambda means: np.array([box_decision(problem, mean, half) for mean in means])


def box_decision(problem: Problem, mean: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Return the best decision for the worst outcome in a box, within the outcomes' support."""
    constant, in_y, in_z = pieces_of(problem)
    low, high = mean - half, mean + half
    support = problem.loss.support_for(len(mean))
    if support is not None:
        low, high = np.clip(low, *support), np.clip(high, *support)
    worst = constant + np.maximum(in_y * low, in_y * high).sum(axis=1)
    decisions = in_z.shape[1]
    bounds = np.column_stack(bounds_of(problem.loss.decisions_for(len(mean))))
    found = linprog(
        np.append(np.zeros(decisions), 1.0),
        A_ub=np.column_stack([in_z, -np.ones(len(in_z))]),
        b_ub=-worst,
        bounds=[*bounds.tolist(), (None, None)],
    )
    return found.x[:decisions]


def _ellipsoid(problem: Problem, off: np.ndarray, missed: float) -> Decide:
    loss: Any = problem.loss
    if not isinstance(loss, MeanVariance):
        raise TypeError(f"There is no conformal ellipsoid for {type(loss).__name__}.")
    values, vectors = np.linalg.eigh(np.cov(off, rowvar=False))
    values = np.maximum(values, 1e-9 * values.max())
    scores = np.linalg.norm(off @ vectors / np.sqrt(values), axis=1)
    root = conformal_quantile(scores, missed) * (vectors * np.sqrt(values)).T
    omega = loss.return_weight

    def decide(means: np.ndarray) -> np.ndarray:
        program = _ellipsoid_program(len(root))
        program["root"].value, program["omega"].value = root, omega
        found = []
        for mean in means:
            program["gain"].value = omega * mean
            program["problem"].solve(solver="CLARABEL")
            held = np.maximum(program["w"].value, 0)
            held /= held.sum()
            level = held @ mean - min(float(np.linalg.norm(root @ held)), omega / 2)
            found.append(np.append(level, held))
        return np.array(found)

    return decide


@cache
def _ellipsoid_program(assets: int) -> dict[str, Any]:
    """Minimise −gain·w + ω(u + v) + v² over w, u ≤ ω/2 and v with u + v ≥ ‖root·w‖."""
    import cvxpy as cp

    w, u, v = cp.Variable(assets, nonneg=True), cp.Variable(nonneg=True), cp.Variable(nonneg=True)
    root, gain = cp.Parameter((assets, assets)), cp.Parameter(assets)
    omega = cp.Parameter(nonneg=True)
    cost = cp.Minimize(-gain @ w + omega * (u + v) + cp.square(v))
    limits: Any = [cp.sum(w) == 1, cp.norm(root @ w) <= u + v, u <= omega / 2]
    problem = cp.Problem(cost, limits)
    return {"problem": problem, "w": w, "root": root, "gain": gain, "omega": omega}


METHODS = (Conformal(),)
