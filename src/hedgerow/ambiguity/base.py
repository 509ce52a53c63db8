"""One shape for every ambiguity model: tilted exponents over nodes.

For a batch of contexts b, each model lists exponents e_bgj over groups g and nodes j, so that

    value of context b = T · Σ_g q_bg · log Σ_j exp( log_weights_bj + e_bgj ),

with temperature T and group masses q. Causal Sinkhorn has one group per context (the sum over
outcomes stands inside the exponent), Sinkhorn one group per outcome, ERM one node and no curvature.
KL is ``pooled``: one logarithm around the sum over everything. Solvers see only this shape.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from hedgerow import _checks
from hedgerow._components import Component
from hedgerow.kernels import Kernel
from hedgerow.losses import Loss
from hedgerow.nodes import Nodes
from hedgerow.nominal import NominalDistribution
from hedgerow.rules import FittedRule
from hedgerow.units import Units


class Batch(NamedTuple):
    """Some contexts with their outcomes, in working units."""

    contexts: Float[Array, "b d"]
    outcomes: Float[Array, "b n y"]
    outcome_mass: Float[Array, "b n"]
    context_slot: Int[Array, " b"]
    entry_slot: Int[Array, "b n"]


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
    loss's closed-form log-moment.
    """

    loss: Loss
    neighbourhood: Neighbourhood | None
    context_nodes: Nodes
    outcome_nodes: Nodes | None


class Ambiguity(Component):
    """Base of all ambiguity models (abstract)."""

    pooled: ClassVar[bool] = False
    compositional: ClassVar[bool] = True

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

    def tilt(self, rule: FittedRule, setting: Setting, batch: Batch, key: PRNGKeyArray) -> Tilt:
        """Return the exponents of a batch."""
        raise NotImplementedError


class PenalisedAmbiguity(Ambiguity):
    """Shared by models with a penalty λ, counted in units of ``loss_scale``."""

    penalty: Any
    radius: Any
    loss_scale: Any

    def check(self) -> None:
        """There is a penalty, and it is positive."""
        _checks.penalty_or_radius(self.penalty, self.radius)
        _checks.scale("loss_scale", self.loss_scale)

    def resolve(self, units: Units, loss: Loss, nominal: NominalDistribution) -> Ambiguity:
        """Turn an automatic loss scale into a number."""
        if isinstance(self.loss_scale, str):
            return self.replace(loss_scale=units.loss_unit)
        return self

    def in_units(self, units: Units) -> Ambiguity:
        """λ in units of the working loss."""
        penalty = self.penalty * np.float64(self.loss_scale) / units.loss_unit
        return self.replace(penalty=penalty, loss_scale=1.0)


