"""The exponential of two linear pieces that meet at a kink k, under a kernel, per coordinate.

    ∫_{−∞}^{k} e^{ below·(u−k) } dK(u) + ∫_{k}^{∞} e^{ above·(u−k) } dK(u)

A newsvendor's product has its kink at the order, a mean–CVaR portfolio's return at minus its value
at risk; slopes are per temperature. At the kink both pieces are 1, so it takes from one integral
what it gives to the other, and the logarithm's derivative in k needs nothing that was not computed:

    −( below·w + above·(1 − w) ),      w the share of the first integral.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
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
        """Log of the two integrals' sum.

        Of a single coordinate all points are one axis: loops over one of length 1 take three times
        as long.
        """
        shape = jnp.broadcast_shapes(*(jnp.shape(part) for part in self[1:]))
        rest = (self.kernel, self.below, self.above)
        lined_up = all(jnp.size(leaf) == 1 for leaf in jax.tree_util.tree_leaves(rest))
        if shape[-1:] != (1,) or not lined_up:
            return _log_mass(*self)
        centre, kink = (
            jnp.broadcast_to(part, shape).reshape(math.prod(shape))
            for part in (self.centre, self.kink)
        )
        return _log_mass(self.kernel, centre, kink, self.below, self.above).reshape(shape)

    def quantile(self, log_share: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """The points below which this share of the mass lies, by bisection."""
        kernel, centre, kink = self.kernel, self.centre, self.kink

        def log_mass_below(u: Array) -> Array:
            low = kernel.log_tilted_mass(self.below, kink, None, jnp.minimum(u, kink), centre)
            rest = kernel.log_tilted_mass(self.above, kink, kink, jnp.maximum(u, kink), centre)
            return log_add(low, jnp.where(u > kink, rest, NEVER))

        ends = kernel.tilted_ends(jnp.maximum(-self.below, self.above), centre)
        return kernel.settled(invert(log_mass_below, self.log_mass() + log_share, ends))


@jax.custom_jvp
def _log_mass(kernel: Any, centre: Any, kink: Any, below: Any, above: Any) -> Array:
    return log_add(*_pieces(kernel, centre, kink, below, above))


@partial(_log_mass.defjvp, symbolic_zeros=True)
def _log_mass_derivative(
    primals: tuple[Any, ...], tangents: tuple[Any, ...]
) -> tuple[Array, Array]:
    """In the kink as above; in all else, where anything else changes, as it comes."""
    kernel, centre, kink, below, above = primals
    first, second = _pieces(*primals)
    highest = jnp.maximum(first, second)
    below_kink, above_kink = jnp.exp(first - highest), jnp.exp(second - highest)
    both = below_kink + above_kink
    value = highest + jnp.log(both)
    slope = -(below * below_kink + above * above_kink) / both
    change = jnp.zeros_like(value)
    if not isinstance(tangents[2], SymbolicZero):
        change = slope * tangents[2]
    leaves, tree = jax.tree_util.tree_flatten((kernel, centre, below, above))
    changes = jax.tree_util.tree_leaves(tuple(tangents[i] for i in (0, 1, 3, 4)))
    moving = [not isinstance(leaf, SymbolicZero) for leaf in changes]
    if any(moving):  # what stands still is no variable: an infinite end has no derivative

        def at_kink(*some: Any) -> Array:
            moved = iter(some)
            filled = [
                next(moved) if moves else leaf for leaf, moves in zip(leaves, moving, strict=True)
            ]
            kernel, centre, below, above = jax.tree_util.tree_unflatten(tree, filled)
            return log_add(*_pieces(kernel, centre, kink, below, above))

        variables = [leaf for leaf, moves in zip(leaves, moving, strict=True) if moves]
        towards = [change for change, moves in zip(changes, moving, strict=True) if moves]
        change = change + jax.jvp(at_kink, tuple(variables), tuple(towards))[1]
    return value, change


def _pieces(kernel: Any, centre: Any, kink: Any, below: Any, above: Any) -> tuple[Array, Array]:
    """Logarithms of the integrals below the kink and above it."""
    return (
        kernel.log_tilted_mass(below, kink, None, kink, centre),
        kernel.log_tilted_mass(above, kink, kink, None, centre),
    )
