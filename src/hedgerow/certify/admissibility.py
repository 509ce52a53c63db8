"""How fast the loss of a fixed rule outgrows the transport cost (paper: condit-1).

The robust value is finite only above the penalty

    limsup  Ψ(f(x), y) / c_p      far from the data,

in the best direction of (x, y) jointly. The loss's own growth in y is known before training; a rule
whose decisions grow without bound in x, as affine ones do, asks for more, and a sampled estimate of
an infinite value would look like a finite number. Here the ratio is measured along rays far
beyond the data: every coordinate, and the direction of steepest growth found from there by the
gradient (for a quadratic this is power iteration on its leading form).

Rays run only where the support has no end: a gain on the way to a bound is not growth. Where
bounded outcomes lie matters all the same, as they may multiply what grows, so rays start from the
median outcome and from the outcomes at either end of the support.

A portfolio's loss grows with the outcome as its weights are spread, so bounded rules may ask for
more in some places than in others, too; that largest need is sought by ascent from the data.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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


class Ray(NamedTuple):
    """A way to infinity: from a context and an outcome on, in these directions.

    Far along it the loss exceeds what the penalty takes for getting there by ever more.
    """

    context: np.ndarray
    outcome: np.ndarray
    context_direction: np.ndarray
    outcome_direction: np.ndarray


class Need(NamedTuple):
    """The penalty above which a rule's value is finite, and the ray that asks for it (None: 0)."""

    penalty: float
    ray: Ray | None = None


def smallest_penalty_for(
    rule: FittedRule,
    loss: Loss,
    around: Kernels,
    contexts: np.ndarray,
    middle: np.ndarray,
) -> Need:
    """Penalty above which the value of this rule is finite; inf if none is. Working units, x64.

    ``middle`` is the nominal outcome that rays start from; contexts start from 0.
    """
    home = np.zeros(contexts.shape[1])
    neediest, needed = home, 0.0
    if loss.needed_penalty(around.outcome) is not None:
        rows = np.linspace(0, len(contexts) - 1, STARTS).astype(int)  # of few some are there twice
        found = _largest_need(rule, loss, around, contexts[rows])
        neediest, needed = np.asarray(found[0]), float(found[1])
    if rule.is_bounded() and needed == 0:
        return Need(0.0)
    outcome = around.outcome
    outcomes = [middle, *(_at_ends(middle, end) for end in (outcome.low, outcome.high))]
    starts = np.array([np.concatenate([x, y]) for x in (home, neediest) for y in outcomes])
    (near, _), (far, directions) = (
        (np.asarray(part) for part in _growth(rule, loss, around, starts, distance))
        for distance in (NEAR, FAR)
    )
    start, which = np.unravel_index(np.argmax(far), far.shape)
    ray = Ray(
        *np.split(starts[start], [len(home)]), *np.split(directions[start, which], [len(home)])
    )
    grown = 0.0 if rule.is_bounded() else _limit(float(near.max()), float(far.max()))
    return Need(max(needed, grown), ray if max(needed, grown) > 0 else None)


def _limit(near: float, far: float) -> float:
    """What ratios of growth near and far lead to."""
    if not np.all(np.isfinite([near, far])) or far > max(1.5 * near, FLAT):
        return float("inf")
    return far if far > max(near / 10, FLAT) else 0.0


def _at_ends(middle: np.ndarray, end: Any) -> np.ndarray:
    """The median outcome, at an end of the support wherever there is one."""
    return middle if end is None else np.where(np.isfinite(end), np.asarray(end), middle)


@program
def _largest_need(
    rule: FittedRule, loss: Loss, around: Kernels, contexts: Float[Array, "b d"]
) -> tuple[Float[Array, " d"], Float[Array, ""]]:
    """Where ascent leads to the decision that asks for the largest penalty, and that penalty."""
    scale = around.context.scale
    needed: Any = loss.needed_penalty(around.outcome)

    def need(x: Array) -> Array:
        return needed(decide(rule, x))

    def climb(i: Array, x: Array) -> Array:
        uphill = scale**2 * jax.grad(lambda at: jnp.sum(need(at)))(x)
        size = jnp.linalg.norm(uphill, axis=-1, keepdims=True)
        step = 0.8**i * jnp.where(size > 0, uphill / jnp.where(size > 0, size, 1.0), 0.0)
        return jnp.where((need(x + step) > need(x))[:, None], x + step, x)

    endless = (around.context.open_scales[0] > 0) & (around.context.open_scales[1] > 0)
    starts = jnp.concatenate([jnp.where(endless, d * contexts, contexts) for d in DISTANCES])
    found = jax.lax.fori_loop(0, CLIMBS, climb, starts)
    needs = need(found)
    return found[jnp.argmax(needs)], jnp.max(needs)


@program
def _growth(
    rule: FittedRule,
    loss: Loss,
    around: Kernels,
    starts: Float[Array, "s xy"],
    distance: Float[Array, ""],
) -> tuple[Float[Array, "s directions"], Float[Array, "s directions xy"]]:
    """Ψ per unit of transport cost at this distance, along directions straight and climbed to."""
    order = around.outcome.order
    features = around.context.scale.shape[0]
    falling, rising = (
        jnp.concatenate(scales)
        for scales in zip(around.context.open_scales, around.outcome.open_scales, strict=True)
    )

    def open_part(direction: Array) -> Array:
        """What of a direction has no end, at cost 1; 0 if nothing has."""
        scale = jnp.where(direction < 0, falling, rising)
        direction = jnp.where(scale > 0, direction, 0.0)
        cost = around.context.ray_cost(direction[:features])
        cost = cost + around.outcome.ray_cost(direction[features:])
        return direction / jnp.where(cost > 0, cost, 1.0) ** (1 / order)

    def along(start: Array) -> tuple[Array, Array]:
        def loss_along(direction: Array) -> Array:
            point = start + distance * direction
            return loss(decide(rule, point[None, :features]), point[None, features:])[0]

        def climb(_: int, direction: Array) -> Array:
            scale = jnp.maximum(falling, rising)
            uphill = open_part(scale**2 * jax.grad(loss_along)(direction))
            return jnp.where(jnp.any(uphill != 0), uphill, direction)

        at_home = loss_along(jnp.zeros_like(start))
        straight = jax.vmap(open_part)(jnp.concatenate([jnp.diag(rising), -jnp.diag(falling)]))
        climbed = jax.vmap(lambda d: jax.lax.fori_loop(0, CLIMBS, climb, d))(straight)
        each = jnp.concatenate([straight, climbed])
        gains = jax.vmap(loss_along)(each) - at_home
        return jnp.where(jnp.any(each != 0, axis=1), gains / distance**order, 0.0), each

    return jax.vmap(along)(starts)
