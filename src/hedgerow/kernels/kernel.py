"""Kernels: where the adversary may move a nominal point.

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
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf, erfc, ndtr, ndtri
from jaxtyping import Array, Float

HALVINGS = 60
"""Of an interval of about 50 widths: down to rounding in float64."""
NEVER = -1e30
"""Log of an empty set's mass: finite, so that gradients of discarded terms are 0 and not NaN."""
FAR = {4: 10.0, 8: 25.0}
"""Standard deviations beyond which a Gaussian tail is a series, by the bytes of a float."""
Points = Float[Array, "*#b d"]
"""Coordinates, or one number for each; leading axes broadcast against each other."""


class Kernel(eqx.Module):
    """The kernel of one point: order, epsilon, scales per coordinate, and support.

    ``low`` and ``high`` are both None on an unbounded support; otherwise arrays (infinities
    allowed), and every centre must lie between them.
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
    def gaussian(self) -> bool:
        """Whether it is a whole Gaussian, not a Laplace density and not truncated."""
        return self.order == 2 and self.low is None

    @property
    def open_scales(self) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
        """Scales of the coordinates that can fall without end, and of those that can rise; else 0.

        In the arrays' own precision, whether NumPy's or JAX's.
        """
        if self.low is None or self.high is None:
            return self.scale, self.scale
        return self.scale * (self.low == -math.inf), self.scale * (self.high == math.inf)

    def with_ends(self) -> Kernel:
        """The kernel with its ends written out, infinite ones too: one that may yet be cut."""
        if self.low is not None:
            return self
        end: Any = np.full(np.shape(self.scale), np.inf)
        return replace(self, low=-end, high=end)

    def above(self, low: Float[Array, "*b d"]) -> Kernel:
        """The kernel of a centre that may not fall below ``low``.

        Of several centres, if ``low`` has their leading axes: what only compares and adds up
        coordinates (bounds, masses, densities) then has them too.
        """
        if self.low is None:
            raise ValueError("Only a kernel with ends can be cut; ask for one (`with_ends`).")
        return replace(self, low=jnp.maximum(self.low, low))

    def bounds(self, centre: Float[Array, "*b d"]) -> tuple[Array, Array]:
        """The support relative to the centre."""
        if self.low is None or self.high is None:
            return jnp.full_like(centre, -jnp.inf), jnp.full_like(centre, jnp.inf)
        return self.low - centre, self.high - centre

    def log_normaliser(self, centre: Float[Array, "*b d"]) -> Float[Array, "*b"]:
        """Log of ∫ exp(−‖(u − c)/s‖_p^p / ε) du over the support; pinned coordinates count 0."""
        width = jnp.where(self.scale > 0, self.width, 1.0)
        constant = (
            jnp.log(2 * width) if self.order == 1 else jnp.log(math.sqrt(2 * math.pi) * width)
        )
        per_coordinate = jnp.broadcast_to(constant, centre.shape) + self.log_mass(centre)
        return jnp.sum(jnp.where(self.scale > 0, per_coordinate, 0.0), axis=-1)

    def log_density(self, centre: Points, point: Points) -> Float[Array, "*b"]:
        """Log-density at a point, over the coordinates not pinned; NEVER off the support."""
        normaliser = self.log_normaliser(centre)
        inside = jnp.ones(jnp.broadcast_shapes(centre.shape, point.shape)[:-1], bool)
        if self.low is not None and self.high is not None:
            inside = inside & jnp.all((point >= self.low) & (point <= self.high), axis=-1)
        return jnp.where(inside, -self.cost(centre, point) / self.epsilon - normaliser, NEVER)

    def cost(self, centre: Points, point: Points) -> Float[Array, "*b"]:
        """‖(point − centre)/s‖_p^p; a pinned coordinate costs nothing."""
        scale = jnp.where(self.scale > 0, self.scale, jnp.inf)
        return jnp.sum(jnp.abs((point - centre) / scale) ** self.order, axis=-1)

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
                return _log_tilted_tail(slope, anchor - centre, high - centre, self.width)
            if low is not None and high is None:
                return _log_tilted_tail(-slope, centre - anchor, centre - low, self.width)
        floor, ceiling = self.bounds(centre)
        # where, not maximum: an end that meets the support's end must not get half its gradient
        low = floor if low is None else jnp.where(low - centre > floor, low - centre, floor)
        high = (
            ceiling if high is None else jnp.where(high - centre < ceiling, high - centre, ceiling)
        )
        log_mass = self._log_tilted(slope, anchor - centre, low, high)
        return jnp.where(high > low, log_mass - self.log_mass(centre), NEVER)

    def _log_tilted(self, slope: Array, anchor: Array, low: Array, high: Array) -> Array:
        formula = _log_tilted_laplace if self.order == 1 else _log_tilted_gaussian
        return formula(*jnp.broadcast_arrays(slope, anchor, low, high, self.width))

    def from_uniform(self, centre: Points, uniform: Points) -> Float[Array, "*b d"]:
        """Map uniforms on (0, 1) to kernel-distributed points (inverse distribution function)."""
        low, high = self.bounds(centre)
        if self.order == 1:
            below, above = _laplace_cdf(low / self.width), _laplace_cdf(high / self.width)
            offset = _laplace_quantile(below + uniform * (above - below))
        else:
            below, above = ndtr(low / self.width), ndtr(high / self.width)
            level = below + uniform * (above - below)
            limits = jnp.finfo(level.dtype)  # a level that rounds to 0 or 1 must not give infinity
            offset = ndtri(jnp.clip(level, limits.tiny, 1 - limits.epsneg))
        offset = jnp.clip(jnp.where(self.scale > 0, offset, 0.0) * self.width, low, high)
        return centre + offset

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


def invert(
    log_mass_below: Callable[[Array], Array], log_level: Array, ends: tuple[Array, Array]
) -> Array:
    """Find the points below which there is so much mass, by bisection between the ends."""

    def halve(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        left = log_mass_below(middle) < log_level
        return jnp.where(left, middle, low), jnp.where(left, high, middle)

    low, high = (jnp.broadcast_to(end, log_level.shape) for end in ends)
    low, high = jax.lax.fori_loop(0, HALVINGS, halve, (low, high))
    return (low + high) / 2


def _log_tilted_tail(slope: Array, anchor: Array, end: Array, width: Array) -> Array:
    """Log ∫_−∞^end e^{slope(u − anchor)} φ_width(u) du = c + log Φ(p), the whole lower tail.

    With p = end/width − slope·width and c = (slope·width)²/2 − slope·anchor; where p < 0 the
    exponents are combined as in ``_log_tilted_gaussian``.
    """
    p = end / width - slope * width
    tail = slope * (end - anchor) - (end / width) ** 2 / 2
    body = (slope * width) ** 2 / 2 - slope * anchor
    return jnp.where(p < 0, tail, body) + _log_lower_tail(p)


@jax.custom_jvp
def _log_lower_tail(p: Array) -> Array:
    """Log Φ(p), plus p²/2 where p < 0; one erfc serves both sides."""
    far = FAR[p.dtype.itemsize]
    beyond = erfc(jnp.minimum(jnp.abs(p), far) / math.sqrt(2)) / 2
    near = jnp.log(beyond) + jnp.minimum(p, 0.0) ** 2 / 2
    below = jnp.where(p > -far, near, _log_mills_series(jnp.minimum(p, -far)))
    return jnp.where(p < 0, below, jnp.log1p(-beyond))


@_log_lower_tail.defjvp
def _log_lower_tail_derivative(
    primals: tuple[Array], tangents: tuple[Array]
) -> tuple[Array, Array]:
    """φ(p)/Φ(p), plus p where p < 0; far below, by the series, where the two would cancel."""
    (p,), (dp,) = primals, tangents
    value = _log_lower_tail(p)
    exponent = -value - jnp.where(p < 0, 0.0, p**2 / 2) - math.log(2 * math.pi) / 2
    hazard = jnp.exp(exponent) + jnp.minimum(p, 0.0)
    far = FAR[p.dtype.itemsize]
    inverse = 1 / jnp.minimum(p, -far)
    square = inverse**2
    series = -inverse * (1 - square * (2 - square * (10 - 74 * square)))
    return value, jnp.where(p > -far, hazard, series) * dp


def _log_tilted_gaussian(
    slope: Array, anchor: Array, low: Array, high: Array, width: Array
) -> Array:
    """Log ∫_low^high e^{slope(u − anchor)} φ_width(u) du = c + log(Φ(p) − Φ(q)).

    With p = high/width − slope·width, q = low/width − slope·width, c = (slope·width)²/2 −
    slope·anchor. When both p and q have one sign, Φ decays like its density, and exponents are
    combined before they are evaluated: c − p²/2 = slope·(high − anchor) − high²/(2 width²).
    """
    # mirror so that the interval's nearer end is its upper one: p + q <= 0
    mirrored = high / width + low / width - 2 * slope * width > 0
    slope, anchor, low, high = (
        jnp.where(mirrored, -slope, slope),
        jnp.where(mirrored, -anchor, anchor),
        jnp.where(mirrored, -high, low),
        jnp.where(mirrored, -low, high),
    )
    top = high / width - slope * width
    bottom = low / width - slope * width
    both_below = top < 0

    # high may be inf only where top is not below 0; keep the unused branches finite for gradients
    end = jnp.where(both_below, high, 0.0)
    p = jnp.where(both_below, top, -1.0)
    has_bottom = jnp.isfinite(low) & (low < high)
    gap = jnp.where(both_below & has_bottom, high - low, width) / width
    thin = gap < (1e-2 if p.dtype == jnp.float32 else 3e-5)  # there Φ(p) − Φ(q) would cancel
    step = jnp.where(thin, 1.0, gap)
    q = p - step
    log_ratio = step * (p + q) / 2 + _log_mills(q) - _log_mills(p)
    thick = _log_mills(p) + jnp.where(has_bottom, jnp.log1p(-jnp.exp(log_ratio)), 0.0)
    log_share = jnp.where(thin, _log_ramp(-p, gap) - math.log(2 * math.pi) / 2, thick)
    tail = slope * (end - anchor) - (end / width) ** 2 / 2 + log_share

    root2 = math.sqrt(2.0)
    above = jnp.where(both_below, 1.0, jnp.minimum(top, 1e3))
    below = jnp.where(both_below, -1.0, jnp.maximum(bottom, -1e3))
    share = jnp.maximum((erf(above / root2) - erf(below / root2)) / 2, jnp.finfo(p.dtype).tiny)
    body = (slope * width) ** 2 / 2 - slope * anchor + jnp.log(share)
    return jnp.where(both_below, tail, body)


def _log_mills(x: Array) -> Array:
    """Log Φ(x) + x²/2 for x <= 0: the slowly varying part of the lower tail."""
    far = -FAR[x.dtype.itemsize]
    near = jnp.maximum(x, far)
    exact = jnp.log(erfc(-near / math.sqrt(2)) / 2) + near**2 / 2
    return jnp.where(x > far, exact, _log_mills_series(jnp.minimum(x, far)))


def _log_mills_series(x: Array) -> Array:
    """The same far below 0."""
    inverse = 1 / x**2
    series = 1 - inverse * (1 - inverse * (3 - inverse * (15 - inverse * (105 - inverse * 945))))
    return -jnp.log(-x) - math.log(2 * math.pi) / 2 + jnp.log(series)


def _log_tilted_laplace(
    slope: Array, anchor: Array, low: Array, high: Array, width: Array
) -> Array:
    """Log ∫_low^high e^{slope(u − anchor)} e^{−|u|/width}/(2 width) du, split at the centre 0."""
    left_end, right_end = jnp.where(high <= 0, high, 0.0), jnp.where(low >= 0, low, 0.0)
    left = _log_exponential_mass(slope, anchor, low, left_end, 1 / width)
    right = _log_exponential_mass(slope, anchor, right_end, high, -1 / width)
    return log_add(left, right) - jnp.log(2 * width)


def _log_exponential_mass(
    slope: Array, anchor: Array, low: Array, high: Array, growth: Array
) -> Array:
    """Log ∫_low^high e^{slope(u − anchor) + growth·u} du.

    With rate = slope + growth, the integral is the integrand at its larger end times
    (1 − e^{−|rate|·length})/|rate|. An infinite end must be the small one (admissible slopes:
    |slope| < 1/width).
    """
    rate = slope + growth
    empty = ~(high > low)
    peak = jnp.where(rate > 0, high, low)
    peak = jnp.where(empty | ~jnp.isfinite(peak), 0.0, peak)
    length = jnp.where(empty, 1.0, high - low)
    value = slope * (peak - anchor) + growth * peak + _log_ramp(jnp.abs(rate), length)
    return jnp.where(empty, NEVER, value)


@jax.custom_jvp
def log_add(a: Array, b: Array) -> Array:
    """log(e^a + e^b), with gradients σ(a − b) and σ(b − a).

    Those of ``jnp.logaddexp`` come from its rounded result: at 10⁸ in float32 they may sum to 2.
    """
    return jnp.logaddexp(a, b)


@log_add.defjvp
def _log_add_derivative(
    primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Array, Array]:
    (a, b), (da, db) = primals, tangents
    return log_add(a, b), jax.nn.sigmoid(a - b) * da + jax.nn.sigmoid(b - a) * db


def _log_ramp(rate: Array, length: Array) -> Array:
    """Log ∫_0^length e^{−rate·s} ds = log((1 − e^{−rate·length})/rate); length may be inf."""
    finite = jnp.isfinite(length)
    length = jnp.where(finite, length, 1.0)
    flat = finite & (rate * length < 1e-6)
    share = -jnp.expm1(-jnp.where(flat | ~finite, 1.0, rate * length))
    steep = jnp.where(finite, jnp.log(share), 0.0) - jnp.log(jnp.where(flat, 1.0, rate))
    return jnp.where(flat, jnp.log(length) - rate * length / 2, steep)


def _laplace_cdf(x: Array) -> Array:
    return jnp.where(x < 0, jnp.exp(jnp.minimum(x, 0.0)) / 2, 1 - jnp.exp(-jnp.maximum(x, 0.0)) / 2)


def _laplace_quantile(u: Array) -> Array:
    return jnp.where(
        u < 0.5,
        jnp.log(jnp.maximum(2 * u, jnp.finfo(u.dtype).tiny)),
        -jnp.log(jnp.maximum(2 * (1 - u), jnp.finfo(u.dtype).epsneg)),
    )
