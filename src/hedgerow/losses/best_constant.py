"""The one decision that is best on average, found in units of its own, whatever those of the data.

Orders may be grams or millions, and a loss given as a function does not say which. So sizes are
tried first, all powers of ten from 1e-12 to 1e12, for all coordinates together and then for each;
what does best there is the unit in which descent (L-BFGS) then sees numbers of order one.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import minimize

from hedgerow.decisions import DecisionSet
from hedgerow.programs import program

SIZES = 10.0 ** np.arange(-12, 13)
SWEEPS = 2
MOST_SWEPT = 20
"""Coordinates whose sizes are tried one by one; of more, all have one size."""

MeanLosses = Callable[[Float[np.ndarray, "c k"]], Float[np.ndarray, " c"]]


def best_size(
    mean_losses: MeanLosses, decision_set: DecisionSet
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Return the best of decisions of many sizes, and the size of each of its coordinates.

    ``mean_losses`` is asked for decisions (2·sizes, k) at a time. Coordinates without units (shares
    of a whole) stay in the middle of their set, and have size 1.
    """
    scalable = decision_set.scalable
    middle = np.asarray(decision_set.from_raw(jnp.zeros(len(scalable))), np.float64)
    if not scalable.any():
        return middle, np.ones(len(scalable))
    sizes = np.repeat(SIZES, 2)[:, None]
    tried = np.concatenate([_at(decision_set, np.where(scalable, s, 1.0)) for s in SIZES])
    losses = _finite(mean_losses(tried))
    best, unit = tried[np.argmin(losses)], np.where(scalable, sizes[np.argmin(losses)], 1.0)
    least = losses.min()
    swept = np.flatnonzero(scalable) if 1 < len(scalable) <= MOST_SWEPT else []
    for k in [k for _ in range(SWEEPS) for k in swept]:
        changed = np.tile(best, (len(tried), 1))
        changed[:, k] = tried[:, k]
        losses = _finite(mean_losses(changed))
        if losses.min() < least:
            least, best = losses.min(), changed[np.argmin(losses)]
            unit[k] = sizes[np.argmin(losses), 0]
    return best, unit


def descend_to_best(
    mean_losses: MeanLosses,
    mean_loss: Callable[[Array], Array],
    decision_set: DecisionSet,
) -> Float[np.ndarray, " k"]:
    """Minimise ``mean_loss``, which JAX can trace, over a decision set; under ``enable_x64``.

    ``mean_losses`` is the same for several decisions at a time.
    """
    start, unit = best_size(mean_losses, decision_set)
    working = decision_set.in_units(unit)
    loss_unit = float(np.abs(mean_losses(np.tile(start, (2 * len(SIZES), 1)))[0])) or 1.0

    @program
    def value_and_gradient(raw: Array) -> tuple[Array, Array]:
        return jax.value_and_grad(
            lambda r: mean_loss(jnp.asarray(unit) * working.from_raw(r)) / loss_unit
        )(raw)

    def objective(raw: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = value_and_gradient(jnp.asarray(raw))
        return float(value), np.asarray(gradient)

    first = np.asarray(working.start_raw(jnp.asarray(start / unit)))
    solution = minimize(objective, first, jac=True, method="L-BFGS-B")
    constant = unit * np.asarray(working.from_raw(jnp.asarray(solution.x)))
    if not np.all(np.isfinite([*constant, solution.fun])):
        raise ValueError(
            "The loss has no finite best constant decision on these outcomes; check that it "
            "is bounded below on its decision set and free of NaN."
        )
    return constant


def _at(decision_set: DecisionSet, unit: np.ndarray) -> np.ndarray:
    """Two decisions of this size: one to either side of the middle."""
    working = decision_set.in_units(unit)
    ones = jnp.ones(len(unit))
    return unit * np.asarray(working.from_raw(jnp.stack([-ones, ones])), np.float64)


def _finite(losses: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(losses), losses, np.inf)
