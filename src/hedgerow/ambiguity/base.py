"""What every ambiguity model states: where the adversary may look, and what it finds there.

For a batch of contexts b a model lists exponents e_bgj over groups g and nodes j, so that

    log-moment of a group  u_bg = log Σ_j exp( log_weights_bj + e_bgj ),
    objective              = reduction of all u_bg with their masses m_b·q_bg   (``reductions``).

Exponents are made in two steps. ``perturb`` moves the batch: to which contexts, what is decided
there, to which outcomes. ``tilt`` says what that brings. For most models only the second depends on
the penalty, so a search over penalties moves once.

Causal Sinkhorn has one group per context (the sum over outcomes stands inside the exponent),
Sinkhorn one group per outcome; models that reweight have one node per outcome, where it is.

A model written elsewhere needs ``reduction`` and ``tilt``; one that only reweights the nominal
points is a ``Reweighting`` and needs ``risk`` alone. docs/extending.md has an example.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from hedgerow._components import ABSENT, Component
from hedgerow._warnings import HedgerowWarning
from hedgerow.ambiguity.radius_wishes import Moves, RadiusWish
from hedgerow.ambiguity.reductions import Reduction
from hedgerow.data import NominalDistribution, Units
from hedgerow.data.training_table import Batch
from hedgerow.describe.parts import ModelDescription
from hedgerow.kernels import AbstractKernel, Nodes
from hedgerow.losses import Loss, by_row
from hedgerow.rules import FittedRule

CLIMBS = 60


class Perturbed(NamedTuple):
    """Where a model moves a batch: contexts, the decisions there, and outcomes.

    The outcomes are None where none are needed: the loss's log-moment is closed form, or the model
    never moves outcomes. ``penalty`` is the one that the points were sought for; None if they serve
    every penalty.
    """

    points: Float[Array, "b m d"]
    decisions: Float[Array, "b m k"]
    log_weights: Float[Array, "b m"]
    outcomes: Float[Array, "b n j y"] | None = None
    outcome_log_weights: Float[Array, "b n j"] | None = None
    penalty: Float[Array, ""] | None = None


class Tilt(NamedTuple):
    """Exponents over nodes, the groups' shares of their contexts, and their places among all."""

    exponents: Float[Array, "b g m"]
    log_weights: Float[Array, "b #g m"]
    group_mass: Float[Array, "b g"]
    slots: Int[Array, "b g"]

    def log_moments(self) -> Float[Array, "b g"]:
        """Log Σ_j exp(log_weights_j + e_j) of each group."""
        return jax.nn.logsumexp(self.log_weights + self.exponents, axis=-1)


class Inner(NamedTuple):
    """What stands inside the objective's averages: log-moments of outcomes at every node.

    The exponent of context b at node m is Σ_n shares_bn · log_moments_bnm. ``temperature`` is what
    logarithms are multiplied by.
    """

    log_moments: Float[Array, "b n m"]
    log_weights: Float[Array, "b m"]
    shares: Float[Array, "b n"]
    temperature: Float[Array, ""] | float


class Kernels(eqx.Module):
    """The kernels around a nominal point, in working units."""

    context: AbstractKernel
    outcome: AbstractKernel


class Setting(eqx.Module):
    """What a model is evaluated with: the working loss, its kernels, and where nodes come from.

    ``kernels`` is None for models whose points never move; ``outcome_nodes`` None means the loss's
    closed-form log-moment. ``climbs`` is how often an ascent may try, where there is one, and
    ``farthest`` the cost up to which training moves points; None: any.
    """

    loss: Loss
    kernels: Kernels | None
    context_nodes: Nodes
    outcome_nodes: Nodes | None
    climbs: Int[Array, ""] | int = CLIMBS
    farthest: Float[Array, ""] | float | None = None

    def at(self, batch: Batch) -> Setting:
        """Return the setting of a batch: its loss has the parameters of the batch's contexts."""
        if batch.parameters is None:
            return self
        return replace(self, loss=by_row(self.loss, batch.parameters))

    def moving(self) -> Kernels:
        """Return the kernels, which a model that moves points must have."""
        if self.kernels is None:
            raise ValueError("A model that moves points needs kernels; its `kernels` gave none.")
        return self.kernels


class Budget(NamedTuple):
    """What a hard radius leaves the adversary, in working units.

    ``excess`` is ρ̄; the penalty is sought above ``floor``, at which the value becomes infinite.
    """

    excess: float
    floor: float


