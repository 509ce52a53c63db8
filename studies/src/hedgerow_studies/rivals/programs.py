"""Decisions for weighted scenarios that an adversary may move, by the kind of loss.

    min_z  sup { E_Q Ψ(z, y) :  W_2(Q, Σ_i w_i δ_{y_i}) ≤ ρ }

**A newsvendor**, h for what is left and b for what is missing: with s = (b − h)·τ/4 the dual at
λ = 1/τ is  Σ w_i max(h(z−y_i) + h²τ/4, b(y_i−z) + b²τ/4) + ρ²/τ,  least at the weighted b/(b+h)
quantile plus s with value  SAA + hbτ/4 + ρ²/τ,  so τ = 2ρ/√(hb) and

    z = quantile + (b − h)·ρ / (2√(hb)).

**A second stage** Ψ = max_k a_k + b_k·y + d_k·z: Σ w_i max_k(… + ‖b_k‖²τ/4) + ρ²/τ over (z, τ).
**Mean–variance**: only r = w·y matters, which moves within ρ‖w‖, and with c = z₀ + ω/2 the value is
(√Σ w_i(r_i − c)² + ρ‖w‖)² − ω z₀ − ω²/4, a cone program.

Outcomes are free to leave their support, which bounds the cost from above and keeps it closed form.
Radii are in the outcomes' units, whatever their columns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import minimize

from hedgerow.losses import Loss, MeanVariance, Newsvendor, RecourseLoss
from hedgerow.losses.recourse import bounds_of, minimise_mean

LEAST_SHARE = 1e-4
"""Of τ's own scale: below it ρ²/τ is a wall."""

DecideFor = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Scenarios (n, outcomes) and weights (n,) with sum 1 to the decision (decisions,)."""


def robust_decisions(loss: Loss, radius: float) -> DecideFor:
    """Return what finds the best decision for scenarios that may move by so much."""
    if isinstance(loss, Newsvendor):
        return lambda Y, w: newsvendor_decision(loss, Y, w, radius)
    if isinstance(loss, RecourseLoss):
        return lambda Y, w: two_stage_decision(loss, Y, w, radius)
    if isinstance(loss, MeanVariance):
        return lambda Y, w: portfolio_decision(loss.return_weight, Y, w, radius)
    raise TypeError(f"There is no robust program for {type(loss).__name__} here.")


def newsvendor_costs(loss: Loss) -> tuple[float, float]:
    """H and b of a newsvendor of one product."""
    known: Any = loss
    return float(np.ravel(known.holding)[0]), float(np.ravel(known.stockout)[0])


def shift(loss: Loss, radius: float) -> float:
    """What an adversary of order 2 adds to a newsvendor's quantile."""
    holding, stockout = newsvendor_costs(loss)
    return (stockout - holding) * radius / (2 * np.sqrt(holding * stockout))


def newsvendor_decision(
    loss: Newsvendor, Y: np.ndarray, weights: np.ndarray, radius: float
) -> np.ndarray:
    """Return the weighted quantile, moved."""
    holding, stockout = newsvendor_costs(loss)
    order = np.argsort(Y[:, 0], kind="stable")
    below = np.cumsum(weights[order])
    place = int(np.argmax(below >= min(stockout / (holding + stockout) - 1e-12, below[-1])))
    return np.array([Y[order[place], 0] + shift(loss, radius)])


