"""Exponentials under Gaussian and Laplace densities, cut to an interval, in closed form.

    log ∫_low^high e^{slope(u − anchor)} k_width(u) du

for a density k around 0. Nothing overflows and no two large terms cancel, whatever the slope.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax.scipy.special import erf, erfc
from jaxtyping import Array

NEVER = -1e30
"""Log of an empty set's mass: finite, so that gradients of discarded terms are 0 and not NaN."""
FAR = {4: 10.0, 8: 25.0}
"""Standard deviations beyond which a Gaussian tail is a series, by the bytes of a float."""


def log_tilted_tail(slope: Array, anchor: Array, end: Array, width: Array) -> Array:
    """Log ∫_−∞^end e^{slope(u − anchor)} φ_width(u) du = c + log Φ(p), the whole lower tail.

    With p = end/width − slope·width and c = (slope·width)²/2 − slope·anchor; where p < 0 the
    exponents are combined as in ``log_tilted_gaussian``.
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


def log_tilted_gaussian(
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


def log_tilted_laplace(slope: Array, anchor: Array, low: Array, high: Array, width: Array) -> Array:
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
