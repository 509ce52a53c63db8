"""The kernel of orders 1 and 2: a product of Laplace or of Gaussian densities.

Around a centre c the kernel of order p, regularisation ε and scales s has the density

    k(u) ∝ exp( −Σ_j |(u_j − c_j)/s_j|^p / ε )    on the support  low ≤ u ≤ high,

a product of Laplace (p = 1, width ε·s) or Gaussian (p = 2, variance ε·s²/2) densities, truncated
when the support is bounded (paper: QW-distri). A scale of 0 pins a coordinate to its centre.

Expectations under a kernel are taken over nodes (``nodes.py``). For losses that are piecewise
linear in one outcome none are needed: ``log_tilted_mass`` is

    log ∫_lo^hi exp( slope·(u − anchor) ) dK(u)    per coordinate, in closed form.
"""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow.kernels.base import (
    AbstractKernel,
    Points,
    Weighted,
    arrays,
    in_scales,
    invert,
)
from hedgerow.kernels.norms import dual_norm, least_dual_norm
from hedgerow.kernels.tilted import (
    NEVER,
    log_add,
    log_tilted_gaussian,
    log_tilted_laplace,
    log_tilted_tail,
)

__all__ = ["NEVER", "Kernel", "Points", "invert", "log_add"]


class Kernel(AbstractKernel):
    """The kernel of one point: order 1 or 2, epsilon, scales per coordinate, and support.

    ``low`` and ``high`` are both None on an unbounded support; otherwise arrays (infinities
    allowed), and every centre must lie between them.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import hedgerow as hr
    >>> kernel = hr.Kernel(order=2, epsilon=jnp.array(0.5), scale=jnp.array([2.0]))
    >>> float(kernel.width[0])  # s·√(ε/2)
    1.0
    """

    order: int = eqx.field(static=True)
    epsilon: Float[Array, ""]
    scale: Float[Array, " d"]
    low: Float[Array, " d"] | None = None
    high: Float[Array, " d"] | None = None

    @property
    def width(self) -> Float[Array, " d"]:
        """Laplace scale ε·s (p = 1) or Gaussian standard deviation s·√(ε/2) (p = 2)."""
        if self.order == 1:
            return self.epsilon * self.scale
        return self.scale * jnp.sqrt(self.epsilon / 2)

    @property
    def reach(self) -> Float[Array, " d"]:
        """Forty widths (p = 1), twelve standard deviations (p = 2)."""
        return (40.0 if self.order == 1 else 12.0) * self.width

    @property
    def gaussian(self) -> bool:
        """Whether it is a whole Gaussian, not a Laplace density and not truncated."""
        return self.order == 2 and self.low is None

    def by_coordinate(self) -> Kernel:
        """Itself."""
        return self

    def squared(self) -> Kernel:
        """Itself."""
        return self

    def cost(self, centre: Points, point: Points) -> Float[Array, "*b"]:
        """‖(point − centre)/s‖_p^p; a pinned coordinate costs nothing."""
        xp = arrays(centre, point, self.scale)
        scale = xp.where(self.scale > 0, self.scale, xp.inf)
        return xp.sum(xp.abs((point - centre) / scale) ** self.order, axis=-1)

    def log_normaliser(self, centre: Float[Array, "*b d"]) -> Float[Array, "*b"]:
        """Log of ∫ exp(−‖(u − c)/s‖_p^p / ε) du over the support; pinned coordinates count 0."""
        width = jnp.where(self.scale > 0, self.width, 1.0)
        constant = (
            jnp.log(2 * width) if self.order == 1 else jnp.log(math.sqrt(2 * math.pi) * width)
        )
        per_coordinate = jnp.broadcast_to(constant, centre.shape) + self.log_mass(centre)
        return jnp.sum(jnp.where(self.scale > 0, per_coordinate, 0.0), axis=-1)

    def log_mass(self, centre: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Log-probability that the untruncated kernel puts on the support, per coordinate."""
        if self.low is None:
            return jnp.zeros_like(centre)
        low, high = self.bounds(centre)
        return self._log_tilted(jnp.zeros_like(centre), jnp.zeros_like(centre), low, high)

    def log_tilted_mass(
        self, slope: Points, anchor: Points, low: Points | None, high: Points | None, centre: Points
    ) -> Float[Array, "*b d"]:
        """Log ∫_low^high exp(slope·(u − anchor)) dK(u) per coordinate, cut to the support.

        ``anchor``, ``low`` and ``high`` are absolute positions; None is an infinite end. Evaluated
        so that nothing overflows and no two large terms cancel, whatever the slope.
        """
        if self.gaussian:
            if low is None and high is not None:
                return log_tilted_tail(slope, anchor - centre, high - centre, self.width)
            if low is not None and high is None:
                return log_tilted_tail(-slope, centre - anchor, centre - low, self.width)
        floor, ceiling = self.bounds(centre)
        # where, not maximum: an end that meets the support's end must not get half its gradient
        low = floor if low is None else jnp.where(low - centre > floor, low - centre, floor)
        high = (
            ceiling if high is None else jnp.where(high - centre < ceiling, high - centre, ceiling)
        )
        log_mass = self._log_tilted(slope, anchor - centre, low, high)
        return jnp.where(high > low, log_mass - self.log_mass(centre), NEVER)

    def _log_tilted(self, slope: Array, anchor: Array, low: Array, high: Array) -> Array:
        formula = log_tilted_laplace if self.order == 1 else log_tilted_gaussian
        return formula(*jnp.broadcast_arrays(slope, anchor, low, high, self.width))

    def from_uniform(self, centre: Points, uniform: Points) -> Float[Array, "*b d"]:
        """Map uniforms on (0, 1) to kernel-distributed points (inverse distribution function)."""
        low, high = self.bounds(centre)
        if self.order == 1:
            below, above = _laplace_cdf(low / self.width), _laplace_cdf(high / self.width)
            offset = laplace_quantile(below + uniform * (above - below))
        else:
            below, above = ndtr(low / self.width), ndtr(high / self.width)
            level = below + uniform * (above - below)
            limits = jnp.finfo(level.dtype)  # a level that rounds to 0 or 1 must not give infinity
            offset = ndtri(jnp.clip(level, limits.tiny, 1 - limits.epsneg))
        offset = jnp.clip(jnp.where(self.scale > 0, offset, 0.0) * self.width, low, high)
        return centre + offset

    def draw(self, key: PRNGKeyArray, centre: Float[Array, "*b d"], n: int) -> Weighted:
        """Independent nodes of equal weight."""
        if self.low is not None:
            return super().draw(key, centre, n)
        shape = (*centre.shape[:-1], n, centre.shape[-1])
        draw = jax.random.laplace if self.order == 1 else jax.random.normal
        nodes = centre[..., None, :] + self.width * draw(key, shape, centre.dtype)
        return nodes, jnp.full(shape[:-1], -math.log(n), centre.dtype)

    def tilted_ends(self, steepest: Points, centre: Points) -> tuple[Array, Array]:
        """Between which the kernel's mass lies when tilted by a slope of at most this size.

        The tilt moves the bulk by slope·width² (p = 2) or stretches it by 1/(1 − slope·width).
        """
        if self.order == 2:
            reach = self.width * (steepest * self.width + 12.0)
        else:
            reach = 40.0 * self.width / jnp.maximum(1 - steepest * self.width, 1e-6)
        low, high = self.bounds(centre)
        return centre + jnp.maximum(low, -reach), centre + jnp.minimum(high, reach)

    def gauss(self, n: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Hermite's (p = 2) or a two-sided Laguerre's; none where the support is cut."""
        if self.low is not None:
            return None
        if self.order == 2:
            points, weights = np.polynomial.hermite.hermgauss(n)
            points, weights = points * math.sqrt(2), weights / math.sqrt(math.pi)
        else:
            half, half_weights = np.polynomial.laguerre.laggauss(n)
            points = np.concatenate([-half[::-1], half])
            weights = np.concatenate([half_weights[::-1], half_weights]) / 2
        return points, np.log(np.maximum(weights, np.finfo(np.float64).tiny))

    def exponent(self, length: Array) -> Array:
        """−|length/s|^p/ε along each coordinate."""
        distance = length / jnp.where(self.width > 0, self.width, 1.0)
        return -distance if self.order == 1 else -(distance**2) / 2

    def best_move(self, slope: Any, centre: Array, penalty: Any) -> Array:
        """The move that gains most per coordinate: slope·move − penalty·|move/s|^p at its largest.

        For p = 2 that is slope·s²/(2λ), cut to the support; for p = 1 none or, if the slope exceeds
        λ/s, one to an end of the support.
        """
        low, high = self.bounds(centre)
        free = self.scale > 0
        if self.order == 2:
            move = slope * (self.scale**2 / (2 * penalty))
            return jnp.clip(
                jnp.broadcast_to(move, jnp.broadcast_shapes(move.shape, low.shape)), low, high
            )
        price = jnp.where(free, penalty / jnp.where(free, self.scale, 1.0), 0.0)
        end = jnp.where(slope > 0, high, low)
        end = jnp.where(free & jnp.isfinite(end), end, 0.0)
        return jnp.where(slope * end - price * jnp.abs(end) > 0, end, 0.0)

    def proximal(
        self, home: Array, point: Array, uphill: Array, size: Array, penalty: Array
    ) -> Array:
        """Shrink by a factor (p = 2) or by a length (p = 1), then cut to the support."""
        scale = self.scale
        moved = (point - home + size * scale**2 * uphill) / jnp.where(scale > 0, scale, 1.0)
        if self.order == 2:
            shrunk = moved / (1 + 2 * size * penalty)
        else:
            shrunk = jnp.sign(moved) * jnp.maximum(jnp.abs(moved) - size * penalty, 0.0)
        low, high = self.bounds(home)
        return home + jnp.clip(shrunk * scale, low, high)

    def outweighing(self, falling: Any, rising: Any, degree: int = 1) -> Any:
        """For p = degree, the ℓ_∞ norm (p = 1) of slopes in scales, or the squared ℓ_2 (p = 2)."""
        steepest = steepest_open(self, falling, rising)
        if self.order == degree:
            return (steepest**2).sum(axis=-1) if degree == 2 else dual_norm(steepest, 1.0)
        xp = arrays(steepest)
        nothing = xp.zeros_like(steepest[..., 0])
        if self.order > degree:
            return nothing
        return xp.where(xp.any(steepest > 0, axis=-1), xp.inf, nothing)

    def least_slope(self, scales: np.ndarray) -> float:
        """1/Σ s⁻¹ (p = 1), 1/√Σ s⁻² (p = 2)."""
        return least_dual_norm(scales, float(self.order))


def steepest_open(kernel: AbstractKernel, falling: Any, rising: Any) -> Any:
    """The larger of both slopes, in scales, in the directions that the support leaves open."""
    xp = arrays(kernel.scale, falling, rising)
    down, up = kernel.open_scales
    sides = [s * xp.where(s > 0, g, 0.0) for s, g in ((down, falling), (up, rising))]
    return xp.maximum(*sides)


def moved_in_scales(kernel: AbstractKernel, home: Array, point: Array, step: Array) -> Array:
    """Where a step uphill leads from home, in units of the scales."""
    return in_scales(kernel.scale, point - home + kernel.scale**2 * step)


def _laplace_cdf(x: Array) -> Array:
    return jnp.where(x < 0, jnp.exp(jnp.minimum(x, 0.0)) / 2, 1 - jnp.exp(-jnp.maximum(x, 0.0)) / 2)


def laplace_quantile(u: Array) -> Array:
    """Of the density exp(−|x|)/2."""
    return jnp.where(
        u < 0.5,
        jnp.log(jnp.maximum(2 * u, jnp.finfo(u.dtype).tiny)),
        -jnp.log(jnp.maximum(2 * (1 - u), jnp.finfo(u.dtype).epsneg)),
    )