def two_stage_decision(
    loss: RecourseLoss, Y: np.ndarray, weights: np.ndarray, radius: float
) -> np.ndarray:
    """Return what is best in the first stage: cutting planes, then descent in (z, τ)."""
    constant, in_y, in_z = loss.recourse.pieces()
    levels = constant + Y @ in_y.T
    steep = np.sum(in_y**2, axis=1) / 4
    decision_set = loss.decisions_for(Y.shape[1])
    unit = np.std(Y, axis=0).max() or 1.0
    rows = np.arange(len(Y))

    def evaluate(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scores = levels + in_z @ z
        best = np.argmax(scores, axis=1)
        return scores[rows, best], in_z[best]

    start = loss_start(loss, Y, weights, unit)
    plain = minimise_mean(evaluate, weights, decision_set, unit, start)
    if radius == 0:
        return plain
    tau = 2 * radius / np.sqrt(max(float(steep.max()) * 4, 1e-300))

    def evaluate_robust(point: np.ndarray) -> tuple[float, np.ndarray]:
        z, t = point[:-1], float(point[-1])
        scores = levels + in_z @ z + steep * t
        best = np.argmax(scores, axis=1)
        value = weights @ scores[rows, best] + radius**2 / t
        return value, np.append(weights @ in_z[best], weights @ steep[best] - radius**2 / t**2)

    units = np.append(np.full(len(plain), unit), tau)
    low, high = bounds_of(decision_set)
    ends = np.column_stack([np.append(low, LEAST_SHARE * tau), np.append(high, np.inf)])
    return descend(evaluate_robust, np.append(plain, tau), units, ends)[:-1]


def descend(
    evaluate: Callable[[np.ndarray], tuple[float, np.ndarray]],
    start: np.ndarray,
    units: np.ndarray,
    ends: np.ndarray,
) -> np.ndarray:
    """Minimise a convex function of a few numbers by sequential quadratic programs.

    Means over many rows are nearly smooth; where steps end at the kink of one row, the best point
    that was met is returned. It takes a tenth of the time of cutting planes, which have to build a
    curve out of lines; the tests hold it against cone programs.
    """
    size = abs(evaluate(start)[0]) or 1.0
    met: list[tuple[float, np.ndarray]] = []

    def value(point: np.ndarray) -> tuple[float, np.ndarray]:
        found, slope = evaluate(point * units)
        met.append((found, point * units))
        return found / size, slope * units / size

    limits = (ends / units[:, None]).tolist()
    minimize(value, start / units, jac=True, bounds=limits, method="SLSQP", options={"maxiter": 40})
    return min((one for one in met if np.isfinite(one[0])), key=lambda one: one[0])[1]


def loss_start(loss: RecourseLoss, Y: np.ndarray, weights: np.ndarray, unit: float) -> Any:
    """Where cutting planes begin: the middle of the set, unless means are decisions."""
    decision_set = loss.decisions_for(Y.shape[1])
    return weights @ Y if decision_set.dimension == Y.shape[1] else None


def portfolio_decision(
    return_weight: float, Y: np.ndarray, weights: np.ndarray, radius: float
) -> np.ndarray:
    """Return (z₀, w) of the cone program."""
    mean = weights @ Y
    centred = (Y - mean) * np.sqrt(weights)[:, None]
    root = np.linalg.qr(centred, mode="r")
    short = np.zeros((Y.shape[1], Y.shape[1]))
    short[: len(root)] = root
    program = _cone_program(Y.shape[1])
    program["mean"].value = mean
    program["root"].value = short
    program["radius"].value = radius
    program["half"].value = return_weight / 2
    program["problem"].solve(solver="CLARABEL")
    held = np.maximum(program["w"].value, 0)
    return np.append(program["level"].value, held / held.sum())


@cache
def _cone_program(assets: int) -> dict[str, Any]:
    """The cone program of so many assets, its numbers left open."""
    import cvxpy as cp

    w, level, slack = cp.Variable(assets, nonneg=True), cp.Variable(), cp.Variable()
    mean, root = cp.Parameter(assets), cp.Parameter((assets, assets))
    radius, half = cp.Parameter(nonneg=True), cp.Parameter(nonneg=True)
    off = cp.hstack([root @ w, cp.reshape(mean @ w - level - half, (1,), order="C")])
    constraints = [cp.sum(w) == 1, cp.norm(off) + radius * cp.norm(w) <= slack]
    problem = cp.Problem(cp.Minimize(cp.square(slack) - 2 * half * level), constraints)
    return {"problem": problem, "w": w, "level": level, "mean": mean, "root": root} | {
        "radius": radius,
        "half": half,
    }
