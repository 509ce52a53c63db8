"""Transport without entropy: an exact linear programme, solved by HiGHS.

Since c = c_x + c_y, mass may be thought to move in two legs, first in x and then in y, and only how
much arrives in the middle, at (ŷ, x), ties them together:

    minimise  Σ c_x(x̂,x)·f(route, x) + Σ c_y(ŷ,y)·g(ŷ, x, y)
    with      Σ_x f(route, x)  = mass of the route
              Σ_y g(ŷ, x, y)   = Σ_routes p̂(ŷ | route)·f(route, x)
              Σ_ŷ g(ŷ, x, y)   = q(x, y)

On n × n points a side this has O(n³) variables where the plan has n⁴ (Auricchio, Bassetti,
Gualandi & Veneroni 2018, for plans without causality); routes that are contexts make it causal.
Points without such structure take the plain programme between routes and target cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.optimize import linprog

from hedgerow.transport.factors import ExactFactors
from hedgerow.transport.transport_problem import TransportProblem

MOST_VARIABLES = 1_000_000
"""Beyond this an exact solution takes many minutes."""
OPTIONS = {
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
    # One equation follows from the others up to rounding, which presolve takes for a contradiction.
    "presolve": False,
}


def solve_exactly(problem: TransportProblem) -> tuple[ExactFactors, int]:
    """Return the factors of a plan of least cost, and the solver's iterations."""
    source, target = problem.source, problem.target
    routes, contexts = len(problem.route_mass), len(target.contexts)
    two_legs = routes * contexts + len(source.outcomes) * target.cells
    plain = routes * target.cells
    direct = problem.is_plain and plain <= 2 * two_legs
    variables = plain if direct else two_legs
    if variables > MOST_VARIABLES:
        raise ValueError(
            f"At epsilon=0 this is a linear programme of {variables:,} variables, more than the "
            f"{MOST_VARIABLES:,} that are solved in reasonable time; use epsilon > 0 or fewer "
            "points."
        )
    return _direct(problem) if direct else _two_legs(problem)


def _two_legs(problem: TransportProblem) -> tuple[ExactFactors, int]:
    source, target = problem.source, problem.target
    routes, contexts = len(problem.route_mass), len(target.contexts)
    outcomes, cells = len(source.outcomes), target.cells
    to_context = sparse.csr_array(
        (np.ones(cells), (target.cell_context, np.arange(cells))), shape=(contexts, cells)
    )
    leaving = sparse.kron(sparse.eye_array(routes), np.ones((1, contexts)))
    passing = sparse.kron(problem.route_outcomes.T, sparse.eye_array(contexts))
    going_on = sparse.kron(sparse.eye_array(outcomes), to_context)
    arriving = sparse.kron(np.ones((1, outcomes)), sparse.eye_array(cells))
    constraints = sparse.block_array([[leaving, None], [passing, -going_on], [None, arriving]])
    right = np.concatenate([problem.route_mass, np.zeros(outcomes * contexts), target.mass])
    first_leg = problem.context_cost[problem.route_context]
    second_leg = problem.outcome_cost[:, target.cell_outcome]
    cost = np.concatenate([first_leg.ravel(), second_leg.ravel()])
    flow, iterations = _least_cost(cost, constraints, right)
    sent = flow[: routes * contexts].reshape(routes, contexts)
    moved = flow[routes * contexts :].reshape(outcomes, cells)
    return ExactFactors(problem, sent, moved), iterations


def _direct(problem: TransportProblem) -> tuple[ExactFactors, int]:
    target = problem.target
    routes, cells = len(problem.route_mass), target.cells
    leaving = sparse.kron(sparse.eye_array(routes), np.ones((1, cells)))
    arriving = sparse.kron(np.ones((1, routes)), sparse.eye_array(cells))
    right = np.concatenate([problem.route_mass, target.mass])
    cost = problem.plain_cost().ravel()
    flow, iterations = _least_cost(cost, sparse.vstack([leaving, arriving]), right)
    plan = flow.reshape(routes, cells)
    sent = np.add.reduceat(plan, target.start, axis=1)
    return ExactFactors(problem, sent, problem.route_outcomes.T @ plan), iterations


def _least_cost(cost: np.ndarray, constraints: Any, right: np.ndarray) -> tuple[np.ndarray, int]:
    """Minimise cost·flow over flows >= 0 that meet the constraints."""
    # Tolerances are absolute: masses of order one keep small ones from drowning in them.
    unit = right.max()
    found = linprog(
        cost / (cost.max() or 1.0),
        A_eq=sparse.csc_array(constraints),
        b_eq=right / unit,
        method="highs-ipm",
        options=OPTIONS,
    )
    if found.status != 0 or found.x is None:
        raise RuntimeError(
            f"The exact plan was not found: HiGHS ended a linear programme of {len(cost):,} "
            f"variables without an optimum ({found.message.strip()}); use epsilon > 0."
        )
    return np.maximum(found.x, 0) * unit, int(found.nit)
