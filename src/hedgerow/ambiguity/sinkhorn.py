"""Sinkhorn DRO, not causal: each observation is moved on its own.

λε · E_(x̂,ŷ) log E_ξ1 E_ξ2 exp( Ψ(f(x̂+ξ1), ŷ+ξ2)/(λε) )                        (paper: sdro-dual)
"""

from __future__ import annotations

import jax.numpy as jnp

from hedgerow.ambiguity.base import Setting, Spread, Tilt
from hedgerow.ambiguity.transport import SinkhornAmbiguity
from hedgerow.data.nominal import NominalDistribution
from hedgerow.data.training_table import Batch


class Sinkhorn(SinkhornAmbiguity):
    """Ambiguity by Sinkhorn discrepancy without the causality constraint.

    Takes the parameters of ``CausalSinkhorn``.
    """

    def slots(self, nominal: NominalDistribution) -> int:
        """One logarithm per observation."""
        return len(nominal.entry_outcome)

    def tilt_of(self, spread: Spread, setting: Setting, batch: Batch) -> Tilt:
        """Return a group of nodes for every outcome."""
        exponents = jnp.swapaxes(self.inner_log_moments(spread, setting, batch), 1, 2)
        log_weights = spread.log_weights[:, None, :]
        return Tilt(exponents, log_weights, batch.outcome_mass, batch.entry_slot)
