"""One shape for every ambiguity model: tilted exponents over nodes.

For a batch of contexts b, each model lists exponents e_bgj over groups g and nodes j, so that

    value of context b = T · Σ_g q_bg · log Σ_j exp( log_weights_bj + e_bgj ),

with temperature T and group masses q. Causal Sinkhorn has one group per context (the sum over
outcomes stands inside the exponent), Sinkhorn one group per outcome, ERM one node and no curvature.
KL is ``pooled``: one logarithm around the sum over everything. Solvers see only this shape.

Exponents are made in two steps. ``spread`` looks around the batch: where the adversary may move
each context, and what would be decided there. ``tilt_of`` prices what was seen. For most models
only the second depends on the penalty, so a search over penalties spreads once.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from hedgerow._components import Component
from hedgerow.data.nominal import NominalDistribution
from hedgerow.data.training_table import Batch
from hedgerow.data.units import Units
from hedgerow.kernels.kernel import Kernel
from hedgerow.kernels.nodes import Nodes
from hedgerow.losses import Loss
from hedgerow.rules import FittedRule

CLIMBS = 60


class Spread(NamedTuple):
    """What a model sees around a batch: context nodes, the decisions there, and outcome nodes.

    The outcome nodes are None where they are not needed: the loss's log-moment is closed form, or
    the model never moves outcomes.
    """

    points: Float[Array, "b m d"]
    decisions: Float[Array, "b m k"]
    log_weights: Float[Array, "b m"]
    outcomes: Float[Array, "b n j y"] | None = None
    outcome_log_weights: Float[Array, "b n j"] | None = None


class Tilt(NamedTuple):
    """Exponents over nodes, and where the logarithms of their averages are tracked."""

    exponents: Float[Array, "b g m"]
    log_weights: Float[Array, "b #g m"]
    group_mass: Float[Array, "b g"]
    slots: Int[Array, "b g"]

    def log_moments(self) -> Float[Array, "b g"]:
        """Log Σ_j exp(log_weights_j + e_j) of each group."""
        return jax.nn.logsumexp(self.log_weights + self.exponents, axis=-1)


class Neighbourhood(eqx.Module):
    """The kernels around a nominal point, in working units."""

    context: Kernel
    outcome: Kernel


class Setting(eqx.Module):
    """What a model is evaluated with: the working loss, the kernels, and where nodes come from.

    ``neighbourhood`` is None for models whose points never move; ``outcome_nodes`` None means the
    loss's closed-form log-moment. ``climbs`` is how often an ascent may try, where there is one.
    """

    loss: Loss
    neighbourhood: Neighbourhood | None
    context_nodes: Nodes
    outcome_nodes: Nodes | None
    climbs: Int[Array, ""] | int = CLIMBS


class Ambiguity(Component):
    """Base of all ambiguity models (abstract).

    ``pooled``: one logarithm around everything. ``compositional``: there are logarithms to track.
    ``ascends``: there are suprema, found by climbing.
    ``spreads_by_penalty``: where to look depends on the penalty. ``plain``: what a causal model
    comes down to where contexts have one outcome each.
    """

    pooled: ClassVar[bool] = False
    compositional: ClassVar[bool] = True
    ascends: ClassVar[bool] = False
    spreads_by_penalty: ClassVar[bool] = False
    plain: ClassVar[str | None] = None

    @property
    def temperature(self) -> Any:
        """T in the value's formula."""
        raise NotImplementedError

    def resolve(self, units: Units, loss: Loss, nominal: NominalDistribution) -> Ambiguity:
        """Check the model against the problem and return it with numbers in the user's units.

        "auto" scales become numbers; a penalty under which the robust value is infinite is refused.
        """
        return self

    def in_units(self, units: Units) -> Ambiguity:
        """Return the resolved model in working units."""
        return self

    def neighbourhood(self, units: Units, loss: Loss) -> Neighbourhood | None:
        """Kernels of the resolved model in working units; None if points never move."""
        return None

    def slots(self, nominal: NominalDistribution) -> int:
        """How many separate logarithms the model has on this nominal."""
        return 1

    def spread(self, rule: FittedRule, setting: Setting, batch: Batch, key: PRNGKeyArray) -> Spread:
        """Look around a batch; here, at the nominal contexts themselves."""
        points = batch.contexts[:, None, :]
        return Spread(points, decide(rule, points), jnp.zeros_like(points[:, :, 0]))

    def tilt_of(self, spread: Spread, setting: Setting, batch: Batch) -> Tilt:
        """Return the exponents at what was seen."""
        raise NotImplementedError

    def tilt(self, rule: FittedRule, setting: Setting, batch: Batch, key: PRNGKeyArray) -> Tilt:
        """Return the exponents of a batch."""
        return self.tilt_of(self.spread(rule, setting, batch, key), setting, batch)


def decide(rule: FittedRule, points: Float[Array, "*b d"]) -> Float[Array, "*b k"]:
    """Apply a rows-last rule to points with leading batch axes."""
    decisions = rule(points.reshape(-1, points.shape[-1]).T)
    return decisions.T.reshape(*points.shape[:-1], -1)


def losses_in_place(spread: Spread, loss: Loss, batch: Batch) -> Float[Array, "b n 1"]:
    """Ψ(f(x̂_k), ŷ_ki) when nothing was moved: losses at the nominal points themselves."""
    return loss(spread.decisions[:, :1], batch.outcomes)[:, :, None]


def warn_if_causality_is_vacuous(model: Ambiguity, nominal: NominalDistribution) -> None:
    """Say so when contexts have a single outcome, where causal and plain duals coincide."""
    if model.plain is None:
        return
    repeated = float(nominal.context_mass[nominal.count > 1].sum())
    if repeated < 0.01:
        often = "Every context occurs once" if repeated == 0 else "Nearly every context occurs once"
        warnings.warn(
            f"{often}, so {type(model).__name__} coincides with {model.plain} on this nominal; "
            "for causal robustness give contexts several outcomes with "
            "nominal=AdaptedNominal() or nominal=NeighbourNominal().",
            UserWarning,
            stacklevel=4,
        )
