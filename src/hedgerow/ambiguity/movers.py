"""What moves as one: whole contexts, or every outcome on its own.

A causal adversary moves a context before it sees which outcome occurs there; any other moves each
pair (x̂_k, ŷ_ki) by itself, so a batch of contexts is to it a batch of pairs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Int

from hedgerow.ambiguity.base import Batch, Setting


def single_outcomes(batch: Batch, places: Int[Array, "b s"]) -> Batch:
    """Return the batch of the pairs with outcomes in these places, s for each context."""
    count, each = places.shape[1], jnp.arange(len(places))[:, None]

    def chosen(entries: Any) -> Any:
        return None if entries is None else entries[each, places].reshape(-1, 1, entries.shape[2])

    return Batch(
        contexts=jnp.repeat(batch.contexts, count, axis=0),
        mass=jnp.repeat(batch.mass, count) / count,
        outcomes=chosen(batch.outcomes),
        outcome_mass=jnp.ones((len(batch.contexts) * count, 1), batch.outcome_mass.dtype),
        context_slot=jnp.repeat(batch.context_slot, count),
        entry_slot=batch.entry_slot[each, places].reshape(-1, 1),
        low=chosen(batch.low),
        parameters=None
        if batch.parameters is None
        else jnp.repeat(batch.parameters, count, axis=0),
    )


def setting_of(setting: Setting, batch: Batch, moving: Batch) -> Setting:
    """Return the batch's setting for what moves: losses of rows, once for each mover."""
    count = len(moving.contexts) // len(batch.contexts)
    if count == 1 or not setting.loss.varies():
        return setting
    owner: Any = jnp.repeat(jnp.arange(len(batch.contexts)), count)
    return replace(setting, loss=setting.loss.rows(owner))
