"""The two doors: causal transport and transport without causality, with entropy or without."""

from __future__ import annotations

import math
import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from hedgerow import _checks
from hedgerow.transport.exact import solve_exactly
from hedgerow.transport.factors import EntropicFactors
from hedgerow.transport.fixed_point import solve
from hedgerow.transport.measure import DiscreteMeasure
from hedgerow.transport.result import TransportResult
from hedgerow.transport.transport_problem import TransportProblem

SMALL = 1_000_000_000
"""Multiplications in a product below which it runs on one thread.

On a busy machine the threads of a small product wait for each other longer than they work: at
500 × 500 points a side, two threads on two busy cores took three times as long as one.
"""
RESOLUTION = 1e-12
"""Smallest epsilon, in units of the largest cost: exponents cost/epsilon keep four digits."""


def causal_sinkhorn(
    source: DiscreteMeasure,
    target: DiscreteMeasure,
    epsilon: float,
    order: float = 2,
    *,
    x_scale: Any = 1.0,
    y_scale: Any = 1.0,
    norm: Any = None,
    tolerance: float = 1e-8,
    max_sweeps: int = 10_000,
) -> TransportResult:
    """Find the causal plan of least cost and entropy, and the causal Sinkhorn discrepancy.

        R_p^p = min over causal γ of  Σ γ·c_p + ε·Σ γ_ij·log(γ_ij / p_i)

    A plan is causal if X ⊥ Ŷ | X̂: where a source context goes must not depend on the outcome that
    was seen there. If every source context has one outcome, that is no restriction (paper,
    def-causal-sh; ε = 0 is def-causal-trans, solved as an exact linear programme).

    Parameters
    ----------
    source, target : DiscreteMeasure
        With equally many columns of x and of y.
    epsilon : float
        Weight of the entropy, >= 0, in units of the cost.
    order : float >= 1
        p in the cost c_p = ‖(x − x̂)/x_scale‖_p^p + ‖(y − ŷ)/y_scale‖_p^p.
    norm : None, 1, 2 or inf, or a pair of these for x and y
        q, for costs ‖·‖_q^p; None: each column by itself, ‖·‖_p^p.
    x_scale, y_scale : float or one per column
        Units of the cost.
    tolerance : float
        L1 error of the second marginal at which to stop. The first marginal and causality hold to
        rounding at any time.
    max_sweeps : int
        After so many sweeps the best plan so far is returned, with a ``ConvergenceWarning``.

    Returns
    -------
    TransportResult

    Examples
    --------
    >>> import hedgerow as hr
    >>> source = hr.DiscreteMeasure([0, 0], [-1, 1])
    >>> target = hr.DiscreteMeasure([-1, 1], [-1, 1])
    >>> hr.sinkhorn(source, target, epsilon=0).value  # each outcome takes its own context along
    1.0
    >>> hr.causal_sinkhorn(source, target, epsilon=0).value  # the context has to go first
    3.0
    """
    problem = TransportProblem.between(
        source, target, order, x_scale, y_scale, causal=True, norm=norm
    )
    return _solved(problem, epsilon, tolerance, max_sweeps)


def sinkhorn(
    source: DiscreteMeasure,
    target: DiscreteMeasure,
    epsilon: float,
    order: float = 2,
    *,
    x_scale: Any = 1.0,
    y_scale: Any = 1.0,
    norm: Any = None,
    tolerance: float = 1e-8,
    max_sweeps: int = 10_000,
) -> TransportResult:
    """Find the plan of least cost and entropy, causal or not, and the Sinkhorn discrepancy.

    Takes the parameters of ``causal_sinkhorn``, whose value is never smaller.
    At epsilon = 0 the p-th root of the value is the Wasserstein distance.

    Examples
    --------
    >>> import numpy as np
    >>> import hedgerow as hr
    >>> x = np.linspace(0, 1, 4)[:, None]
    >>> source, target = hr.DiscreteMeasure(x, x), hr.DiscreteMeasure(x, 1 - x)
    >>> plain, causal = (find(source, target, 0.1) for find in (hr.sinkhorn, hr.causal_sinkhorn))
    >>> bool(plain.value <= causal.value + 1e-9)
    True
    """
    problem = TransportProblem.between(
        source, target, order, x_scale, y_scale, causal=False, norm=norm
    )
    return _solved(problem, epsilon, tolerance, max_sweeps)


def _solved(
    problem: TransportProblem, epsilon: Any, tolerance: Any, max_sweeps: Any
) -> TransportResult:
    epsilon = _checks.nonnegative("epsilon", epsilon)
    tolerance = _checks.positive("tolerance", tolerance)
    max_sweeps = _checks.count("max_sweeps", max_sweeps)
    if problem.largest_cost == math.inf:
        raise ValueError(
            "The points lie so far apart that their cost overflows; divide by larger units "
            "(x_scale, y_scale)."
        )
    if epsilon == 0:
        exact, iterations = solve_exactly(problem)
        return TransportResult(problem, 0.0, exact, "optimal", iterations)
    if epsilon < RESOLUTION * problem.largest_cost:
        raise ValueError(
            f"epsilon={epsilon:.3g} is too small beside costs of up to {problem.largest_cost:.3g} "
            "for double precision; use a larger one, or epsilon=0 for the exact plan."
        )
    with threadpool_limits(1 if problem.size < SMALL else None, "blas"):
        found = solve(problem, epsilon, tolerance, max_sweeps)
    if found.status != "converged":
        warnings.warn(
            f"The second marginal of the plan is off by {found.error:.2g} (tolerance "
            f"{tolerance:.2g}) after {found.sweeps} sweeps ({found.status}); allow more with "
            "max_sweeps, or use a larger epsilon.",
            ConvergenceWarning,
            stacklevel=3,
        )
    factors = EntropicFactors(problem, epsilon, found.log_scaling)
    return TransportResult(problem, epsilon, factors, found.status, found.sweeps)
