"""Exponentials under a generalised normal density, by quadrature to order.

    log ∫_a^b e^{k·v − |v|^p} dv,    p > 1

The exponent is concave, so its mass lies between two places on either side of its peak, and these
are found first. What lies between is three stretches that end at 0 (where |v|^p has no higher
derivatives) and at the peak; each has Gauss–Legendre nodes that crowd towards its ends.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from hedgerow.kernels.tilted import NEVER

NODES = {4: 8, 8: 32}
"""Per stretch, by the bytes of a float."""
LOOKS = {4: 8, 8: 10}
"""Halvings, in logarithms, of where the mass ends."""
DEPTH = {4: 20.0, 8: 42.0}
"""Below the peak by so much in the exponent is nothing."""
NEAREST = 1e-7
"""Of the farthest place where mass may end: it is sought from there on."""
LARGEST = 80.0
"""Logarithm of the farthest peak, in float32's reach."""


def peak(k: Array, order: Any) -> Array:
    """Where k·v − |v|^p is highest: sign(k)·(|k|/p)^{1/(p−1)}."""
    some = jnp.abs(k) > 0
    log_size = jnp.log(jnp.where(some, jnp.abs(k), 1.0) / order) / (order - 1)
    return jnp.where(some, jnp.sign(k) * jnp.exp(jnp.minimum(log_size, LARGEST)), 0.0)


def farthest(at: Array, order: Any, depth: float) -> Array:
    """A distance from a peak at ``at`` beyond which the exponent is lower by ``depth``.

    |v + δ|^p less its tangent is at least δ^p for p ≥ 2, and p(p−1)/2·δ²·(v + δ)^{p−2} below.
    """
    at = jnp.abs(at)
    bend = order * (order - 1)
    near = jnp.sqrt(2 * depth * (2 * at) ** jnp.maximum(2 - order, 0.0) / bend)
    far = (depth * 2 ** (3 - order) / bend) ** (1 / order)
    return jnp.where(order >= 2, depth ** (1 / order), jnp.maximum(near, far))


def log_tilted_power(k: Array, low: Array, high: Array, order: Any) -> Array:
    """The logarithm of the integral; NEVER where high ≤ low."""
    k, low, high = jnp.broadcast_arrays(k, low, high)
    size = k.dtype.itemsize
    empty = ~(high > low)
    low, high = jnp.where(empty, -1.0, low), jnp.where(empty, 1.0, high)
    top = jnp.clip(jax.lax.stop_gradient(peak(k, order)), low, high)
    kink = jnp.clip(jnp.zeros_like(k), low, high)

    def exponent(v: Array) -> Array:
        return k * v - jnp.abs(v) ** order

    highest = jax.lax.stop_gradient(exponent(top))
    first, last = jnp.minimum(top, kink), jnp.maximum(top, kink)
    inner = jnp.where(top > kink, -1.0, 1.0)
    stretches = [
        (first, jnp.full_like(k, -1.0), first - low),
        (top, inner, last - first),
        (last, jnp.ones_like(k), high - last),
    ]
    points, weights = np.polynomial.legendre.leggauss(NODES[size])
    t = (points + 1) / 2
    share = jnp.asarray(t**2 * (3 - 2 * t), k.dtype)
    log_share = jnp.asarray(np.log(3 * t * (1 - t) * weights), k.dtype)  # 6t(1−t)·weight/2
    heights = []
    for start, side, length in stretches:
        most = jax.lax.stop_gradient(farthest(start, order, DEPTH[size]))
        cut = jax.lax.stop_gradient(
            _until_nothing(exponent, highest, start, side, jnp.minimum(length, most), DEPTH[size])
        )
        reach = jnp.where(cut < length, cut, length)
        some = reach > 0
        v = start[..., None] + (side * reach)[..., None] * share
        log_reach = jnp.log(jnp.where(some, reach, 1.0))
        height = k[..., None] * v - jnp.abs(v) ** order + log_reach[..., None] + log_share
        heights.append(jnp.where(some[..., None], height, NEVER))
    return jnp.where(empty, NEVER, jax.nn.logsumexp(jnp.concatenate(heights, axis=-1), axis=-1))


def _until_nothing(
    exponent: Any, highest: Array, start: Array, side: Array, length: Array, depth: float
) -> Array:
    """How far from the start, at most ``length``, exponents stay within ``depth`` of the top."""
    low = jnp.full_like(length, np.log(NEAREST))

    def halve(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        mass = exponent(start + side * length * jnp.exp(middle)) > highest - depth
        return jnp.where(mass, middle, low), jnp.where(mass, high, middle)

    looks = LOOKS[length.dtype.itemsize]
    return length * jnp.exp(jax.lax.fori_loop(0, looks, halve, (low, jnp.zeros_like(low)))[1])
