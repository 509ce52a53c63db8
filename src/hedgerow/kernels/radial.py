"""The kernel of a norm's power: points in a ball, their radius and direction independent.

    k(u) = exp( −‖(u − c)/s‖_q^p / ε ) / ( ε^{d/p} Γ(1 + d/p) · |B_q| · Π s ),    q = 1, 2, ∞

‖(u − c)/s‖_q^p/ε follows Gamma(d/p), the direction the norm's cone measure. Both come of one point
in the unit cube: independent coordinates (Laplace, normal, uniform) whose norm ρ has a known law
are turned into a direction and, ρ being independent of it, into the radius with the same rank. That
is exact, and smooth enough for Sobol points. On a bounded support neither the normaliser nor the
law of radius and direction is known, and only the cost is offered.
"""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtri
from jaxtyping import Array, Float
from scipy import special

from hedgerow.kernels.base import AbstractKernel, Points, arrays
from hedgerow.kernels.kernel import laplace_quantile, moved_in_scales, steepest_open
from hedgerow.kernels.lookup_tables import Table
from hedgerow.kernels.norms import dual_norm, least_dual_norm, norm, shrink

RAREST = 1e-30
"""Tail of the radius that points are drawn from."""


class RadialKernel(AbstractKernel):
    """The kernel of one point, a norm q = 1, 2 or ∞ and an order p ≥ 1 (``of`` makes its table)."""

    order: Float[Array, ""]
    epsilon: Float[Array, ""]
    scale: Float[Array, " d"]
    low: Float[Array, " d"] | None
    high: Float[Array, " d"] | None
    norm: float = eqx.field(static=True)
    free: Float[Array, ""]
    """d, how many coordinates are not pinned."""
    log_whole: Float[Array, ""]
    """Log of |B_q|·Γ(1 + d/p)."""
    radius: Table
    """From what coordinates say of the rank to the radius over ε^{1/p}."""

    @classmethod
    def of(
        cls,
        q: float,
        order: float,
        epsilon: Any,
        scale: Any,
        low: Any = None,
        high: Any = None,
    ) -> RadialKernel:
        """Make one from numbers."""
        d = max(int(np.sum(np.asarray(scale) > 0)), 1)
        inverse = 0.0 if q == math.inf else 1 / q
        ball = d * (math.log(2) + special.gammaln(1 + inverse)) - special.gammaln(1 + d * inverse)
        numbers: dict[str, Any] = {
            "order": np.float64(order),
            "free": np.float64(d),
            "log_whole": np.float64(ball + special.gammaln(1 + d / order)),
            "radius": _radii(float(q), float(order), d),
        }
        return cls(norm=float(q), epsilon=epsilon, scale=scale, low=low, high=high, **numbers)

    @property
    def unit(self) -> Float[Array, " d"]:
        """s·ε^{1/p}."""
        return self.scale * self.epsilon ** (1 / self.order)

    @property
    def width(self) -> Float[Array, " d"]:
        """Of a coordinate, roughly: the typical radius over d^{1/q}."""
        inverse = 0.0 if self.norm == math.inf else 1 / self.norm
        typical = (self.free / self.order) ** (1 / self.order)
        return self.unit * typical / self.free**inverse

    @property
    def reach(self) -> Float[Array, " d"]:
        """The radius that is hardly ever exceeded."""
        return self.unit * self.radius.values[-1]

    def cost(self, centre: Points, point: Points) -> Float[Array, "*b"]:
        """‖(point − centre)/s‖_q^p; a pinned coordinate costs nothing."""
        xp = arrays(centre, point, self.scale, self.order)
        scale = xp.where(self.scale > 0, self.scale, xp.inf)
        return norm((point - centre) / scale, self.norm) ** self.order

    def log_normaliser(self, centre: Float[Array, "*b d"]) -> Float[Array, "*b"]:
        """Log of |B_q|·Γ(1 + d/p)·ε^{d/p}·Π s."""
        self._whole()
        some = self.scale > 0
        sizes = jnp.sum(jnp.where(some, jnp.log(jnp.where(some, self.scale, 1.0)), 0.0))
        radius = self.free / self.order * jnp.log(self.epsilon)
        found = jnp.where(jnp.any(some), self.log_whole + radius + sizes, 0.0)
        return jnp.broadcast_to(found, centre.shape[:-1]).astype(centre.dtype)

    def from_uniform(self, centre: Points, uniform: Points) -> Float[Array, "*b d"]:
        """A direction, and the radius that has the same rank as the coordinates' norm."""
        self._whole()
        if self.norm == 1:
            v = laplace_quantile(uniform)
        elif self.norm == 2:
            limits = jnp.finfo(uniform.dtype)
            v = ndtri(jnp.clip(uniform, limits.tiny, 1 - limits.epsneg)) / math.sqrt(2)
        else:
            v = 2 * uniform - 1
        v = jnp.where(self.scale > 0, v, 0.0)
        length = norm(v, self.norm)[..., None]
        rank = length
        if self.norm == math.inf:
            above = -jnp.log1p(-(jnp.minimum(length, 1 - jnp.finfo(v.dtype).epsneg) ** self.free))
            rank = above ** (1 / self.free)
        direction = v / jnp.where(length > 0, length, 1.0)
        return centre + direction * self.radius(rank) * self.unit

    def _whole(self) -> None:
        if self.low is not None:
            raise ValueError(
                f"norm={self.norm:g} over several columns has no exact kernel on a bounded "
                "support: leave norm out (each column then counts by itself), drop the bounds, or "
                "sum over discrete reference measures."
            )

    def proximal(
        self, home: Array, point: Array, uphill: Array, size: Array, penalty: Array
    ) -> Array:
        """Shrink towards home as the norm asks, then cut to the support."""
        moved = moved_in_scales(self, home, point, size * uphill)
        shrunk = shrink(moved, size * penalty, self.order, self.norm)
        low, high = self.bounds(home)
        return home + jnp.clip(shrunk * self.scale, low, high)

    def outweighing(self, falling: Any, rising: Any, degree: int = 1) -> Any:
        """For p = degree, the dual norm of slopes in scales to that power."""
        steepest = steepest_open(self, falling, rising)
        xp = arrays(steepest, self.order)
        same = dual_norm(steepest, self.norm) ** degree
        below = xp.where(xp.any(steepest > 0, axis=-1), xp.inf, 0.0)
        return xp.where(self.order > degree, 0.0, xp.where(self.order == degree, same, below))

    def least_slope(self, scales: np.ndarray) -> float:
        """That of the dual norm."""
        return least_dual_norm(scales, self.norm)


