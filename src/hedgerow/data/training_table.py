"""The nominal distribution on the device, and how minibatches are drawn from it.

Contexts are drawn with probability m_k, stratified: the unit interval is cut into as many pieces
as the batch has places, and each place draws from its own piece. Cumulative masses are 32-bit
integers, so that a million contexts keep their exact shares where float32 would blur them. A step
costs O(batch · log contexts), whatever the number of rows.

A context with at most ``outcomes_per_context`` outcomes brings all of them. A larger one brings a
systematic sample of that size, in the order of its outcomes, the same for all its nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from hedgerow.data.nominal import NominalDistribution
from hedgerow.data.units import Units

WHOLE = 2**32
PADDED = (
    "contexts",
    "outcomes",
    "start",
    "count",
    "entry_outcome",
    "entry_mass",
    "entry_low",
)
"""What is lengthened so that tables have one shape."""


class Batch(NamedTuple):
    """Some contexts with their outcomes, in working units.

    ``mass`` is what each context counts: in a draw equal shares of 1, in a part of the nominal
    distribution m_k. ``modes``, where known, are points around which a context's mass gathers when
    it is moved. ``low`` is what outcomes of censored rows do not fall below; None: there are none.
    """

    contexts: Float[Array, "b d"]
    mass: Float[Array, " b"]
    outcomes: Float[Array, "b n y"]
    outcome_mass: Float[Array, "b n"]
    context_slot: Int[Array, " b"]
    entry_slot: Int[Array, "b n"]
    modes: Float[Array, "b s d"] | None = None
    low: Float[Array, "b n y"] | None = None


class TrainingTable(eqx.Module):
    """Contexts, outcomes and masses in working units."""

    contexts: Float[Array, "contexts d"]
    outcomes: Float[Array, "rows y"]
    start: Int[Array, " contexts"]
    count: Int[Array, " contexts"]
    entry_outcome: Int[Array, " entries"]
    entry_mass: Float[Array, " entries"]
    ticks: UInt32[Array, " contexts"] | None
    most_outcomes: int = eqx.field(static=True)
    entry_low: Float[Array, "entries y"] | None = None

    @classmethod
    def build(
        cls,
        nominal: NominalDistribution,
        units: Units,
        outcomes_per_context: int,
        dtype: type[np.floating] = np.float32,
    ) -> TrainingTable:
        """Move a nominal distribution to the device, in working units."""
        equal = np.ptp(nominal.context_mass) == 0
        cumulative = np.cumsum(nominal.context_mass)
        ticks = np.minimum(np.rint(cumulative / cumulative[-1] * WHOLE), WHOLE - 1)
        low = nominal.entry_low
        return cls(
            contexts=jnp.asarray(units.contexts(nominal.contexts, dtype)),
            outcomes=jnp.asarray(units.outcomes(nominal.outcomes, dtype)),
            start=jnp.asarray(nominal.start.astype(np.int32)),
            count=jnp.asarray(nominal.count.astype(np.int32)),
            entry_outcome=jnp.asarray(nominal.entry_outcome.astype(np.int32)),
            entry_mass=jnp.asarray(nominal.entry_mass.astype(dtype)),
            ticks=None if equal else jnp.asarray(ticks.astype(np.uint32)),
            most_outcomes=min(nominal.most_outcomes, outcomes_per_context),
            entry_low=None if low is None else jnp.asarray(_low_end(low, units, dtype)),
        )

    @staticmethod
    def alike(tables: Sequence[TrainingTable], at_least: int = 0) -> list[TrainingTable]:
        """Return tables of one shape, the smaller ones padded with contexts that have no mass.

        ``at_least`` is the least size that everything is padded to; 0: none.
        """
        shapes = [[leaf.shape for leaf in jax.tree_util.tree_leaves(table)] for table in tables]
        most = max(table.most_outcomes for table in tables)
        if not at_least and all(shape == shapes[0] for shape in shapes):
            return [replace(table, most_outcomes=most) for table in tables]
        sizes = {
            name: max(at_least, *(len(getattr(table, name)) for table in tables))
            for name in PADDED
            if getattr(tables[0], name) is not None
        }
        return [table._padded(sizes, most) for table in tables]

    def _padded(self, sizes: dict[str, int], most_outcomes: int) -> TrainingTable:
        padded = {
            name: jnp.asarray(_lengthened(np.asarray(getattr(self, name)), size))
            for name, size in sizes.items()
        }
        ticks = np.minimum(np.rint(np.cumsum(self.masses()) * WHOLE), WHOLE - 1)
        ticks = np.pad(ticks, (0, sizes["contexts"] - len(ticks)), constant_values=WHOLE - 1)
        return replace(
            self, **padded, ticks=jnp.asarray(ticks.astype(np.uint32)), most_outcomes=most_outcomes
        )

    def masses(self) -> np.ndarray:
        """m_k, as far as 32 bits tell."""
        if self.ticks is None:
            return np.full(len(self.contexts), 1 / len(self.contexts))
        return np.diff(np.asarray(self.ticks, np.float64), prepend=0.0) / (WHOLE - 1)

    def draw(self, key: PRNGKeyArray, size: int) -> Batch:
        """Draw a minibatch of ``size`` contexts with their outcomes."""
        key_context, key_outcome = jax.random.split(key)
        contexts = self._draw_contexts(key_context, size)
        equal = jnp.full(len(contexts), 1 / len(contexts), self.contexts.dtype)
        phase = jax.random.uniform(key_outcome, (len(contexts), 1))
        return self.gather(contexts, equal, phase)

    def gather(
        self,
        contexts: Int[Array, " b"],
        mass: Float[Array, " b"],
        phase: Float[Array, "b 1"] | float = 0.5,
    ) -> Batch:
        """Collect the given contexts, each with what it counts.

        ``phase`` places the systematic sample of the outcomes of large ones.
        """
        n = self.most_outcomes
        count = self.count[contexts][:, None]
        place = jnp.arange(n, dtype=jnp.int32)
        complete = count <= n
        sampled = ((place + phase) * (count / n)).astype(jnp.int32)
        place_in_context = jnp.minimum(jnp.where(complete, place, sampled), count - 1)
        entries = self.start[contexts][:, None] + place_in_context
        shares = jnp.where(complete & (place >= count), 0.0, self.entry_mass[entries])
        return Batch(
            contexts=self.contexts[contexts],
            outcomes=self.outcomes[self.entry_outcome[entries]],
            mass=mass,
            outcome_mass=shares / jnp.sum(shares, axis=1, keepdims=True),
            context_slot=contexts,
            entry_slot=entries,
            low=None if self.entry_low is None else self.entry_low[entries],
        )

    def _draw_contexts(self, key: PRNGKeyArray, size: int) -> Int[Array, " b"]:
        total = len(self.contexts)
        if size >= total and self.ticks is None:
            return jnp.arange(total, dtype=jnp.int32)
        piece = jnp.uint32(min(WHOLE // size, WHOLE - 1))
        offset = jax.random.bits(key, (size,), jnp.uint32) % piece
        tick = jnp.arange(size, dtype=jnp.uint32) * piece + offset
        if self.ticks is not None:
            drawn = jnp.searchsorted(self.ticks, tick, side="right")
        else:
            drawn = (tick.astype(jnp.float32) * (total / WHOLE)).astype(jnp.int32)
        return jnp.minimum(drawn, total - 1).astype(jnp.int32)


def _lengthened(array: np.ndarray, size: int) -> np.ndarray:
    """Repeat the last row until there are ``size``: padding that every formula can digest."""
    return np.concatenate([array, np.repeat(array[-1:], size - len(array), axis=0)])


def _low_end(low: np.ndarray, units: Units, dtype: type[np.floating]) -> np.ndarray:
    """Bounds in working units; −∞ stays: the end of what is cast is no bound."""
    return np.where(np.isneginf(low), -np.inf, units.outcomes(low, dtype)).astype(dtype)
