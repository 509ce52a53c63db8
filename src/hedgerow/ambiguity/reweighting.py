"""Models that give the nominal points other weights, and never move them.

    sup_P { E_P Ψ − λ·D(P ‖ P̂) : P ≪ P̂ } = risk of the losses Ψ_i with masses p̂_i

A divergence D is stated by that one function, ``risk(losses, mass)``. It is convex in the losses,
and by Danskin's theorem its gradient is the worst case's weights; its derivative in λ is minus the
divergence that the worst case uses. Both are taken automatically, so a search inside ``risk`` (for
a multiplier, say) holds its solution fixed: ``jax.lax.stop_gradient``. A minibatch cannot tell a
risk, so solvers that remember do so with every entry's loss (``solvers.remembered``).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import minimize_scalar

from hedgerow.ambiguity.base import Ambiguity, Batch, Perturbed, Setting, Tilt
from hedgerow.ambiguity.penalised import PenalisedAmbiguity
from hedgerow.ambiguity.radius_wishes import Moves
from hedgerow.ambiguity.reductions import Reduction, Risk
from hedgerow.data import NominalDistribution

TENTH = 0.1


class InPlace(Ambiguity):
    """Models whose points stay where the data are (abstract)."""

    def tilt(self, perturbed: Perturbed, setting: Setting, batch: Batch) -> Tilt:
        """Ψ(f(x̂_k), ŷ_ki): one node per outcome, at the nominal point itself."""
        losses = setting.loss(perturbed.decisions[:, :1], batch.outcomes)[:, :, None]
        nothing = jnp.zeros_like(losses[:, :1])
        return Tilt(losses, nothing, batch.outcome_mass, batch.entry_slot)

    def worst_case(self, maker: Any) -> Any:
        """The nominal points, reweighted."""
        return maker.reweighted()

    def bounds(self, bounder: Any) -> Any:
        """The value itself."""
        return bounder.exact()


class Reweighting(InPlace, PenalisedAmbiguity):
    """Base of models with a divergence from the nominal distribution (abstract).

    A subclass states ``risk``.
    """

    @abstractmethod
    def risk(self, losses: Float[Array, "*g"], mass: Float[Array, "*g"]) -> Float[Array, ""]:
        """Return the worst expectation less its price; masses sum to 1 over all losses."""

    def slots(self, nominal: NominalDistribution) -> int:
        """A place for every entry's loss."""
        return len(nominal.entry_outcome)

    def reduction(self) -> Reduction:
        """The risk."""
        return Risk(self.risk)

    def moves(self, spare: float, share: float) -> Moves:
        """How often a tenth of rows may occur: v(ρ) of a loss that is 1 there and 0 elsewhere."""
        losses: Any = np.array([1.0, 0.0])
        mass: Any = np.array([TENTH, 1 - TENTH])

        def dual(position: float) -> float:
            penalty = float(np.exp(position))
            return penalty * spare + float(self.at_penalty(penalty).risk(losses, mass))

        with jax.enable_x64(True):
            # convex in the penalty, so it has one valley in its logarithm
            found: Any = minimize_scalar(dual, bounds=(-12.0, 12.0), method="bounded")
        return Moves(frequency=min(float(np.min(found.fun)), 1.0))