class Ambiguity(Component):
    """Base of all ambiguity models (abstract).

    ``penalty`` is the price λ of moving the distribution, ``radius`` a limit in its place; a model
    without ambiguity has neither.
    """

    penalty = ABSENT
    radius = ABSENT

    @abstractmethod
    def reduction(self) -> Reduction:
        """Return how log-moments become the objective, at the model's penalty."""

    @abstractmethod
    def tilt(self, perturbed: Perturbed, setting: Setting, batch: Batch) -> Tilt:
        """Return the exponents at what was perturbed."""

    def inner(self, perturbed: Perturbed, setting: Setting, batch: Batch) -> Inner | None:
        """Return the averages that stand inside one another; None if there are none.

        Where the objective is E log E exp Σ_i p̂_i log E(·)_i, as in causal Sinkhorn: the innermost.
        """
        return None

    def kernels(self, units: Units, loss: Loss) -> Kernels | None:
        """Kernels of the resolved model in working units; None if points never move."""
        return None

    def censored_kernels(self, units: Units, loss: Loss) -> Kernels | None:
        """``kernels`` for a nominal with censored outcomes, which are moved upwards only.

        A model that moves outcomes says here that it keeps each above its ``Batch.low``.
        """
        if self.kernels(units, loss) is None:
            return None
        name = type(self).__name__
        raise NotImplementedError(
            f"{name} moves outcomes and does not say that it keeps censored ones above their "
            f"bounds: write {name}.censored_kernels (docs/extending.md shows how), or fit without "
            "censored."
        )

    def perturb(
        self, rule: FittedRule, setting: Setting, batch: Batch, key: PRNGKeyArray
    ) -> Perturbed:
        """Move a batch; here, nowhere: the nominal contexts themselves."""
        points = batch.contexts[:, None, :]
        return Perturbed(points, decide(rule, points), jnp.zeros_like(points[:, :, 0]))

    def movers(self, batch: Batch, places: Int[Array, "b s"]) -> Batch:
        """Return the batch so that each row moves as one: here whole contexts.

        A model in which every outcome moves on its own looks at those in ``places``.
        """
        return batch

    def located(self, names: Sequence[str] | None, features: int) -> Self:
        """Return the model knowing where the columns are that it names, among so many features."""
        return self

    def slots(self, nominal: NominalDistribution) -> int:
        """How many separate logarithms the model has on this nominal."""
        return 1

    def refined(self, setting: Setting, doublings: Any) -> Setting | None:
        """Return a setting that seeks suprema with 2^doublings the least effort; None: none."""
        return None

    def resolve(self, units: Units, loss: Loss, nominal: NominalDistribution) -> Self:
        """Check the model against the data and return it with numbers in the user's units.

        "auto" scales become numbers; a penalty under which the robust value is infinite is refused.
        """
        return self

    def in_units(self, units: Units) -> Self:
        """Return the resolved model in working units."""
        return self

    def at_penalty(self, penalty: Any) -> Self:
        """Return the model at another penalty."""
        priced = self.penalty is not None or self.radius is not None
        return self.replace(penalty=penalty) if priced else self

    def within(self, radius: float) -> Self | None:
        """Return the model with this radius in place of its penalty; None: it has no radius."""
        return None

    def radius_wish(self) -> RadiusWish | None:
        """How the radius is to be found, if it is no number; None: there is nothing to find."""
        return None

    def settled(self, found: Any) -> Self:
        """Return the model with the radius that another one, ``found``, has."""
        return self

    def moves(self, spare: float, share: float) -> Moves | None:
        """Return what a discrepancy of ``spare`` beyond the least allows, for a share of rows.

        Asked of the resolved model; in the data's units. None: the model does not say.
        """
        return None

    def least_discrepancy(
        self, units: Units, loss: Loss, nominal: NominalDistribution, setting: Setting
    ) -> float | None:
        """Return the discrepancy of the least discrepant distribution; None without ambiguity.

        Asked of the model as it was given, since "auto" scales also set the unit of volume.
        """
        return None

    def budget(
        self, units: Units, loss: Loss, nominal: NominalDistribution, setting: Setting
    ) -> Budget | None:
        """Return what the radius leaves, or None without one. Asked of the model as given."""
        return None

    def node_plan(self, planner: Any, level: int) -> Any:
        """Choose how a level's nodes are placed: one of the planner's ways (certify.node_plans).

        ``planner.in_place`` (points never move), ``.integration`` (kernels are integrated over) or
        ``.ascents`` (suprema are sought).
        """
        return planner.in_place(level)

    def worst_case(self, maker: Any) -> Any:
        """Choose what kind of worst case attains the value (certify.worst_cases).

        ``maker.reweighted`` (nominal points with new weights), ``.moved`` (each at a maximiser) or
        ``.gibbs`` (kernels tilted by the loss).
        """
        name = type(self).__name__
        raise NotImplementedError(
            f"{name} does not say what its worst case is: write {name}.worst_case "
            "(docs/extending.md shows how)."
        )

    def bounds(self, bounder: Any) -> Any:
        """Choose how the value is bounded from both sides (certify.bounds).

        ``bounder.exact`` (points never move), ``.integrated`` (kernels are integrated over) or
        ``.climbed`` (suprema are sought). Here nothing is proved.
        """
        return bounder.unknown(self)

    def description(self) -> ModelDescription:
        """Say what the model hedges against."""
        return ModelDescription(type(self).__name__)

    def remarks(self, nominal: NominalDistribution) -> Iterator[HedgerowWarning]:
        """Yield what a user should know about this model on this nominal."""
        return iter(())


def decide(rule: FittedRule, points: Float[Array, "*b d"]) -> Float[Array, "*b k"]:
    """Apply a rows-last rule to points with leading batch axes."""
    decisions = rule(points.reshape(-1, points.shape[-1]).T)
    return decisions.T.reshape(*points.shape[:-1], -1)
