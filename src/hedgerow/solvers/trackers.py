"""Trackers: estimates of logarithms of expectations that are remembered from step to step.

The gradient of T·log E exp(e) is T·E[exp(e − u)·∇e] with u = log E exp(e). A few nodes estimate u
badly; a tracker mixes this step's log-average into what it remembers,

    u ← log( (1−β)·e^{u + drift} + β·e^now ),

all in the log domain, where nothing overflows. ``drift`` is by how much u moved since it was
remembered, as far as a solver knows.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from hedgerow.ambiguity import LogReduction, Tilt
from hedgerow.kernels import NEVER

Trackers = Float[Array, " slots"]


def no_trackers(reduction: LogReduction, slots: int) -> Trackers:
    """Return trackers that remember nothing yet."""
    return jnp.full(reduction.count(slots), NEVER, jnp.float32)


def updated(
    trackers: Trackers,
    slots: Array,
    now: Array,
    share: ArrayLike,
    drift: ArrayLike = 0.0,
    origin: ArrayLike = 0.0,
) -> tuple[Array, Trackers]:
    """Return this step's estimates of u, and the trackers with them.

    What is remembered is u − ``origin``; ``share`` is β. What was never visited takes this step's
    log-average as it is.
    """
    kept = trackers[slots]
    mixed = log_mix(now, kept + drift, share)
    levels = jax.lax.stop_gradient(jnp.where(kept > NEVER / 2, mixed, now))
    return levels, trackers.at[slots].set(levels - origin)


def followed(
    reduction: LogReduction, tilt: Tilt, mass: Float[Array, "b g"], levels: Array
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Return a function whose gradient is T·Σ mass·exp(e − u)·∇e, and the value.

    The value's own derivative is that of T; the rule acts through the exponents.
    """
    exponents = tilt.log_weights + tilt.exponents - reduction.per_node(levels)
    weights = jax.lax.stop_gradient(mass[:, :, None] * jnp.exp(exponents))
    value = reduction.of_levels(levels, mass)
    temperature = jax.lax.stop_gradient(jnp.asarray(reduction.temperature))
    return value + temperature * jnp.sum(weights * tilt.exponents), value


def log_mix(now: Array, remembered: Array, share: ArrayLike) -> Array:
    """log( (1−share)·e^remembered + share·e^now )."""
    old = jnp.log1p(-jnp.minimum(share, 1 - 1e-6)) + remembered
    return jnp.logaddexp(old, jnp.log(share) + now)
