"""Empirical risk minimisation: no ambiguity.

E_P̂ Ψ(f(x̂), ŷ)
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax.numpy as jnp

from hedgerow.ambiguity.base import Ambiguity, Setting, Spread, Tilt, losses_in_place
from hedgerow.data.training_table import Batch


class ERM(Ambiguity):
    """Trust the nominal distribution as it is."""

    compositional: ClassVar[bool] = False

    @property
    def temperature(self) -> Any:
        """1: a single node makes the logarithm cancel the exponential."""
        return 1.0

    def tilt_of(self, spread: Spread, setting: Setting, batch: Batch) -> Tilt:
        """One node per outcome, at the nominal point."""
        values = losses_in_place(spread, setting.loss, batch)
        nothing = jnp.zeros_like(values[:, :1])
        return Tilt(values, nothing, batch.outcome_mass, jnp.zeros_like(batch.entry_slot))
