"""The one portfolio that is best on average, solved to optimality.

    mean–variance   min_w  w'Σw − ω μ'w              a quadratic program
    mean–CVaR       min_{η,w}  η + E(−w·y − η)⁺/α − ω μ'w    a linear program

both over the simplex, with HiGHS.
"""

from __future__ import annotations

import highspy
import numpy as np

from hedgerow.decisions import Free, Product, Simplex
from hedgerow.losses.recourse import minimise_mean
from hedgerow.losses.recourse.warm_solver import silent_highs

NEGLIGIBLE = 1e-12
"""Of the largest variance, added to the diagonal: with few days the covariance is singular."""


def best_mean_variance(returns: np.ndarray, share: np.ndarray, return_weight: float) -> np.ndarray:
    """Return (mean of r, w) for the portfolio with the least Var(r) − ω·E r, r = w·y."""
    mean = share @ returns
    centred = (returns - mean) * np.sqrt(share)[:, None]
    centred[:, np.ptp(returns, axis=0) == 0] = 0.0  # not a rounding error to be scaled up
    covariance = centred.T @ centred
    scale = float(np.max(np.diag(covariance), initial=0.0)) or 1.0
    covariance = covariance / scale + NEGLIGIBLE * np.eye(len(mean))
    weights = _on_simplex(covariance, return_weight * mean / scale)
    return np.concatenate([[mean @ weights], weights])


def best_mean_cvar(
    returns: np.ndarray, share: np.ndarray, return_weight: float, tail: float
) -> np.ndarray:
    """Return (η, w) with the least mean loss, by cutting planes."""

    def evaluate(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r = returns @ z[1:]
        short = -r - z[0] > 0
        losses = z[0] - return_weight * r + np.where(short, -r - z[0], 0.0) / tail
        in_level = 1 - short / tail
        in_return = -return_weight - short / tail
        return losses, np.column_stack([in_level, in_return[:, None] * returns])

    size = float(np.abs(returns).max(initial=0.0)) or 1.0
    decision_set = Product(Free(1), Simplex(returns.shape[1]))
    return minimise_mean(evaluate, share, decision_set, radius=size)


def _on_simplex(covariance: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Minimise w'Σw − gain·w over w ≥ 0, Σw = 1."""
    n = len(gain)
    assets = np.arange(n, dtype=np.int32)
    solver = silent_highs()
    solver.addVars(n, np.zeros(n), np.ones(n))
    solver.changeColsCost(n, assets, -gain)
    solver.addRow(1.0, 1.0, n, assets, np.ones(n))
    hessian = highspy.HighsHessian()
    hessian.dim_, hessian.format_ = n, highspy.HessianFormat.kTriangular
    columns, rows = np.triu_indices(n)
    hessian.start_ = np.concatenate([[0], np.cumsum(np.arange(n, 0, -1))])
    hessian.index_, hessian.value_ = rows, 2 * covariance[rows, columns]
    solver.passHessian(hessian)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        status = solver.modelStatusToString(solver.getModelStatus())
        raise RuntimeError(f"The mean-variance program was not solved: {status}.")
    weights = np.maximum(np.asarray(solver.getSolution().col_value), 0.0)
    return weights / weights.sum()
