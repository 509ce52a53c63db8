"""KL-DRO: reweight the nominal points (paper: lem-worst-kl).

λ · log E_P̂ exp( Ψ(f(x̂), ŷ)/λ )
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp

from hedgerow.ambiguity.base import Setting, Spread, Tilt, losses_in_place
from hedgerow.ambiguity.penalised import PenalisedAmbiguity
from hedgerow.data.training_table import Batch


class KL(PenalisedAmbiguity):
    """Kullback–Leibler ambiguity around the nominal distribution.

    Parameters
    ----------
    penalty : float or None
        λ, in units of ``loss_scale``.
    radius : float or None
        ρ > 0, instead of a penalty: the largest divergence D(P ‖ P̂) that is guarded against.
    loss_scale : float or "auto"
        1: λ in the loss's own units, as in the paper. "auto": in units of the mean loss of the best
        constant decision.
    """

    traced = ("penalty", "radius", "loss_scale")
    pooled: ClassVar[bool] = True

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

    @property
    def temperature(self) -> Any:
        """λ."""
        return self.penalty

    def tilt_of(self, spread: Spread, setting: Setting, batch: Batch) -> Tilt:
        """One node per outcome, at the nominal point, all under one logarithm."""
        exponents = losses_in_place(spread, setting.loss, batch) / self.temperature
        nothing = jnp.zeros_like(exponents[:, :1])
        return Tilt(exponents, nothing, batch.outcome_mass, jnp.zeros_like(batch.entry_slot))
