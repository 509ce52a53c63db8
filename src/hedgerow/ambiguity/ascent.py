"""Ascent: where an adversary without entropy moves a context and its outcomes.

    height(x, y) = Σ_i p̂_i·[ Ψ(f(x), y_i) − λ‖(y_i − ŷ_i)/s_y‖_p^p ] − λ‖(x − x̂)/s_x‖_p^p

is climbed from several starting points around each context by proximal gradient ascent with a step
size per start; where the loss knows its best response, only x is climbed. Where moving is all or
nothing, as for categories, ascents start from every value and keep it. What is found is a lower
bound on the supremum, exact if one start finds the summit.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow.ambiguity.base import Batch, Setting, decide
from hedgerow.ambiguity.outcome_moves import best_responses
from hedgerow.rules import FittedRule

SPENT = 1e-6
"""An ascent whose step has shrunk to this, in units of 1/λ, is over."""


class Summits(NamedTuple):
    """Where ascents end: contexts, one outcome for every nominal outcome, and how high that is."""

    x: Float[Array, "b m d"]
    y: Float[Array, "b m n y"]
    height: Float[Array, "b m"]


def summits(
    rule: FittedRule, setting: Setting, batch: Batch, penalty: Float[Array, ""], key: PRNGKeyArray
) -> Summits:
    """Climb from each context and from points around it."""
    point = _climb(rule, setting, batch, penalty, _start(setting, batch, penalty, key))
    return Summits(*point, _heights(rule, setting, batch, penalty, point))


class _Point(NamedTuple):
    """Where the ascent stands: contexts, and one outcome for every nominal outcome."""

    x: Float[Array, "b m d"]
    y: Float[Array, "b m n y"]


def _start(setting: Setting, batch: Batch, penalty: Array, key: PRNGKeyArray) -> _Point:
    """The contexts themselves, other values of theirs and points around them; outcomes at home."""
    kernel = setting.moving().context
    # a gain of one unit of loss pays for a cost of 1/λ: that is how far to look
    wide = kernel.with_epsilon(1 / penalty)
    starts, _ = setting.context_nodes(wide, batch.contexts, key)
    jumps = kernel.discrete_moves(batch.contexts)
    first = batch.contexts[:, None]
    if jumps is not None:  # home itself, too
        first = jnp.concatenate([first, jumps], axis=1)
    x = jnp.concatenate([first, starts], axis=1)
    home = setting.moving().outcome.settled(batch.outcomes)
    y = jnp.broadcast_to(home[:, None], (*x.shape[:2], *batch.outcomes.shape[1:]))
    return _Point(x, y)


def _climb(
    rule: FittedRule, setting: Setting, batch: Batch, penalty: Array, start: _Point
) -> _Point:
    """Proximal gradient ascent; a start's step grows while it gains and is halved when it fails."""
    around = setting.moving()

    def gain(point: _Point) -> Array:
        return jnp.sum(_gains(rule, setting, batch, point))

    def going(carry: tuple[Array, _Point, Array, Array]) -> Array:
        return (carry[0] < setting.climbs) & jnp.any(carry[3] > SPENT / penalty)

    def attempt(carry: tuple[Array, _Point, Array, Array]) -> tuple[Array, _Point, Array, Array]:
        attempts, point, height, size = carry
        uphill = jax.grad(gain)(point)
        step_x, step_y = size[..., None], size[..., None, None]
        home = batch.contexts[:, None]
        x = around.context.proximal(home, point.x, uphill.x, step_x, penalty)
        y = point.y
        if setting.loss.best_response(around.outcome) is None:
            # a rare outcome's share of the gradient is small, but so is that of its cost
            mass = jnp.maximum(batch.outcome_mass, 1e-12)[:, None, :, None]
            home = batch.outcomes[:, None]
            kernel = around.outcome
            kernel = kernel if batch.low is None else kernel.above(batch.low[:, None])
            y = kernel.proximal(home, y, uphill.y / mass, step_y, penalty)
        candidate = _settle(rule, setting, batch, penalty, _Point(x, y))
        reached = _heights(rule, setting, batch, penalty, candidate)
        better = reached > height
        point = _Point(
            jnp.where(better[..., None], candidate.x, point.x),
            jnp.where(better[..., None, None], candidate.y, point.y),
        )
        size = size * jnp.where(better, 1.5, 0.5)
        return attempts + 1, point, jnp.maximum(reached, height), size

    start = _settle(rule, setting, batch, penalty, start)
    height = _heights(rule, setting, batch, penalty, start)
    size = jnp.full_like(height, 0.5) / penalty
    return jax.lax.while_loop(going, attempt, (jnp.zeros((), jnp.int32), start, height, size))[1]


def _settle(
    rule: FittedRule, setting: Setting, batch: Batch, penalty: Array, point: _Point
) -> _Point:
    """Put outcomes at their worst, where the loss knows it."""
    worst = best_responses(setting, decide(rule, point.x), batch, penalty)
    return point if worst is None else point._replace(y=worst)


def _gains(rule: FittedRule, setting: Setting, batch: Batch, point: _Point) -> Float[Array, "b m"]:
    """E Ψ over a context's outcomes."""
    z = decide(rule, point.x)[:, :, None, :]
    return jnp.sum(batch.outcome_mass[:, None] * setting.loss(z, point.y), axis=-1)


def _heights(
    rule: FittedRule, setting: Setting, batch: Batch, penalty: Array, point: _Point
) -> Float[Array, "b m"]:
    """Gain less cost."""
    around = setting.moving()
    outcome_cost = around.outcome.cost(batch.outcomes[:, None], point.y)
    cost = jnp.sum(batch.outcome_mass[:, None] * outcome_cost, axis=-1)
    cost = cost + around.context.cost(batch.contexts[:, None], point.x)
    return _gains(rule, setting, batch, point) - penalty * cost