class TransportAmbiguity(PenalisedAmbiguity):
    """Shared by the Sinkhorn models: penalty, epsilon, order and the scales of the cost."""

    traced = ("penalty", "epsilon", "radius", "x_scale", "y_scale", "loss_scale")
    order: int

    def __init__(
        self,
        penalty: float | None = None,
        epsilon: float = 0.1,
        order: int = 2,
        *,
        radius: float | None = None,
        x_scale: Any = 1.0,
        y_scale: Any = 1.0,
        loss_scale: Any = 1.0,
    ) -> None:
        self.penalty = penalty
        self.epsilon = epsilon
        self.order = order
        self.radius = radius
        self.x_scale = x_scale
        self.y_scale = y_scale
        self.loss_scale = loss_scale
        self.check()

    def check(self) -> None:
        """Penalty, epsilon and scales are positive; the order is 1 or 2."""
        super().check()
        _checks.positive("epsilon", self.epsilon)
        _checks.one_of("order", self.order, (1, 2))
        _checks.scale("x_scale", self.x_scale)
        _checks.scale("y_scale", self.y_scale)

    @property
    def temperature(self) -> Any:
        """λε."""
        return self.penalty * self.epsilon

    def resolve(self, units: Units, loss: Loss, nominal: NominalDistribution) -> Ambiguity:
        """Fix the scales, and refuse an inadmissible penalty (paper: condit-1)."""
        x_scale = _resolved("x_scale", self.x_scale, units.x_spread)
        y_scale = _resolved("y_scale", self.y_scale, units.y_unit)
        loss_scale = _resolved("loss_scale", self.loss_scale, np.asarray(units.loss_unit))
        smallest = loss.smallest_penalty(self.order, y_scale, units.constant, nominal.outcomes)
        smallest = smallest / float(loss_scale)
        if np.isinf(smallest):
            raise ValueError(
                f"With order={self.order} the robust value is infinite for every penalty, because "
                "the loss outgrows the transport cost: give the loss a bounded outcome_support"
                + (", or use order=2." if self.order == 1 else ".")
            )
        if not self.penalty > smallest:
            raise ValueError(
                f"penalty={self.penalty:g} makes the robust value infinite (order={self.order}); "
                f"the penalty must be greater than {smallest:.6g}"
                + (", or use order=2." if self.order == 1 else ".")
            )
        return self.replace(x_scale=x_scale, y_scale=y_scale, loss_scale=loss_scale)

    def neighbourhood(self, units: Units, loss: Loss) -> Neighbourhood:
        """Kernels of both coordinates, cut to the loss's outcome support."""
        support = loss.support_for(len(units.y_unit))
        low = high = None
        if support is not None and np.any(np.isfinite(support)):
            low, high = (jnp.asarray(end / units.y_unit) for end in support)
        epsilon = jnp.asarray(self.epsilon)
        x_scale = jnp.asarray(self.x_scale * units.x_factor)
        y_scale = jnp.asarray(self.y_scale / units.y_unit)
        return Neighbourhood(
            context=Kernel(self.order, epsilon, x_scale),
            outcome=Kernel(self.order, epsilon, y_scale, low, high),
        )

    def inner_log_moments(
        self, rule: FittedRule, setting: Setting, batch: Batch, key: PRNGKeyArray
    ) -> tuple[Float[Array, "b m n"], Float[Array, "b m"]]:
        """Return G_ki at every context node, with the nodes' log-weights."""
        around, loss = setting.neighbourhood, setting.loss
        if around is None:
            raise ValueError("A transport model needs kernels around its points; got none.")
        key_context, key_outcome = jax.random.split(key)
        points, log_weights = setting.context_nodes(around.context, batch.contexts, key_context)
        z = decide(rule, points)[:, :, None, :]
        if setting.outcome_nodes is None:
            y = batch.outcomes[:, None, :, :]
            moments = loss.log_moment(z, y, around.outcome, self.temperature)
        else:
            y, y_weights = setting.outcome_nodes(around.outcome, batch.outcomes, key_outcome)
            values = loss(z[:, :, :, None, :], y[:, None]) / self.temperature
            moments = jax.nn.logsumexp(values + y_weights[:, None], axis=-1)
        return moments, log_weights


def decide(rule: FittedRule, points: Float[Array, "*b d"]) -> Float[Array, "*b k"]:
    """Apply a rows-last rule to points with leading batch axes."""
    decisions = rule(points.reshape(-1, points.shape[-1]).T)
    return decisions.T.reshape(*points.shape[:-1], -1)


def losses_at_contexts(rule: FittedRule, loss: Loss, batch: Batch) -> Float[Array, "b n"]:
    """Ψ(f(x̂_k), ŷ_ki): losses at the nominal points themselves."""
    return loss(decide(rule, batch.contexts)[:, None, :], batch.outcomes)


def warn_if_causality_is_vacuous(nominal: NominalDistribution) -> None:
    """Say so when contexts have a single outcome, where causal and plain duals coincide."""
    repeated = float(nominal.context_mass[nominal.count > 1].sum())
    if repeated < 0.01:
        often = "Every context occurs once" if repeated == 0 else "Nearly every context occurs once"
        warnings.warn(
            f"{often}, so CausalSinkhorn coincides with Sinkhorn on this nominal; "
            "for causal robustness give contexts several outcomes with "
            "nominal=AdaptedNominal() or nominal=NeighbourNominal().",
            UserWarning,
            stacklevel=3,
        )


def _resolved(name: str, given: Any, automatic: np.ndarray) -> np.ndarray:
    if isinstance(given, str):
        return automatic
    array = np.asarray(given, dtype=np.float64)
    if array.ndim == 1 and array.shape != np.shape(automatic):
        raise ValueError(
            f"{name} has {array.size} entries, but the data have {np.size(automatic)} column(s)."
        )
    return np.broadcast_to(array, np.shape(automatic))
