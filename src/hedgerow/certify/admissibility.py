"""How fast the loss of a fixed rule outgrows the transport cost (paper: condit-1).

The robust value is finite only above the penalty

    limsup  Ψ(f(x), y) / c_p      far from the data,

in the best direction of (x, y) jointly. The loss's own growth in y is known before training; a rule
whose decisions grow without bound in x, as affine ones do, asks for more, and a sampled estimate of
an infinite value would look like a finite number. Here the ratio is measured along rays far
beyond the data: every coordinate, and the direction of steepest growth found from there by the
gradient (for a quadratic this is power iteration on its leading form).

A portfolio's loss grows with the outcome as its weights are spread, so bounded rules may ask for
more in some places than in others, too; that largest need is sought by ascent from the data.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hedgerow.ambiguity import Kernels, decide
from hedgerow.losses import Loss
from hedgerow.programs import program
from hedgerow.rules import FittedRule

NEAR, FAR = 1e3, 1e6
FLAT = 1e-4
"""Smaller ratios, in working units, are those of gains that stay bounded."""
CLIMBS = 20
STARTS, DISTANCES = 256, (1.0, 4.0, 16.0, 64.0)
"""Contexts to begin with when the largest need is sought, and how many times as far out, too."""


def smallest_penalty_for(
    rule: FittedRule,
    loss: Loss,
    around: Kernels,
    contexts: np.ndarray,
    middle: np.ndarray,
) -> float:
    """Penalty above which the value of this rule is finite; inf if none is. Working units, x64.

    ``middle`` is the nominal outcome that rays start from; contexts start from 0.
    """
    needed = 0.0
    if loss.needed_penalty(around.outcome) is not None:
        rows = np.linspace(0, len(contexts) - 1, min(STARTS, len(contexts))).astype(int)
        needed = float(_largest_need(rule, loss, around, jnp.asarray(contexts[rows])))
    if rule.is_bounded():
        return needed
    return max(needed, _joint_growth(rule, loss, around, middle))


def _joint_growth(rule: FittedRule, loss: Loss, around: Kernels, middle: np.ndarray) -> float:
    near, far = (float(jnp.max(_growth(rule, loss, around, middle, r))) for r in (NEAR, FAR))
    if not np.all(np.isfinite([near, far])) or far > max(1.5 * near, FLAT):
        return float("inf")
    return far if far > max(near / 10, FLAT) else 0.0


@program
def _largest_need(
    rule: FittedRule, loss: Loss, around: Kernels, contexts: Float[Array, "b d"]
) -> Float[Array, ""]:
    """Largest penalty that a decision of the rule asks for, anywhere that ascent leads."""
    scale = around.context.scale
    needed: Any = loss.needed_penalty(around.outcome)

    def need(x: Array) -> Array:
        return needed(decide(rule, x))

    def climb(i: Array, x: Array) -> Array:
        uphill = scale**2 * jax.grad(lambda at: jnp.sum(need(at)))(x)
        size = jnp.linalg.norm(uphill, axis=-1, keepdims=True)
        step = 0.8**i * jnp.where(size > 0, uphill / jnp.where(size > 0, size, 1.0), 0.0)
        return jnp.where((need(x + step) > need(x))[:, None], x + step, x)

    starts = jnp.concatenate([distance * contexts for distance in DISTANCES])
    return jnp.max(need(jax.lax.fori_loop(0, CLIMBS, climb, starts)))


@program
def _growth(
    rule: FittedRule,
    loss: Loss,
    around: Kernels,
    middle: Float[Array, " y"],
    distance: Float[Array, ""],
) -> Float[Array, " directions"]:
    """Ψ per unit of transport cost at this distance, along each direction and after climbing."""
    order = around.context.order
    features = around.context.scale.shape[0]
    scale = jnp.concatenate([around.context.scale, around.outcome.scale])
    low, high = around.outcome.bounds(middle)
    unbounded = jnp.full(features, jnp.inf)
    floor = jnp.concatenate([-unbounded, low]) / distance
    ceiling = jnp.concatenate([unbounded, high]) / distance
    start = jnp.concatenate([jnp.zeros(features), middle])

    def loss_along(direction: Array) -> Array:
        point = start + distance * direction
        z = decide(rule, point[None, :features])
        return loss(z, point[None, features:])[0]

    def ratio(direction: Array) -> Array:
        cost = jnp.sum(
            jnp.where(scale > 0, jnp.abs(direction) / jnp.where(scale > 0, scale, 1.0), 0.0)
            ** order
        )
        gain = loss_along(direction) - loss_along(jnp.zeros_like(direction))
        return jnp.where(cost > 0, gain / (distance**order * jnp.where(cost > 0, cost, 1.0)), 0.0)

    def cut(direction: Array) -> Array:
        return jnp.clip(direction, floor, ceiling)

    def climb(_: int, direction: Array) -> Array:
        uphill = scale**2 * jax.grad(loss_along)(direction)
        size = jnp.linalg.norm(uphill)
        return cut(jnp.where(size > 0, uphill / jnp.where(size > 0, size, 1.0), direction))

    axes = jnp.diag(scale)
    straight = jax.vmap(cut)(jnp.concatenate([axes, -axes]))
    climbed = jax.vmap(lambda d: jax.lax.fori_loop(0, CLIMBS, climb, d))(straight)
    return jax.vmap(ratio)(jnp.concatenate([straight, climbed]))
