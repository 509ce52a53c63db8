"""Sinkhorn DRO, not causal: each observation is moved on its own.

λε · E_(x̂,ŷ) log E_ξ1 E_ξ2 exp( Ψ(f(x̂+ξ1), ŷ+ξ2)/(λε) )                        (paper: sdro-dual)
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from hedgerow.ambiguity.base import Batch, Setting, Tilt, TransportAmbiguity
from hedgerow.nominal import NominalDistribution
from hedgerow.rules import FittedRule


class Sinkhorn(TransportAmbiguity):
    """Ambiguity by Sinkhorn discrepancy without the causality constraint.

    Takes the parameters of ``CausalSinkhorn``.
    """

    def slots(self, nominal: NominalDistribution) -> int:
        """One logarithm per observation."""
        return len(nominal.entry_outcome)

    def tilt(self, rule: FittedRule, setting: Setting, batch: Batch, key: PRNGKeyArray) -> Tilt:
        """Return a group of nodes for every outcome."""
        moments, log_weights = self.inner_log_moments(rule, setting, batch, key)
        exponents = jnp.swapaxes(moments, 1, 2)
        return Tilt(exponents, log_weights[:, None, :], batch.outcome_mass, batch.entry_slot)
