"""Sinkhorn DRO, not causal: each observation is moved on its own.

λε · E_(x̂,ŷ) log E_ξ1 E_ξ2 exp( Ψ(f(x̂+ξ1), ŷ+ξ2)/(λε) )                        (paper: sdro-dual)
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Int

from hedgerow.ambiguity.base import Batch, Perturbed, Setting, Tilt
from hedgerow.ambiguity.movers import single_outcomes
from hedgerow.ambiguity.transport_smearing import SinkhornAmbiguity
from hedgerow.data import NominalDistribution
from hedgerow.describe.parts import ModelDescription


class Sinkhorn(SinkhornAmbiguity):
    """Ambiguity by Sinkhorn discrepancy without the causality constraint.

    Takes the parameters of ``CausalSinkhorn``.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> model = hr.Sinkhorn(penalty=3, epsilon=0.1, x_scale="auto", y_scale="auto")
    >>> policy = hr.RobustPolicy(loss, model, hr.Affine(), solver=hr.SCSC(steps=50))
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    def description(self) -> ModelDescription:
        """Against rows that are moved."""
        return ModelDescription(
            "Sinkhorn distance",
            "every row of the history may be shifted and blurred",
            columns=self.columns_words(),
        )

    def slots(self, nominal: NominalDistribution) -> int:
        """One logarithm per observation."""
        return len(nominal.entry_outcome)

    def tilt(self, perturbed: Perturbed, setting: Setting, batch: Batch) -> Tilt:
        """Return a group of nodes for every outcome."""
        exponents = jnp.swapaxes(self.inner_log_moments(perturbed, setting, batch), 1, 2)
        log_weights = perturbed.log_weights[:, None, :]
        return Tilt(exponents, log_weights, batch.outcome_mass, batch.entry_slot)

    def movers(self, batch: Batch, places: Int[Array, "b s"]) -> Batch:
        """Every outcome moves on its own."""
        return single_outcomes(batch, places)
