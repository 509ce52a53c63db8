"""Models that give the nominal points other weights, and never move them.

    sup_P { E_P Ψ − λ·D(P ‖ P̂) : P ≪ P̂ } = risk of the losses Ψ_i with masses p̂_i

A divergence D is stated by that one function, ``risk(losses, mass)``. It is convex in the losses,
and by Danskin's theorem its gradient is the worst case's weights; its derivative in λ is minus the
divergence that the worst case uses. Both are taken automatically, so a search inside ``risk`` (for
a multiplier, say) holds its solution fixed: ``jax.lax.stop_gradient``.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from hedgerow.ambiguity.base import Batch, Perturbed, Setting, Tilt
from hedgerow.ambiguity.penalised import PenalisedAmbiguity
from hedgerow.ambiguity.reductions import Reduction, Risk


def losses_in_place(perturbed: Perturbed, setting: Setting, batch: Batch) -> Tilt:
    """Ψ(f(x̂_k), ŷ_ki): one node per outcome, at the nominal point itself."""
    losses = setting.loss(perturbed.decisions[:, :1], batch.outcomes)[:, :, None]
    nothing = jnp.zeros_like(losses[:, :1])
    return Tilt(losses, nothing, batch.outcome_mass, jnp.zeros_like(batch.entry_slot))


class Reweighting(PenalisedAmbiguity):
    """Base of models with a divergence from the nominal distribution (abstract).

    A subclass states ``risk``. Parameters and traced fields are the penalty, the radius and the
    loss's scale.
    """

    traced = ("penalty", "radius", "loss_scale")

    def __init__(
        self,
        penalty: float | None = None,
        *,
        radius: float | None = None,
        loss_scale: Any = 1.0,
    ) -> None:
        self.penalty = penalty
        self.radius = radius
        self.loss_scale = loss_scale
        self.check()

    @abstractmethod
    def risk(self, losses: Float[Array, "*g"], mass: Float[Array, "*g"]) -> Float[Array, ""]:
        """Return the worst expectation less its price; masses sum to 1 over all losses."""

    def reduction(self) -> Reduction:
        """The risk."""
        return Risk(self.risk)

    def tilt(self, perturbed: Perturbed, setting: Setting, batch: Batch) -> Tilt:
        """Losses where the data are."""
        return losses_in_place(perturbed, setting, batch)

    def worst_case(self, maker: Any) -> Any:
        """The nominal points, reweighted."""
        return maker.reweighted()
