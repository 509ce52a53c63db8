"""Losses as released, rows first: (rows, decisions) and (rows, outcomes) to (rows,).

    newsvendor, exact     h (z−y)⁺ + b (y−z)⁺
    newsvendor, smooth    the same with log(1 + e^{5t})/5 for t⁺; training and scoring both use it
    inventory             the printed program in closed form (``hedgerow.datasets.inventory_data``)

The smooth loss is the larger one, by up to (h+b)·log 2/5 = 0.222 where z = y. The released
inventory puts 5 for a demand below 0 and 1 for a stock below 0, and keeps the slope in z.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from hedgerow.datasets import paper_inventory_costs

HOLDING, STOCKOUT = 0.6, 1.0
SHARPNESS = 5.0
FOR_NEGATIVE_DEMAND, FOR_NEGATIVE_STOCK = 5.0, 1.0

Loss = Callable[[Array, Array], Array]


def exact_newsvendor(z: Float[Array, "*n 1"], y: Float[Array, "*n 1"]) -> Float[Array, "*n"]:
    """The loss as printed."""
    gap = z - y
    return (HOLDING * jnp.maximum(gap, 0) + STOCKOUT * jnp.maximum(-gap, 0))[..., 0]


def smooth_newsvendor(z: Float[Array, "*n 1"], y: Float[Array, "*n 1"]) -> Float[Array, "*n"]:
    """The loss as released."""
    gap = z - y
    return (HOLDING * softplus(gap) + STOCKOUT * softplus(-gap))[..., 0]


def softplus(t: Array) -> Array:
    """log(1 + e^{5t})/5."""
    return jax.nn.softplus(SHARPNESS * t) / SHARPNESS


def inventory(z: Float[Array, "*n 3"], y: Float[Array, "*n 3"]) -> Float[Array, "*n"]:
    """The least cost of meeting demands from stocks, negative ones replaced as released."""
    costs = paper_inventory_costs()
    saved = costs.holding[:, None] + costs.stockout - costs.substitution
    z = z + jax.lax.stop_gradient(jnp.where(z < 0, FOR_NEGATIVE_STOCK - z, 0.0))
    y = jnp.where(y < 0, FOR_NEGATIVE_DEMAND, y)
    over, under = jnp.maximum(z - y, 0), jnp.maximum(y - z, 0)
    passed_on = jnp.minimum(
        jnp.maximum(over[..., 0] - under[..., 1], 0), jnp.maximum(under[..., 2] - over[..., 1], 0)
    )
    return (
        over @ jnp.asarray(costs.holding, z.dtype)
        + under @ jnp.asarray(costs.stockout, z.dtype)
        - saved[0, 1] * jnp.minimum(over[..., 0], under[..., 1])
        - saved[1, 2] * jnp.minimum(over[..., 1], under[..., 2])
        - saved[0, 2] * passed_on
    )


def portfolio(
    z: Float[Array, "*n decisions"], y: Float[Array, "*n assets"], return_weight: ArrayLike
) -> Float[Array, "*n"]:
    """(r − z₀)² − ω r with r the return of the weights, all but the last decision over their sum.

    Nothing keeps the weights, or their sum, above 0.
    """
    gained = jnp.sum(weights(z) * y, axis=-1)
    return (gained - z[..., -1]) ** 2 - return_weight * gained


def weights(z: Float[Array, "*n decisions"]) -> Float[Array, "*n assets"]:
    """Portfolio weights of a decision; its last number is the level z₀."""
    raw = z[..., :-1]
    return raw / (jnp.sum(raw, axis=-1, keepdims=True) + 1e-8)


def trained_on(problem: str, smooth: bool = True, return_weight: ArrayLike = 0.0) -> Loss:
    """What is trained on: as released, or as printed."""
    if problem == "newsvendor":
        return smooth_newsvendor if smooth else exact_newsvendor
    if problem == "inventory":
        return inventory
    return partial(portfolio, return_weight=return_weight)
