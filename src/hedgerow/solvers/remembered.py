"""Losses remembered from step to step: gradients of a risk that a minibatch cannot tell.

A risk of losses Ψ_i with masses m_i, such as a divergence's worst expectation, has the gradient

    Σ_i m_i·w_i·∇Ψ_i,      w_i = (∂risk/∂Ψ_i) / m_i,

but the weights w_i depend on all losses, and those of a batch alone are biased. So every row's last
loss is remembered; a step brings its own up to date, asks the risk for the weights of all, and
averages over its batch with them. Where a batch holds everything this is the exact gradient.
A step costs O(entries) besides the batch, as sums go, not as decisions do.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow.data import Batch
from hedgerow.kernels import NEVER
from hedgerow.solvers.nested import nested_step
from hedgerow.solvers.trackers import NOWHERE
from hedgerow.solvers.training import At, Objective, Parameters, Step, masses


class Remembered(NamedTuple):
    """Last losses of the nominal distribution's entries, and their masses."""

    losses: Float[Array, " entries"]
    mass: Float[Array, " entries"]


def memory_without_logs(objective: Objective, parameters: Parameters) -> Remembered | tuple[()]:
    """Return the first memory where no logarithms are followed: of losses, or of nothing."""
    reduction = objective.reduction(parameters)
    if reduction.is_linear() or not reduction.is_of_entries():
        return ()
    return _nothing_remembered(objective)


def step_without_logs(objective: Objective, at: At, drawn: tuple[Batch, PRNGKeyArray]) -> Step:
    """Step where no logarithms are followed."""
    if isinstance(at.memory, Remembered):
        return remembered_step(objective, at, at.memory, drawn)
    return nested_step(objective, at, *drawn)


def _nothing_remembered(objective: Objective) -> Remembered:
    """What was never seen does not count."""
    mass = objective.table.entry_masses()
    return Remembered(jnp.full_like(mass, NEVER), mass)


def remembered_step(
    objective: Objective, at: At, memory: Remembered, drawn: tuple[Batch, PRNGKeyArray]
) -> Step:
    """Bring the batch's losses up to date, and differentiate with the weights of all."""
    batch, key = drawn

    def surrogate(parameters: Parameters) -> tuple[Array, tuple[Array, Array]]:
        """A function with the gradient in question, that in the penalty included; the value."""
        reduction = objective.reduction(parameters)
        tilt = objective.tilt(parameters, batch, key)
        now, mass = tilt.log_moments(), masses(tilt, batch)
        slots = jnp.where(mass > 0, tilt.slots, NOWHERE)
        kept = memory.losses.at[slots].set(jax.lax.stop_gradient(now), mode="drop")
        seen = kept > NEVER / 2
        share = jnp.where(seen, memory.mass, 0.0)
        share = share / jnp.sum(share)
        risk, slopes = jax.value_and_grad(reduction.value)(jnp.where(seen, kept, 0.0), share)
        weights = slopes / jnp.where(share > 0, share, 1.0)
        own = jax.lax.stop_gradient(weights.at[slots].get(mode="fill", fill_value=0.0))
        reserved = objective.reserved(parameters)
        function = risk + jnp.sum(jax.lax.stop_gradient(mass) * own * now) + reserved
        return function, (risk + reserved, kept)

    gradient, (value, kept) = jax.grad(surrogate, has_aux=True)(at.parameters)
    return Step(gradient, value, memory._replace(losses=kept))
