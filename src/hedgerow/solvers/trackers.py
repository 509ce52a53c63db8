"""Trackers: estimates of logarithms of expectations that are remembered from step to step.

The gradient of T·log E exp(e) is T·E[exp(e − u)·∇e] with u = log E exp(e). A few nodes estimate u
badly; a tracker mixes this step's log-average into what it remembers,

    u ← log( (1−β)·e^{u + drift} + β·e^now ),

all in the log domain, where nothing overflows. ``drift`` is by how much u moved since it was
remembered, as far as a solver knows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from hedgerow.ambiguity import LogReduction, Setting, Tilt
from hedgerow.data import Batch
from hedgerow.kernels import NEVER
from hedgerow.solvers.training import At, Objective, Parameters, Step, masses

NOWHERE = 2**31 - 1
"""A slot that no tracker has."""
Trackers = Float[Array, " slots"]
Drift = Callable[[LogReduction, Tilt, Array], tuple[ArrayLike, ArrayLike]]
"""(reduction, this step's tilt and log-averages) → drift, and what u is remembered relative to."""


def no_trackers(reduction: LogReduction, slots: int) -> Trackers:
    """Return trackers that remember nothing yet."""
    return jnp.full(reduction.count(slots), NEVER, jnp.float32)


def tracked_step(
    objective: Objective,
    at: At,
    drawn: tuple[Batch, PRNGKeyArray],
    trackers: Trackers,
    share: ArrayLike,
    logs: Callable[[Parameters], LogReduction | None],
    drift: Drift = lambda reduction, tilt, now: (0.0, 0.0),
    setting: Setting | None = None,
) -> Step:
    """Mix this step's log-averages into the trackers, and differentiate with what they say.

    ``logs`` are the logarithms that are followed, ``share`` is β. What was never visited takes this
    step's log-average as it is; what only fills a batch up, without mass, is not remembered. The
    step's memory is the trackers.
    """
    batch, key = drawn

    def surrogate(parameters: Parameters) -> tuple[Array, tuple[Array, Array]]:
        """A function whose gradient is T·Σ mass·exp(e − u)·∇e, with that of T; the value."""
        reduction: Any = logs(parameters)
        tilt = objective.tilt(parameters, batch, key, setting)
        mass, reserved = masses(tilt, batch), objective.reserved(parameters)
        now = reduction.levels(tilt.log_moments(), mass)
        slots = reduction.slots(tilt._replace(slots=jnp.where(mass > 0, tilt.slots, NOWHERE)))
        moved, origin = drift(reduction, tilt, now)
        kept = trackers.at[slots].get(mode="clip")
        mixed = jnp.where(kept > NEVER / 2, _log_mix(now, kept + moved, share), now)
        levels = jax.lax.stop_gradient(mixed)
        exponents = tilt.log_weights + tilt.exponents - reduction.per_node(levels)
        weights = jax.lax.stop_gradient(mass[:, :, None] * jnp.exp(exponents))
        value = reduction.of_levels(levels, mass)
        temperature = jax.lax.stop_gradient(jnp.asarray(reduction.temperature))
        function = value + temperature * jnp.sum(weights * tilt.exponents)
        remembered = trackers.at[slots].set(levels - origin, mode="drop")
        return function + reserved, (value + reserved, remembered)

    gradient, (value, remembered) = jax.grad(surrogate, has_aux=True)(at.parameters)
    return Step(gradient, value, remembered)


def _log_mix(now: Array, remembered: Array, share: ArrayLike) -> Array:
    """log( (1−share)·e^remembered + share·e^now )."""
    old = jnp.log1p(-jnp.minimum(share, 1 - 1e-6)) + remembered
    return jnp.logaddexp(old, jnp.log(share) + now)
