"""The kernel of any order p > 1: a product of generalised normal densities.

    k(u) = exp( −Σ_j |(u_j − c_j)/s_j|^p / ε ) / Π_j 2 s_j ε^{1/p} Γ(1 + 1/p)

on an unbounded support; on a bounded one it is truncated. |u/s|^p/ε follows Gamma(1/p), by which
points are drawn: the inverse distribution function is a ``Table`` of the order's own. The order is
a number like any other, so that p = 1.5 and p = 3 share their programs. Integrals of exponentials
have no closed form and are found by quadrature (``tilted_power``).
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammainc, gammaln
from jaxtyping import Array, Float
from scipy import special

from hedgerow.kernels.base import AbstractKernel, Points, arrays
from hedgerow.kernels.kernel import moved_in_scales, steepest_open
from hedgerow.kernels.lookup_tables import Table
from hedgerow.kernels.norms import power_root
from hedgerow.kernels.tilted import NEVER
from hedgerow.kernels.tilted_power import NODES, farthest, log_tilted_power, peak

FAR = 72.0
"""|u/s|^p/ε beyond which there is no mass: twelve standard deviations of a Gaussian."""
RAREST = 45.0
"""−log of the rarest tail that points are drawn from."""


class PowerKernel(AbstractKernel):
    """The kernel of one point and any order > 1 (``of`` makes its table)."""

    order: Float[Array, ""]
    epsilon: Float[Array, ""]
    scale: Float[Array, " d"]
    low: Float[Array, " d"] | None
    high: Float[Array, " d"] | None
    quantile: Table
    """Of |u/s|/ε^{1/p}, at −log(1 − share)."""

    @classmethod
    def of(
        cls, order: float, epsilon: Any, scale: Any, low: Any = None, high: Any = None
    ) -> PowerKernel:
        """Make one from numbers."""
        shape = 1 / order

        def quantile(e: np.ndarray) -> np.ndarray:
            below = special.gammaincinv(shape, -np.expm1(-e))
            return np.where(e < 1, below, special.gammainccinv(shape, np.exp(-e))) ** shape

        def slope(e: np.ndarray, v: np.ndarray) -> np.ndarray:
            return np.exp(-e + v**order) * math.gamma(1 + shape)

        number: Any = np.float64(order)
        return cls(number, epsilon, scale, low, high, Table.of(quantile, slope, RAREST))

    @property
    def unit(self) -> Float[Array, " d"]:
        """s·ε^{1/p}: lengths in it have the density ∝ exp(−|v|^p)."""
        return self.scale * self.epsilon ** (1 / self.order)

    @property
    def width(self) -> Float[Array, " d"]:
        """The standard deviation without ends: √(Γ(3/p)/Γ(1/p)) units."""
        log_square = gammaln(3 / self.order) - gammaln(1 / self.order)
        return self.unit * jnp.exp(log_square / 2)

    @property
    def reach(self) -> Float[Array, " d"]:
        """Where |u/s|^p/ε is 72."""
        return self.unit * FAR ** (1 / self.order)

    @property
    def terms(self) -> int:
        """Nodes on three stretches."""
        return 3 * NODES[8]

    def by_coordinate(self) -> PowerKernel:
        """Itself."""
        return self

    def cost(self, centre: Points, point: Points) -> Float[Array, "*b"]:
        """‖(point − centre)/s‖_p^p; a pinned coordinate costs nothing."""
        xp = arrays(centre, point, self.scale, self.order)
        scale = xp.where(self.scale > 0, self.scale, xp.inf)
        return xp.sum(xp.abs((point - centre) / scale) ** self.order, axis=-1)

    def log_normaliser(self, centre: Float[Array, "*b d"]) -> Float[Array, "*b"]:
        """Log of Π 2 s ε^{1/p} Γ(1 + 1/p), and of the mass between the ends."""
        unit = jnp.where(self.scale > 0, self.unit, 1.0)
        each = jnp.log(unit) + self._log_whole + self.log_mass(centre)
        return jnp.sum(jnp.where(self.scale > 0, each, 0.0), axis=-1)

    @property
    def _log_whole(self) -> Array:
        """Log ∫ exp(−|v|^p) dv."""
        return math.log(2.0) + gammaln(1 + 1 / self.order)

    def log_mass(self, centre: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Log-probability that the untruncated kernel puts on the support, per coordinate."""
        if self.low is None:
            return jnp.zeros_like(centre)
        low, high = self._in_units(*self.bounds(centre))
        # the centre lies between the ends, so nothing cancels
        return jnp.log((self._half(jnp.abs(low)) + self._half(jnp.abs(high))) / 2)

    def _in_units(self, *offsets: Array) -> tuple[Array, ...]:
        """Offsets over the unit; infinite ones stay, without a derivative of 0·∞."""
        unit = jnp.where(self.scale > 0, self.unit, 1.0)
        near = [(self.scale > 0) & jnp.isfinite(offset) for offset in offsets]
        return tuple(
            jnp.where(own, jnp.where(own, offset, 0.0) / unit, offset)
            for own, offset in zip(near, offsets, strict=True)
        )

    def _half(self, v: Array) -> Array:
        """The share of |v| below: of Gamma(1/p), at v^p."""
        far = jnp.isinf(v)
        return jnp.where(far, 1.0, gammainc(1 / self.order, jnp.where(far, 1.0, v) ** self.order))

    def log_tilted_mass(
        self, slope: Points, anchor: Points, low: Points | None, high: Points | None, centre: Points
    ) -> Float[Array, "*b d"]:
        """Log ∫_low^high exp(slope·(u − anchor)) dK(u) per coordinate, cut to the support."""
        floor, ceiling = self.bounds(centre)
        low = floor if low is None else jnp.where(low - centre > floor, low - centre, floor)
        high = (
            ceiling if high is None else jnp.where(high - centre < ceiling, high - centre, ceiling)
        )
        low, high = self._in_units(*jnp.broadcast_arrays(low, high, slope)[:2])
        found = log_tilted_power(slope * self.unit, low, high, self.order)
        found = found - self._log_whole + slope * (centre - anchor) - self.log_mass(centre)
        return jnp.where(high > low, found, NEVER)

    def tilted_ends(self, steepest: Points, centre: Points) -> tuple[Array, Array]:
        """Between which the kernel's mass lies when tilted by a slope of at most this size."""
        top = peak(steepest * self.unit, self.order)
        reach = self.unit * (top + farthest(top, self.order, FAR))
        low, high = self.bounds(centre)
        return centre + jnp.maximum(low, -reach), centre + jnp.minimum(high, reach)

    def from_uniform(self, centre: Points, uniform: Points) -> Float[Array, "*b d"]:
        """By the inverse distribution function."""
        low, high = self.bounds(centre)
        level = uniform
        if self.low is not None:
            below, above = (self._level(end) for end in self._in_units(low, high))
            level = below + uniform * (above - below)
        tail = 2 * jnp.minimum(level, 1 - level)
        distance = self.quantile(-jnp.log(jnp.maximum(tail, jnp.finfo(level.dtype).tiny)))
        offset = jnp.sign(level - 0.5) * distance * self.unit
        return centre + jnp.clip(jnp.where(self.scale > 0, offset, 0.0), low, high)

    def _level(self, v: Array) -> Array:
        return (1 + jnp.sign(v) * self._half(jnp.abs(v))) / 2

    def exponent(self, length: Array) -> Array:
        """−|length/s|^p/ε along each coordinate."""
        return -(
            jnp.where(self.scale > 0, length / jnp.where(self.scale > 0, self.unit, 1.0), 0.0)
            ** (self.order)
        )

    def best_move(self, slope: Any, centre: Array, penalty: Any) -> Array:
        """sign(slope)·s·(|slope|·s/(λp))^{1/(p−1)}, cut to the support."""
        low, high = self.bounds(centre)
        move = self.scale * peak(slope * self.scale / penalty, self.order)
        shape = jnp.broadcast_shapes(move.shape, low.shape)  # several slopes may be asked about
        return jnp.clip(jnp.broadcast_to(move, shape), low, high)

    def proximal(
        self, home: Array, point: Array, uphill: Array, size: Array, penalty: Array
    ) -> Array:
        """Shrink every coordinate to where v + size·penalty·p·v^{p−1} is its length."""
        moved = moved_in_scales(self, home, point, size * uphill)
        shrunk = jnp.sign(moved) * power_root(jnp.abs(moved), size * penalty, self.order)
        low, high = self.bounds(home)
        return home + jnp.clip(shrunk * self.scale, low, high)

    def outweighing(self, falling: Any, rising: Any, degree: int = 1) -> Any:
        """0 for p > degree, infinite below."""
        steepest = steepest_open(self, falling, rising)
        xp = arrays(steepest, self.order)
        some = xp.any(steepest > 0, axis=-1)
        return xp.where(some & (self.order <= degree), xp.inf, 0.0)

    def least_slope(self, scales: np.ndarray) -> float:
        """Not asked for: no order between is a whole degree."""
        return 0.0
