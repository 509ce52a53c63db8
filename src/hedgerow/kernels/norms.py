"""Norms ‖·‖_q for q = 1, 2, ∞: themselves, their duals, and what shrinks points towards 0.

‖b‖_q* = sup { b·u : ‖u‖_q ≤ 1 },    1/q + 1/q* = 1
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from hedgerow.kernels.base import arrays

SHRINKINGS = 50
"""Halvings that find how far to shrink: down to rounding in float64."""


def norm(v: Any, q: float) -> Any:
    """‖v‖_q along the last axis."""
    xp = arrays(v)
    if q == 1:
        return xp.sum(xp.abs(v), axis=-1)
    if q == math.inf:
        return xp.max(xp.abs(v), axis=-1)
    square = xp.sum(v**2, axis=-1)
    # the root's slope at 0 is infinite, and times 0 it would be NaN
    return xp.where(square > 0, xp.sqrt(xp.where(square > 0, square, 1.0)), 0.0)


def dual(q: float) -> float:
    """q*: 1 for ∞ and ∞ for 1."""
    return {1.0: math.inf, 2.0: 2.0, math.inf: 1.0}[q]


def dual_norm(v: Any, q: float) -> Any:
    """‖v‖_q*."""
    return norm(v, dual(q))


def least_dual_norm(scales: np.ndarray, q: float) -> float:
    """The least ‖s·w‖_q* over weights w ≥ 0 that sum to 1; 0 if some scale is."""
    scales = np.asarray(scales, np.float64)
    if not np.all(scales > 0):
        return 0.0
    if q == math.inf:
        return float(scales.min())
    if q == 1:
        return 1 / float(np.sum(1 / scales))
    return 1 / math.sqrt(float(np.sum(1 / np.square(scales))))


def power_root(length: Array, price: Array, order: Any) -> Array:
    """The r in [0, length] at which r + price·p·r^(p−1) = length: a power's proximal step."""

    def halve(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        left = middle + price * order * middle ** (order - 1) < length
        return jnp.where(left, middle, low), jnp.where(left, high, middle)

    length, price = jnp.broadcast_arrays(length, price)
    ends = jax.lax.fori_loop(0, SHRINKINGS, halve, (jnp.zeros_like(length), length))
    return (ends[0] + ends[1]) / 2


def shrink(v: Array, price: Array, order: Any, q: float) -> Array:
    """The u that is lowest in |u − v|²/2 + price·‖u‖_q^p; price (…, 1).

    For q = 2 along v itself. For q = 1 every coordinate loses τ = price·p·‖u‖_1^(p−1); for q = ∞
    none exceeds t, where what is cut off sums to price·p·t^(p−1). Both are found by halving.
    """
    if q == 2:
        length = norm(v, 2.0)[..., None]
        short = power_root(length, price, order)
        return v * jnp.where(length > 0, short / jnp.where(length > 0, length, 1.0), 0.0)
    size = jnp.abs(v)
    most = jnp.max(size, axis=-1, keepdims=True)

    def halve(_: int, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        low, high = ends
        middle = (low + high) / 2
        over = jnp.sum(jnp.maximum(size - middle, 0.0), axis=-1, keepdims=True)
        if q == 1:
            left = middle < price * order * over ** (order - 1)
        else:
            left = over > price * order * middle ** (order - 1)
        return jnp.where(left, middle, low), jnp.where(left, high, middle)

    low, high = jax.lax.fori_loop(0, SHRINKINGS, halve, (jnp.zeros_like(most), most))
    end = (low + high) / 2
    if q == 1:
        return jnp.sign(v) * jnp.maximum(size - end, 0.0)
    return jnp.clip(v, -end, end)
