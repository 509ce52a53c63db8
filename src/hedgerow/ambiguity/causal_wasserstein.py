"""Causal Wasserstein DRO, the limit ε → 0: the adversary moves whole points, not clouds.

    E_x̂ sup_x { E_ŷ|x̂ sup_y [ Ψ(f(x), y) − λ‖(y − ŷ)/s_y‖_p^p ] − λ‖(x − x̂)/s_x‖_p^p }

(paper: Causal-WDRO-dual)

The suprema over x and over one y per outcome are one joint supremum, which is climbed (``ascent``).
By Danskin's theorem gradients in the rule and in λ are those at the maximisers, held fixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from hedgerow._warnings import HedgerowWarning
from hedgerow.ambiguity.ascent import summits
from hedgerow.ambiguity.base import Batch, Perturbed, Setting, Tilt, decide
from hedgerow.ambiguity.reductions import Mean
from hedgerow.ambiguity.transport_cost import TransportAmbiguity, causality_remarks
from hedgerow.data import NominalDistribution
from hedgerow.describe.parts import ModelDescription
from hedgerow.rules import FittedRule

FEWEST_CLIMBS = 4
"""Attempts to climb with the least effort (``refined``)."""


class CausalWasserstein(TransportAmbiguity):
    """Ambiguity by causal transport distance, without entropy.

    Parameters
    ----------
    penalty : float or None
        λ, the price of transport in units of ``loss_scale``.
    order : float >= 1
        p of the transport cost.
    radius : float or None
        ρ, instead of a penalty: the largest causal transport distance C_p that is guarded against.
    x_scale, y_scale, loss_scale, norm, contexts, outcomes
        As for ``CausalSinkhorn``.

    Notes
    -----
    The maximisers are found by ascent from the context and from as many starting points around it
    as the solver has nodes: a lower bound on the supremum, exact if one start finds the summit.
    """

    order: float = 2

    def description(self) -> ModelDescription:
        """Against points that are moved, without foreknowledge."""
        return ModelDescription(
            "Causal Wasserstein distance",
            "what is known beforehand and what then happens may both be shifted, the first without "
            "foreknowledge of the second",
        )

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
        """Find the maximisers: one point per context, one outcome per nominal outcome."""
        penalty = jnp.asarray(self.penalty, batch.contexts.dtype)
        frozen, penalty = jax.lax.stop_gradient((rule, penalty))  # nothing of the way is kept
        found = summits(frozen, setting, batch, penalty, key)
        best = jnp.argmax(found.height, axis=1)[:, None, None]
        points = jnp.take_along_axis(found.x, best, axis=1)
        outcomes = jnp.take_along_axis(found.y, best[..., None], axis=1)
        points, outcomes = jax.lax.stop_gradient((points, outcomes))
        one = jnp.zeros_like(points[:, :, 0])
        moved = jnp.swapaxes(outcomes, 1, 2)
        return Perturbed(points, decide(rule, points), one, moved, None, penalty)

    def tilt(self, perturbed: Perturbed, setting: Setting, batch: Batch) -> Tilt:
        """Return the gain at the maximisers less what it cost to get there, one per context."""
        if perturbed.outcomes is None:
            raise ValueError("Causal Wasserstein needs maximisers in the outcome; got none.")
        around = setting.moving()
        y = perturbed.outcomes[:, :, 0]
        losses = setting.loss(perturbed.decisions, y)
        paid = around.outcome.cost(batch.outcomes, y)
        paid = paid + around.context.cost(batch.contexts, perturbed.points[:, 0])[:, None]
        gains = jnp.sum(batch.outcome_mass * (losses - self.penalty * paid), axis=1)
        one = jnp.ones_like(batch.outcome_mass[:, :1])
        slots = jnp.zeros_like(batch.context_slot[:, None])
        return Tilt(gains[:, None, None], perturbed.log_weights[:, None], one, slots)

    def node_plan(self, planner: Any, level: int) -> Any:
        """Nodes are where ascents start."""
        return planner.ascents(level)

    def worst_case(self, maker: Any) -> Any:
        """Each nominal point at its maximiser."""
        return maker.moved()

    def remarks(self, nominal: NominalDistribution) -> Iterator[HedgerowWarning]:
        """Whether causality makes a difference."""
        return causality_remarks(self, "Wasserstein DRO", nominal)
