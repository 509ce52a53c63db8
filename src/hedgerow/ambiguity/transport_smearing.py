"""Sinkhorn's models: mass is moved by kernels, and smeared out by what costs least.

With regularisation ε, moving mass according to the kernels Q_ε ⊗ W_ε ∝ exp(−c_p/ε) is what costs
least, and its discrepancy is  −ε·( E log-normaliser of Q_ε + E log-normaliser of W_ε ), with the
true normalisers of truncated kernels (paper: the constant before Eq:MCO:whole).
"""

from __future__ import annotations

from typing import Any, Self

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow import _checks, ladder
from hedgerow.ambiguity.base import Batch, Kernels, Perturbed, Setting, decide
from hedgerow.ambiguity.outcome_moves import closed_log_moments, outcome_nodes
from hedgerow.ambiguity.reductions import MeanOfLogs
from hedgerow.ambiguity.transport_cost import PINNED, TransportAmbiguity
from hedgerow.data import NominalDistribution, Units
from hedgerow.kernels import AbstractKernel, Nodes
from hedgerow.losses import Loss
from hedgerow.programs import program
from hedgerow.rules import FittedRule

EPSILONS, TEMPERATURES = (1e-10, 1e6), (1e-8, 1e7)
"""Working units within which ε and λε can be told from 0, and from infinity, in float32."""
MOST_CENTRES = 2**16
"""Normalisers that are computed at a time."""


class SinkhornAmbiguity(TransportAmbiguity):
    """Shared by the Sinkhorn models, which smear points out: ε, kernels, moments over them."""

    traced = (*TransportAmbiguity.traced, "epsilon")
    epsilon: float = 0.1
    order: float = 2

    def check(self) -> None:
        """Epsilon is positive too."""
        super().check()
        _checks.positive("epsilon", self.epsilon)

    @property
    def temperature(self) -> Any:
        """T = λε."""
        return self.penalty * self.epsilon

    def in_units(self, units: Units) -> Self:
        """In working units; ε and λε within what float32 can tell apart."""
        working = super().in_units(units)
        widest = np.max(
            np.concatenate([self.y_scale / units.y_unit, self.x_scale * units.x_factor])
        )
        if widest > PINNED:  # else nothing moves anyway
            _checks.within_reach("epsilon", self.epsilon, widest**-self.order, *EPSILONS)
        if self.penalty is not None:
            unit = units.loss_unit / float(self.loss_scale)
            _checks.within_reach("penalty·epsilon", self.temperature, unit, *TEMPERATURES)
        return working

    def kernels(self, units: Units, loss: Loss) -> Kernels:
        """Kernels with the model's own ε."""
        return self._kernels(units, loss, self.epsilon)

    def reduction(self) -> MeanOfLogs:
        """One logarithm per group, at the temperature λε."""
        return MeanOfLogs(self.temperature)

    def node_plan(self, planner: Any, level: int) -> Any:
        """Kernels are integrated over."""
        return planner.integration(level, float(self.epsilon))

    def worst_case(self, maker: Any) -> Any:
        """Kernels tilted by the loss."""
        return maker.gibbs()

    def bounds(self, bounder: Any) -> Any:
        """Kernels are integrated over."""
        return bounder.integrated()

    def least_discrepancy(
        self, units: Units, loss: Loss, nominal: NominalDistribution, setting: Setting
    ) -> float:
        """−ε·(E log-normaliser of the context kernel + E log-normaliser of the outcome kernel).

        Volume is counted in the user's units; in units of the scales where those are "auto", so
        that changing units changes nothing there. Features that never vary take no part.
        """
        around = setting.moving()
        contexts = _mean_log_normaliser(
            around.context,
            setting.context_nodes,
            units.contexts(nominal.contexts, np.float64),
            nominal.context_mass,
            None if isinstance(self.x_scale, str) else units.x_spread,
        )
        outcomes = _mean_log_normaliser(
            around.outcome,
            setting.outcome_nodes,
            units.outcomes(nominal.outcomes, np.float64)[nominal.entry_outcome],
            nominal.joint_mass(),
            None if isinstance(self.y_scale, str) else units.y_unit,
            None if nominal.entry_low is None else nominal.entry_low / units.y_unit,
        )
        return -float(self.epsilon) * (contexts + outcomes)

    def perturb(
        self, rule: FittedRule, setting: Setting, batch: Batch, key: PRNGKeyArray
    ) -> Perturbed:
        """Place nodes around contexts and, where the loss needs them, around outcomes."""
        around = setting.moving()
        key_context, key_outcome = jax.random.split(key)
        if batch.modes is None:
            points, log_weights = setting.context_nodes(around.context, batch.contexts, key_context)
        else:
            points, log_weights = _around_modes(
                around.context, setting.context_nodes, batch.contexts, batch.modes, key_context
            )
        moved = Perturbed(points, decide(rule, points), log_weights)
        if setting.outcome_nodes is None:
            return moved
        y, y_weights = outcome_nodes(setting, batch, key_outcome)
        return moved._replace(outcomes=y, outcome_log_weights=y_weights)

    def inner_log_moments(
        self, perturbed: Perturbed, setting: Setting, batch: Batch
    ) -> Float[Array, "b m n"]:
        """G_ki at every context node."""
        if perturbed.outcomes is None or perturbed.outcome_log_weights is None:
            return closed_log_moments(setting, perturbed.decisions, batch, self.temperature)
        z = perturbed.decisions[:, :, None, None, :]
        values = setting.loss(z, perturbed.outcomes[:, None]) / self.temperature
        return jax.nn.logsumexp(values + perturbed.outcome_log_weights[:, None], axis=-1)