def _radii(q: float, p: float, d: int) -> Table:
    """The radius, over ε^{1/p}, by a rank of the coordinates' norm that is smooth in it.

    That is the norm ρ itself for q = 1, 2, where ρ^q follows Gamma(d/q); for q = ∞, where ρ^d is
    uniform, (−log(1 − ρ^d))^{1/d}. Both are proportional to the radius near 0.
    """
    shape = d / p
    at_zero = special.gammaln(1 + shape)
    if q == math.inf:
        end = -math.log(RAREST)

        def tails(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return -np.expm1(-(x**d)), np.exp(-(x**d))

        def log_density(x: np.ndarray) -> np.ndarray:
            return -(x**d) + math.log(d) + (d - 1) * np.log(x)

        end, near = end ** (1 / d), at_zero / d
    else:
        end = special.gammainccinv(d / q, RAREST) ** (1 / q)

        def tails(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return special.gammainc(d / q, x**q), special.gammaincc(d / q, x**q)

        def log_density(x: np.ndarray) -> np.ndarray:
            return -(x**q) + math.log(q) + (d - 1) * np.log(x) - special.gammaln(d / q)

        near = (at_zero - special.gammaln(1 + d / q)) / d

    def radius(x: np.ndarray) -> np.ndarray:
        below, above = tails(x)
        found = np.where(
            below < 0.5, special.gammaincinv(shape, below), special.gammainccinv(shape, above)
        ) ** (1 / p)
        return np.where(below < 1e-280, x * math.exp(near), found)

    def slope(x: np.ndarray, r: np.ndarray) -> np.ndarray:
        some = tails(x)[0] >= 1e-280
        x, r = np.where(some, x, 1.0), np.where(some, r, 1.0)
        log_own = -(r**p) + math.log(p) + (d - 1) * np.log(r) - special.gammaln(shape)
        return np.where(some, np.exp(log_density(x) - log_own), math.exp(near))

    return Table.of(radius, slope, end)
