"""Reductions: how what groups of nodes bring becomes the one number that is minimised.

A model lists groups, each with a mass q and a log-moment u = log Σ_j exp(log_weights_j + e_j)
(``Tilt``). With temperature T its objective is one of

    Mean          Σ q·u                where u is a loss itself: a single node, and T = 1
    MeanOfLogs    T · Σ q·u            one logarithm per group: Sinkhorn and causal Sinkhorn
    LogOfMean     T · log Σ q·exp(u)   one logarithm around everything: KL

or whatever else a model states as ``value``. Where the objective is made of logarithms of
expectations, a solver may follow each of them from step to step (``LogReduction``).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

if TYPE_CHECKING:
    from hedgerow.ambiguity.base import Tilt


class Reduction(eqx.Module):
    """How log-moments become a value (abstract)."""

    @abstractmethod
    def value(self, log_moments: Float[Array, "*g"], mass: Float[Array, "*g"]) -> Float[Array, ""]:
        """Return the objective; masses sum to 1 over all groups."""

    def logs(self) -> LogReduction | None:
        """Return the reduction as logarithms that can be followed; None if it is none such."""
        return None

    def is_linear(self) -> bool:
        """Whether the value of a batch is right on average, so that nothing need be followed."""
        return False

    def is_of_entries(self) -> bool:
        """Whether each log-moment is the loss of one entry, which may be remembered in its slot."""
        return False


class Mean(Reduction):
    """Σ q·u."""

    def value(self, log_moments: Float[Array, "*g"], mass: Float[Array, "*g"]) -> Float[Array, ""]:
        """Average."""
        return jnp.sum(mass * log_moments)

    def is_linear(self) -> bool:
        """An average of averages is one."""
        return True


class Risk(Reduction):
    """Any function of the losses and masses of entries, such as a divergence's worst expectation.

    Slots are then places of entries.
    """

    risk: Callable[[Array, Array], Array]

    def value(self, log_moments: Float[Array, "*g"], mass: Float[Array, "*g"]) -> Float[Array, ""]:
        """Return the risk of the losses."""
        return self.risk(log_moments, mass)

    def is_of_entries(self) -> bool:
        """They are."""
        return True


class LogReduction(Reduction):
    """Objectives made of logarithms of expectations (abstract).

    ``levels`` are those logarithms, one per group or one around everything (``spans_contexts``);
    followed from step to step they are known better than from one step's nodes alone.
    """

    temperature: eqx.AbstractVar[Array | float]

    @abstractmethod
    def levels(self, log_moments: Float[Array, "b g"], mass: Float[Array, "b g"]) -> Array:
        """Return the logarithms as this batch has them."""

    @abstractmethod
    def of_levels(self, levels: Array, mass: Float[Array, "b g"]) -> Float[Array, ""]:
        """Return the objective from its logarithms."""

    @abstractmethod
    def spans_contexts(self) -> bool:
        """Whether one logarithm is around several contexts."""

    def slots(self, tilt: Tilt) -> Int[Array, "..."]:
        """Return the place of each level among all that are followed."""
        return jnp.zeros((), jnp.int32) if self.spans_contexts() else tilt.slots

    def count(self, slots: int) -> int:
        """Return how many logarithms there are on a nominal with so many separate ones."""
        return 1 if self.spans_contexts() else slots

    def per_node(self, levels: Array) -> Array:
        """Return levels so that they broadcast against a tilt's exponents."""
        return levels[..., None]

    def logs(self) -> LogReduction:
        """Itself."""
        return self

    def pooled(self) -> LogOfMean:
        """Return the reduction with a single logarithm in the place of all."""
        return LogOfMean(self.temperature)

    def value(self, log_moments: Float[Array, "*g"], mass: Float[Array, "*g"]) -> Float[Array, ""]:
        """Return the objective of log-moments as they are."""
        return self.of_levels(self.levels(log_moments, mass), mass)


class MeanOfLogs(LogReduction):
    """T · Σ q·u."""

    temperature: Array | float

    def levels(self, log_moments: Float[Array, "b g"], mass: Float[Array, "b g"]) -> Array:
        """One per group."""
        return log_moments

    def of_levels(self, levels: Array, mass: Float[Array, "b g"]) -> Float[Array, ""]:
        """T times their average."""
        return jnp.asarray(self.temperature) * jnp.sum(mass * levels)

    def spans_contexts(self) -> bool:
        """Each group is of one context."""
        return False


class LogOfMean(LogReduction):
    """T · log Σ q·exp(u)."""

    temperature: Array | float

    def levels(self, log_moments: Float[Array, "b g"], mass: Float[Array, "b g"]) -> Array:
        """One in all."""
        return jax.nn.logsumexp(log_moments + jnp.log(mass))

    def of_levels(self, levels: Array, mass: Float[Array, "b g"]) -> Float[Array, ""]:
        """T times it."""
        return jnp.asarray(self.temperature) * levels

    def spans_contexts(self) -> bool:
        """It is around everything."""
        return True
