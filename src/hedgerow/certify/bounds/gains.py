"""What decisions bring, tabulated so that what lies between the entries is bounded from above.

With a model's penalty given, every group of moments (a context; a single outcome where outcomes
move on their own) has a function h of the decision, the exponent of its tilt:

    h(z) = Σ_i p̂_i·G_i(z)                                     Sinkhorn's models
    h(z) = Σ_i p̂_i·sup_y { Ψ(z, y) − λ‖(y − ŷ_i)/s_y‖_p^p }   Wasserstein's

It is convex where the loss is convex in the decision. Chords of a convex function lie above it, so
a table and its linear interpolation bound h from above; and over a box the largest value is at a
corner.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from hedgerow.ambiguity import Perturbed, Setting
from hedgerow.ambiguity.base import Ambiguity, Batch
from hedgerow.ambiguity.movers import setting_of
from hedgerow.ambiguity.outcome_moves import best_responses
from hedgerow.certify.moments import Moments
from hedgerow.programs import program

ENTRIES = 257
"""Of a table of one decision."""
AT_ONCE = 64
"""Decisions that are tabulated at a time."""
MOST_CORNERS = 2**8


@dataclass(frozen=True)
class Gains:
    """h of every group at evenly spaced decisions between two ends.

    Beyond the ends it is what keeps it convex and above h of the nearest end.
    """

    low: float
    high: float
    values: Float[np.ndarray, "groups entries"]
    outward: Float[np.ndarray, "2 groups"]

    @classmethod
    def of(cls, low: float, high: float, values: np.ndarray) -> Gains:
        """A table whose chords at the ends are continued, where they rise outwards."""
        step = (high - low) / (values.shape[1] - 1)
        falling, rising = values[:, 0] - values[:, 1], values[:, -1] - values[:, -2]
        outward = np.maximum(np.array([falling, rising]) / step, 0.0)
        return cls(low, high, values, outward)

    def some(self, groups: np.ndarray) -> Gains:
        """The table of some groups."""
        return Gains(self.low, self.high, self.values[groups], self.outward[:, groups])

    def coarser(self, factor: int) -> Gains:
        """Every so many entries only: chords of chords, so an upper bound still."""
        return replace(self, values=self.values[:, ::factor])

    def at(self, z: Float[np.ndarray, "groups ..."]) -> Float[np.ndarray, "groups ..."]:
        """An upper bound on h, each group at decisions of its own."""
        entries = self.values.shape[1]
        position = (np.clip(z, self.low, self.high) - self.low) * (
            (entries - 1) / (self.high - self.low)
        )
        left = np.minimum(position.astype(np.int64), entries - 2)
        share = position - left
        first = np.arange(len(self.values)).reshape(-1, *(1,) * (z.ndim - 1)) * entries
        flat = self.values.ravel()
        place = first + left
        inside = (1 - share) * flat[place] + share * flat[place + 1]
        shape = (-1, *(1,) * (z.ndim - 1))
        below = np.maximum(self.low - z, 0.0) * self.outward[0].reshape(shape)
        return inside + below + np.maximum(z - self.high, 0.0) * self.outward[1].reshape(shape)


def decisions_between(low: float, high: float) -> Float[np.ndarray, "m 1"]:
    """The decisions of a table."""
    return np.linspace(low, high, ENTRIES)[:, None]


def corners(low: np.ndarray, high: np.ndarray) -> Float[np.ndarray, "corners k"] | None:
    """All corners of a box; None if it has too many, or does not end."""
    if not np.all(np.isfinite([low, high])) or 2 ** len(low) > MOST_CORNERS:
        return None
    return np.array(list(itertools.product(*zip(low, high, strict=True))))


def integrated_gains(
    moments: Moments, penalty: float, decisions: Float[np.ndarray, "m k"]
) -> Float[np.ndarray, "groups m"]:
    """Exponents of every group of every context at decisions, context by context."""
    return _of_all(_exponents, moments, penalty, decisions)


def climbed_gains(
    moments: Moments, penalty: float, decisions: Float[np.ndarray, "m k"]
) -> Float[np.ndarray, "groups m"]:
    """The same with outcomes at their worst, one group per context's movers."""
    return _of_all(_heights, moments, penalty, decisions)


def _of_all(
    gains: Callable[..., Array], moments: Moments, penalty: float, decisions: np.ndarray
) -> np.ndarray:
    model = moments.model.at_penalty(jax.device_put(np.float64(penalty)))
    found = [
        np.asarray(gains(model, moments.setting, batch, decisions)) for batch in moments.batches()
    ]
    whole = np.concatenate(found)[: len(moments.contexts)]
    return whole.reshape(-1, whole.shape[-1])


@program
def _exponents(
    model: Ambiguity, setting: Setting, batch: Batch, decisions: Float[Array, "m k"]
) -> Float[Array, "b g m"]:
    setting = setting.at(batch)

    def at(decision: Array) -> Array:
        everywhere = jnp.broadcast_to(decision, (len(batch.contexts), 1, len(decision)))
        nothing = jnp.zeros(everywhere.shape[:2], everywhere.dtype)
        seen = Perturbed(batch.contexts[:, None], everywhere, nothing)
        return model.tilt(seen, setting, batch).exponents[:, :, 0]

    return jnp.moveaxis(jax.lax.map(at, decisions, batch_size=AT_ONCE), 0, -1)


@program
def _heights(
    model: Ambiguity, setting: Setting, batch: Batch, decisions: Float[Array, "m k"]
) -> Float[Array, "b g m"]:
    rows, outcomes = batch.outcome_mass.shape
    moving = model.movers(batch, jnp.broadcast_to(jnp.arange(outcomes), (rows, outcomes)))
    setting = setting_of(setting.at(batch), batch, moving)

    def at(decision: Array) -> Array:
        everywhere = jnp.broadcast_to(decision, (len(moving.contexts), 1, len(decision)))
        worst: Any = best_responses(setting, everywhere, moving, model.penalty)
        losses = setting.loss(everywhere[:, :, None, :], worst)[:, 0]
        paid = setting.moving().outcome.cost(moving.outcomes, worst[:, 0])
        return jnp.sum(moving.outcome_mass * (losses - model.penalty * paid), axis=-1)

    heights = jnp.moveaxis(jax.lax.map(at, decisions, batch_size=AT_ONCE), 0, -1)
    return heights.reshape(rows, -1, len(decisions))