def _around_modes(
    kernel: AbstractKernel,
    nodes: Nodes,
    centre: Float[Array, "b d"],
    modes: Float[Array, "b s d"],
    key: PRNGKeyArray,
) -> tuple[Float[Array, "b m d"], Float[Array, "b m"]]:
    """Nodes around the centre and around each mode, weighted as one mixture.

    With n nodes around each of the s + 1 places the weight of a node is the centre's kernel over
    n·Σ (all kernels): right wherever the modes were thought to be, and even where they truly are.
    """
    places = jnp.concatenate([centre[:, None], modes], axis=1)
    points, log_weights = nodes(kernel, places, key)
    points = points.reshape(len(centre), -1, centre.shape[-1])
    # the weight of a node around its own place is the kernel over what nodes are drawn from
    own = jnp.repeat(places, points.shape[1] // places.shape[1], axis=1)
    drawn = log_weights.reshape(len(centre), -1)
    drawn = drawn - (kernel.log_nearness(own, points) - kernel.log_proposal(own, points))
    mixture = jax.nn.logsumexp(kernel.log_proposal(places[:, None], points[:, :, None]), axis=-1)
    return points, kernel.log_nearness(centre[:, None], points) - mixture + drawn


def _mean_log_normaliser(
    kernel: AbstractKernel,
    nodes: Nodes | None,
    centres: np.ndarray,
    mass: np.ndarray,
    unit: np.ndarray | None,
    low: np.ndarray | None = None,
) -> float:
    """Mean log-normaliser over Lebesgue measure in ``unit`` (None: in the kernel's scales).

    Over a discrete reference measure, where there is one, which has no unit. Kernels of censored
    outcomes are cut from below, each where ``low`` says.
    """
    measure = None if nodes is None else nodes.reference()
    size = ladder.piece(len(centres), MOST_CENTRES)
    rows = np.pad(np.arange(len(centres)), (0, -len(centres) % size), mode="edge")
    each = [
        _log_normalisers(kernel, measure, centres[some], None if low is None else low[some])
        for some in rows.reshape(-1, size)
    ]
    mean = float(mass @ np.concatenate(each)[: len(centres)])
    if measure is not None:
        return mean
    scale, free = np.asarray(kernel.scale), np.asarray(kernel.lebesgue)
    return mean + float(np.sum(np.log(1 / scale[free] if unit is None else unit[free])))


@program(brief=True)
def _log_normalisers(
    kernel: AbstractKernel,
    measure: Any,
    centres: Float[Array, "b d"],
    low: Float[Array, "b d"] | None,
) -> Float[Array, " b"]:
    kernel = kernel if low is None else kernel.above(low)
    if measure is not None:
        return measure.log_normaliser(kernel, centres)
    return kernel.log_normaliser(centres)
