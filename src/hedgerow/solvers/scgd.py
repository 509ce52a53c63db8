"""Stochastic compositional gradient descent (Wang, Fang & Liu 2017), in the log domain.

u ← log( (1−β)·e^u + β·e^now ),     one u per logarithm of the problem.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from hedgerow.solvers.stochastic import StochasticSolver


class SCGD(StochasticSolver):
    """Remember a moving average of each expectation."""

    def estimate(
        self, now: Float[Array, "*g"], remembered: Float[Array, "*g"], share: Float[Array, ""]
    ) -> Float[Array, "*g"]:
        """Mix this step's log-average into the remembered one."""
        return log_mix(now, remembered, share)


def log_mix(now: Array, remembered: Array, share: ArrayLike) -> Array:
    """log( (1−share)·e^remembered + share·e^now )."""
    old = jnp.log1p(-jnp.minimum(share, 1 - 1e-6)) + remembered
    return jnp.logaddexp(old, jnp.log(share) + now)
