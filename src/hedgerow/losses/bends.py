"""Losses of one outcome with two linear pieces, and what becomes of them above a threshold.

A newsvendor's cost of one product falls to its kink and rises from there. Restated by an increasing
function that bends once, at a threshold, it has up to four linear pieces in the outcome,

    heights h_j + slopes b_j·(y − kink)   on intervals that end where costs meet the threshold,

so its moments under a kernel are sums of four tilted masses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from hedgerow.kernels import NEVER, AbstractKernel, invert

NOWHERE_NEAR = 1e8
"""In widths of the kernel: where a piece without slope would meet a threshold."""


class Bend(NamedTuple):
    """A loss of one outcome: where its pieces meet, what it costs there, and both slopes."""

    kink: Callable[[Any], Any]
    cost: Any
    below: Any
    above: Any


class Pieces(NamedTuple):
    """Linear pieces of an exponent, anchored at one point: slope, height, and between which ends.

    All have the shape (…, 1): a single outcome. An end of None is infinite.
    """

    kernel: AbstractKernel
    centre: Array
    anchor: Array
    each: list[tuple[Any, Any, Any, Any]]

    @classmethod
    def of(
        cls,
        bend: Bend,
        kernel: AbstractKernel,
        z: Array,
        y: Array,
        threshold: Array,
        slopes: tuple[Any, Any],
        temperature: Any,
    ) -> Pieces:
        """The exponent f(Ψ)/t, where f has one slope up to the threshold and another above it.

        At the threshold f(η) = η·(share of slopes) as ``CVaR.mixed`` has it: f(Ψ) = f(η) + slope·(Ψ
        − η), and f(η) is left out: whoever asks adds it.
        """
        kink, (below, above) = bend.kink(z), slopes
        gap = threshold - bend.cost
        width = jnp.max(kernel.width)
        far = NOWHERE_NEAR * jnp.where(width > 0, width, 1.0)

        def reach(slope: Any) -> Array:
            """How far from the kink costs with this slope stay below the threshold."""
            slope = jnp.abs(jnp.asarray(slope, kink.dtype))
            distance = jnp.maximum(gap, 0.0) / jnp.where(slope > 0, slope, 1.0)
            return jnp.minimum(jnp.where(slope > 0, distance, jnp.where(gap > 0, far, 0.0)), far)

        low, high = kink - reach(bend.below), kink + reach(bend.above)
        inner, outer = -below * gap / temperature, -above * gap / temperature
        return cls(
            kernel,
            y,
            kink,
            [
                (above * bend.below / temperature, outer, None, low),
                (below * bend.below / temperature, inner, low, kink),
                (below * bend.above / temperature, inner, kink, high),
                (above * bend.above / temperature, outer, high, None),
            ],
        )

    def log_mass(self) -> Float[Array, "*b 1"]:
        """Log E exp(exponent)."""
        return self._log_mass_below(None)

    def quantile(self, log_share: Float[Array, "*b 1"]) -> Float[Array, "*b 1"]:
        """The points below which this share of the tilted mass lies, by bisection."""
        steepest = jnp.abs(jnp.stack([jnp.max(jnp.abs(piece[0])) for piece in self.each])).max()
        ends = self.kernel.tilted_ends(steepest, self.centre)
        found = invert(self._log_mass_below, self.log_mass() + log_share, ends)
        return self.kernel.settled(found)

    def _log_mass_below(self, u: Array | None) -> Array:
        masses = []
        for slope, height, low, high in self.each:
            end = high if u is None else u if high is None else jnp.minimum(u, high)
            mass = self.kernel.log_tilted_mass(slope, self.anchor, low, end, self.centre)
            if low is not None and end is not None:
                mass = jnp.where(end > low, mass, NEVER)
            masses.append(mass + height)
        return jax.nn.logsumexp(jnp.stack(jnp.broadcast_arrays(*masses)), axis=0)
