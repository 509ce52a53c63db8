"""Slow, plain computations that the fast ones are measured against, and how to run those."""

from functools import wraps
from itertools import pairwise

import jax
import numpy as np
from scipy.integrate import quad

# Distances from a peak at which an integral is cut into panels, in units of the integrand's length.
PANELS = np.concatenate([[0.0], np.geomspace(1e-6, 1e-1, 6), [0.3, 1, 2, 4, 8, 15, 30, 60]])


def double(function):
    """Compile a function and run it in float64, numpy in and numpy out."""
    return _compiled(function, np.float64, True)


def single(function):
    """Compile a function and run it in float32, as training does, numpy in and numpy out."""
    return _compiled(function, np.float32, False)


def _compiled(function, dtype, x64):
    compiled = jax.jit(function)

    def cast(leaf):
        array = np.asarray(leaf)
        return array.astype(dtype) if array.dtype.kind == "f" else array

    @wraps(function)
    def run(*arguments):
        with jax.enable_x64(x64):
            return jax.tree.map(np.asarray, compiled(*jax.tree.map(cast, arguments)))

    return run


def nodes(rule, kernel, centre, seed):
    """Nodes and log-weights of a node rule."""
    return rule(kernel, centre, jax.random.key(seed))


nodes_in_double, nodes_in_single = double(nodes), single(nodes)


def log_integral(exponent, low, high, peaks, length):
    """log ∫_low^high e^exponent, by adaptive quadrature on panels around each of the peaks.

    The integrand must have died away 60 lengths from every peak, and may have kinks at peaks only.
    Its largest value is divided out first, so that nothing overflows.
    """
    around = np.concatenate([[peak - length * PANELS, peak + length * PANELS] for peak in peaks])
    edges = np.concatenate([around.ravel(), [low, high]])
    edges = np.unique(np.clip(edges[np.isfinite(edges)], low, high))
    top = max(exponent(edge) for edge in edges)
    total = sum(
        quad(lambda u: np.exp(exponent(u) - top), a, b, epsabs=1e-12 * length, epsrel=1e-9)[0]
        for a, b in pairwise(edges)
        if max(exponent(a), exponent((a + b) / 2), exponent(b)) > top - 100
    )
    return top + np.log(total)


def central_difference(function, point, step):
    """Derivative of an elementwise function of an array: (f(x + h) − f(x − h)) / 2h."""
    return (function(point + step) - function(point - step)) / (2 * step)


def gradient_by_differences(function, point, step=1e-6):
    """Gradient of a scalar function, one coordinate at a time."""
    point = np.asarray(point, np.float64)
    steps = step * np.eye(point.size).reshape(point.size, *point.shape)
    slopes = [(function(point + h) - function(point - h)) / (2 * step) for h in steps]
    return np.reshape(slopes, point.shape)


def moved_cost(order, norm=None):
    """‖v‖_p^p or ‖v‖_norm^p of moves v (…, d), in plain numpy."""

    def cost(moves):
        if norm is None:
            return np.sum(np.abs(moves) ** order, axis=-1)
        return np.linalg.norm(moves, norm, axis=-1) ** order

    return cost


def worst_over_plans(
    x,
    y,
    losses,
    grid_x,
    grid_y,
    *,
    epsilon,
    order,
    causal,
    penalty=None,
    radius=None,
    cost_x=None,
    cost_y=None,
):
    """max E Ψ over plans from equally weighted points to a grid, by a conic solver.

    The definition itself: γ ≥ 0 with the nominal as first marginal, X ⊥ Ŷ | X̂ if ``causal``, and
    R = E c_p + ε Σ γ log(γ/P̂) either priced or at most radius^order. ``cost_x(point, grid)`` and
    ``cost_y`` say what moves cost, infinity where there may be none; None: ‖·‖_p^p. Returns the
    optimal value, the expected loss and R.
    """
    import cvxpy

    mass = 1 / len(x)
    plain = moved_cost(order)
    cost_x, cost_y = (own or (lambda a, grid: plain(grid - a)) for own in (cost_x, cost_y))
    cost = [cost_x(a, grid_x)[:, None] + cost_y(b, grid_y)[None] for a, b in zip(x, y, strict=True)]
    allowed = [np.isfinite(c) for c in cost]
    plans = [cvxpy.Variable(losses.shape, nonneg=True) for _ in x]
    constraints = [cvxpy.sum(plan) == mass for plan in plans]
    constraints += [
        cvxpy.multiply(plan, ~some) == 0
        for plan, some in zip(plans, allowed, strict=True)
        if not some.all()
    ]
    if causal:
        first = {}
        for i, a in enumerate(map(tuple, x)):
            j = first.setdefault(a, i)
            if j != i:
                constraints.append(cvxpy.sum(plans[i], axis=1) == cvxpy.sum(plans[j], axis=1))
    gain = sum(cvxpy.sum(cvxpy.multiply(plan, losses)) for plan in plans)
    discrepancy = sum(
        cvxpy.sum(cvxpy.multiply(plan, np.where(some, c, 0.0)))
        + epsilon * cvxpy.sum(cvxpy.multiply(some, cvxpy.rel_entr(plan, mass)))
        for plan, c, some in zip(plans, cost, allowed, strict=True)
    )
    if radius is not None:
        constraints.append(discrepancy <= radius**order)
    objective = gain if penalty is None else gain - penalty * discrepancy
    problem = cvxpy.Problem(cvxpy.Maximize(objective), constraints)
    problem.solve(solver=cvxpy.CLARABEL)
    return problem.value, gain.value, discrepancy.value
