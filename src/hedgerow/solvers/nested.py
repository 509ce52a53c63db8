"""Nested sampling: u is this step's log-average over its few nodes.

Biased (the logarithm of an average underestimates), by O(1/nodes); nothing is remembered.
"""

from __future__ import annotations

from typing import ClassVar

from jaxtyping import Array, Float

from hedgerow.solvers.stochastic import StochasticSolver


class NestedSGD(StochasticSolver):
    """Stochastic gradients of the nested, biased estimate. ``tracking`` is not used."""

    remembers: ClassVar[bool] = False

    def estimate(
        self, now: Float[Array, "*g"], remembered: Float[Array, "*g"], share: Float[Array, ""]
    ) -> Float[Array, "*g"]:
        """Take this step's log-average as it is."""
        return now
