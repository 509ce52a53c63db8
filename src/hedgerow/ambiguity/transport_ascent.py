"""Wasserstein models, the limit ε → 0: the adversary moves whole points, not clouds.

    Σ_k m_k Σ_i p̂_ki [ Ψ(f(x_ki), y_ki) − λ‖(y_ki − ŷ_ki)/s_y‖_p^p − λ‖(x_ki − x̂_k)/s_x‖_p^p ]

at its largest over the points (x_ki, y_ki). A causal adversary has one x_k for all outcomes of a
context, the other one x_ki for each: that is what ``movers`` says, and all the difference. The
suprema over x and y are one joint supremum, which is climbed (``ascent``). By Danskin's theorem
gradients in the rule and in λ are those at the maximisers, held fixed.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from hedgerow.ambiguity.ascent import summits
from hedgerow.ambiguity.base import Batch, Perturbed, Setting, Tilt, decide
from hedgerow.ambiguity.movers import setting_of
from hedgerow.ambiguity.reductions import Mean
from hedgerow.ambiguity.transport_cost import TransportAmbiguity
from hedgerow.rules import FittedRule

FEWEST_CLIMBS = 4
"""Attempts to climb with the least effort (``refined``)."""


class WassersteinAmbiguity(TransportAmbiguity):
    """Shared by the models with a transport cost and no entropy."""

    order: float = 2

    def reduction(self) -> Mean:
        """The mean of what contexts bring."""
        return Mean()

    def refined(self, setting: Setting, doublings: Any) -> Setting:
        """Allow more attempts to climb."""
        climbs = FEWEST_CLIMBS * 2 ** jnp.asarray(doublings, jnp.int32)
        return eqx.tree_at(lambda s: s.climbs, setting, climbs)

    def perturb(
        self, rule: FittedRule, setting: Setting, batch: Batch, key: PRNGKeyArray
    ) -> Perturbed:
        """Find the maximisers: one point per mover, one outcome per nominal outcome."""
        rows, outcomes = batch.outcome_mass.shape
        penalty = jnp.asarray(self.penalty, batch.contexts.dtype)
        frozen, penalty = jax.lax.stop_gradient((rule, penalty))  # nothing of the way is kept
        moving = self.movers(batch, jnp.broadcast_to(jnp.arange(outcomes), (rows, outcomes)))
        found = summits(frozen, setting_of(setting, batch, moving), moving, penalty, key)
        best = jnp.argmax(found.height, axis=1)[:, None, None]
        points = jnp.take_along_axis(found.x, best, axis=1)
        moved = jnp.take_along_axis(found.y, best[..., None], axis=1)
        points, moved = self._within(setting, moving, points, moved)
        points = points.reshape(rows, -1, points.shape[-1])
        moved = moved.reshape(rows, outcomes, 1, moved.shape[-1])
        points, moved = jax.lax.stop_gradient((points, moved))
        weights = jnp.zeros_like(points[:, :, 0])
        return Perturbed(points, decide(rule, points), weights, moved, None, penalty)

    def _within(
        self, setting: Setting, moving: Batch, points: Array, moved: Array
    ) -> tuple[Array, Array]:
        """Points no farther than training looks, on the way to where they were found.

        With order 1 the penalty that goes with a radius lies where moving to infinity begins to
        pay. A little below it ascents run away, and one step with a gradient of 1e6 would hold up
        Adam for the rest of the run. Moves that cost far more than the radius, by every point, are
        enough to show that the penalty is too low, so the minimum stays where it is.
        """
        around, home = setting.moving(), (moving.contexts[:, None], moving.outcomes[:, None])
        linear = around.outcome.order == 1  # False, or an array where orders share a program
        if setting.farthest is None or linear is False:
            return points, moved
        farthest = jnp.where(linear, setting.farthest, jnp.inf)
        paid = jnp.sum(moving.outcome_mass * around.outcome.cost(home[1], moved)[:, 0], axis=1)
        paid = paid + around.context.cost(home[0], points)[:, 0]
        share = jnp.minimum(1.0, farthest / jnp.maximum(paid, 1e-30))[:, None, None]
        return (
            home[0] + share * (points - home[0]),
            home[1] + share[..., None] * (moved - home[1]),
        )

    def tilt(self, perturbed: Perturbed, setting: Setting, batch: Batch) -> Tilt:
        """Return the gain at the maximisers less what it cost to get there, one per context."""
        if perturbed.outcomes is None:
            raise ValueError("A Wasserstein model needs maximisers in the outcome; got none.")
        around = setting.moving()
        y = perturbed.outcomes[:, :, 0]
        losses = setting.loss(perturbed.decisions, y)
        paid = around.outcome.cost(batch.outcomes, y)
        paid = paid + around.context.cost(batch.contexts[:, None], perturbed.points)
        gains = jnp.sum(batch.outcome_mass * (losses - self.penalty * paid), axis=1)
        one = jnp.ones_like(batch.outcome_mass[:, :1])
        slots = jnp.zeros_like(batch.context_slot[:, None])
        return Tilt(gains[:, None, None], perturbed.log_weights[:, None, :1], one, slots)

    def node_plan(self, planner: Any, level: int) -> Any:
        """Nodes are where ascents start."""
        return planner.ascents(level)

    def worst_case(self, maker: Any) -> Any:
        """Each nominal point at its maximiser."""
        return maker.moved()

    def bounds(self, bounder: Any) -> Any:
        """Suprema are sought."""
        return bounder.climbed()
