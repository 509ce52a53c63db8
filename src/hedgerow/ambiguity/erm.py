"""Empirical risk minimisation: no ambiguity.

E_P̂ Ψ(f(x̂), ŷ)
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from hedgerow.ambiguity.base import Ambiguity, Batch, Setting, Tilt, losses_at_contexts
from hedgerow.rules import FittedRule


class ERM(Ambiguity):
    """Trust the nominal distribution as it is."""

    compositional: ClassVar[bool] = False

    @property
    def temperature(self) -> Any:
        """1: a single node makes the logarithm cancel the exponential."""
        return 1.0

    def tilt(self, rule: FittedRule, setting: Setting, batch: Batch, key: PRNGKeyArray) -> Tilt:
        """One node per outcome, at the nominal point."""
        values = losses_at_contexts(rule, setting.loss, batch)[:, :, None]
        nothing = jnp.zeros_like(values[:, :1])
        return Tilt(values, nothing, batch.outcome_mass, jnp.zeros_like(batch.entry_slot))
