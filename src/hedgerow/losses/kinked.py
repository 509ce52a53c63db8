"""The exponential of two linear pieces that meet at a kink k, under a kernel, per coordinate.

    ∫_{−∞}^{k} e^{ below·(u−k) } dK(u) + ∫_{k}^{∞} e^{ above·(u−k) } dK(u)

A newsvendor's product has its kink at the order, a mean–CVaR portfolio's return at minus its value
at risk; slopes are per temperature.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from hedgerow.kernels.base import Points, invert
from hedgerow.kernels.tilted import NEVER, log_add


class Kinked(NamedTuple):
    """A kernel around a centre, tilted by the slope ``below`` the kink and the one ``above`` it."""

    kernel: Any
    """One whose coordinates are known (``AbstractKernel.by_coordinate``)."""
    centre: Points
    kink: Points
    below: Any
    above: Any

    def log_mass(self) -> Float[Array, "*b d"]:
        """Log of the two integrals' sum."""
        kernel, centre, kink = self.kernel, self.centre, self.kink
        below = kernel.log_tilted_mass(self.below, kink, None, kink, centre)
        return log_add(below, kernel.log_tilted_mass(self.above, kink, kink, None, centre))

    def quantile(self, log_share: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """The points below which this share of the mass lies, by bisection."""
        kernel, centre, kink = self.kernel, self.centre, self.kink

        def log_mass_below(u: Array) -> Array:
            low = kernel.log_tilted_mass(self.below, kink, None, jnp.minimum(u, kink), centre)
            rest = kernel.log_tilted_mass(self.above, kink, kink, jnp.maximum(u, kink), centre)
            return log_add(low, jnp.where(u > kink, rest, NEVER))

        ends = kernel.tilted_ends(jnp.maximum(-self.below, self.above), centre)
        return kernel.settled(invert(log_mass_below, self.log_mass() + log_share, ends))
