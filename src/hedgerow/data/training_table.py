"""The nominal distribution on the device, and how minibatches are drawn from it.

Contexts are drawn with probability m_k, stratified: the unit interval is cut into as many pieces
as the batch has places, and each place draws from its own piece. Cumulative masses are 32-bit
integers, so that a million contexts keep their exact shares where float32 would blur them. A step
costs O(batch · log contexts), whatever the number of rows. Where there are no more contexts than a
batch has places, it is all of them, each with its mass.

Arrays have lengths on a ladder (``hedgerow.ladder``), so that tables of any length share programs:
``total`` contexts come first, and those that follow are padding without mass, which is never drawn,
or drawn with mass 0 to fill a batch.

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

from hedgerow import ladder
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
    "ticks",
    "entry_low",
    "parameters",
)
"""What is lengthened so that tables have one shape."""


class Batch(NamedTuple):
    """Some contexts with their outcomes, in working units.

    ``mass`` is what each context counts: in a draw equal shares of 1, in a part of the nominal
    distribution m_k, and 0 for one that only fills up the places. ``modes``, where known, are
    points around which a context's mass gathers when it is moved. ``low`` is what outcomes of
    censored rows do not fall below; None: there are none. ``parameters`` are those of the loss that
    are read from the contexts; None: it has no such ones.
    """

    contexts: Float[Array, "b d"]
    mass: Float[Array, " b"]
    outcomes: Float[Array, "b n y"]
    outcome_mass: Float[Array, "b n"]
    context_slot: Int[Array, " b"]
    entry_slot: Int[Array, "b n"]
    modes: Float[Array, "b s d"] | None = None
    low: Float[Array, "b n y"] | None = None
    parameters: Float[Array, "b p"] | None = None


class TrainingTable(eqx.Module):
    """Contexts, outcomes and masses in working units, padded; ``total`` contexts are no padding."""

    contexts: Float[Array, "contexts d"]
    outcomes: Float[Array, "rows y"]
    start: Int[Array, " contexts"]
    count: Int[Array, " contexts"]
    entry_outcome: Int[Array, " entries"]
    entry_mass: Float[Array, " entries"]
    ticks: UInt32[Array, " contexts"]
    total: Int[Array, ""]
    most_outcomes: int = eqx.field(static=True)
    entry_low: Float[Array, "entries y"] | None = None
    parameters: Float[Array, "contexts p"] | None = None

    @classmethod
    def build(
        cls,
        nominal: NominalDistribution,
        units: Units,
        outcomes_per_context: int,
        dtype: type[np.floating] = np.float32,
        parameters: Float[np.ndarray, "contexts p"] | None = None,
    ) -> TrainingTable:
        """Move a nominal distribution to the device, in working units, with room on the ladder.

        ``parameters`` are the loss's own at every context (``Problem.parameters``).
        """
        total = len(nominal.contexts)
        cumulative = np.cumsum(nominal.context_mass)
        ticks = np.minimum(np.rint(cumulative / cumulative[-1] * WHOLE), WHOLE - 1)
        low, most = nominal.entry_low, ladder.near(nominal.most_outcomes)
        arrays = {
            "contexts": units.contexts(nominal.contexts, dtype),
            "outcomes": units.outcomes(nominal.outcomes, dtype),
            "start": nominal.start.astype(np.int32),
            "count": nominal.count.astype(np.int32),
            "entry_outcome": nominal.entry_outcome.astype(np.int32),
            "entry_mass": nominal.entry_mass.astype(dtype),
            "ticks": ticks.astype(np.uint32),
        }
        if low is not None:
            arrays["entry_low"] = _low_end(low, units, dtype)
        if parameters is not None:
            arrays["parameters"] = parameters.astype(dtype)
        return cls(
            **{
                name: _on_device(array, ladder.room_beside(total, len(array)))
                for name, array in arrays.items()
            },
            total=jax.device_put(np.int32(total)),
            most_outcomes=min(most, outcomes_per_context),
        )

    @staticmethod
    def alike(tables: Sequence[TrainingTable]) -> list[TrainingTable]:
        """Return tables of one shape, the smaller ones padded with contexts that have no mass."""
        most = max(table.most_outcomes for table in tables)
        sizes = {
            name: max(len(getattr(table, name)) for table in tables)
            for name in PADDED
            if getattr(tables[0], name) is not None
        }
        return [table._padded(sizes, most) for table in tables]

    def _padded(self, sizes: dict[str, int], most_outcomes: int) -> TrainingTable:
        longer = {
            name: _on_device(np.asarray(getattr(self, name)), size)
            for name, size in sizes.items()
            if len(getattr(self, name)) < size
        }
        return replace(self, **longer, most_outcomes=most_outcomes)

    def slots(self, count: int) -> int:
        """Room for so many trackers: for each context, or for each entry."""
        return ladder.room_beside(int(self.total), count)

    def masses(self) -> np.ndarray:
        """m_k of the contexts that are no padding, as far as 32 bits tell."""
        ticks = np.asarray(self.ticks, np.float64)[: int(self.total)]
        return np.diff(ticks, prepend=0.0) / (WHOLE - 1)

    def entry_masses(self) -> Float[Array, " entries"]:
        """m_k·p̂_ki of every entry, 0 for padding."""
        ticks = jnp.diff(self.ticks, prepend=jnp.zeros(1, jnp.uint32))
        last = self.total - 1
        entries = jnp.arange(len(self.entry_mass), dtype=jnp.int32)
        owner = jnp.minimum(jnp.searchsorted(self.start, entries, side="right") - 1, last)
        mass = ticks[owner].astype(self.entry_mass.dtype) * 2.0**-32 * self.entry_mass
        return jnp.where(entries < self.start[last] + self.count[last], mass, 0.0)

    def draw(self, key: PRNGKeyArray, size: int) -> Batch:
        """Draw a minibatch of ``size`` contexts with their outcomes, or of all there is."""
        size = min(size, len(self.contexts))
        key_context, key_outcome = jax.random.split(key)
        contexts, mass = self._draw_contexts(key_context, size)
        return self.gather(contexts, mass, jax.random.uniform(key_outcome, (size, 1)))

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
            parameters=None if self.parameters is None else self.parameters[contexts],
        )

    def _draw_contexts(
        self, key: PRNGKeyArray, size: int
    ) -> tuple[Int[Array, " b"], Float[Array, " b"]]:
        """Contexts, and what each counts: one from every stratum, or all if they are so few."""
        piece = jnp.uint32(min(WHOLE // size, WHOLE - 1))
        offset = jax.random.bits(key, (size,), jnp.uint32) % piece
        tick = jnp.arange(size, dtype=jnp.uint32) * piece + offset
        drawn = jnp.searchsorted(self.ticks, tick, side="right", method="scan_unrolled")
        drawn = jnp.minimum(drawn.astype(jnp.int32), self.total - 1)
        share = jnp.diff(self.ticks[:size], prepend=jnp.zeros(1, jnp.uint32))
        all_of_them = self.total <= size
        mass = jnp.where(all_of_them, share.astype(jnp.float32) * 2.0**-32, 1 / size)
        contexts = jnp.where(all_of_them, jnp.arange(size, dtype=jnp.int32), drawn)
        return contexts, mass.astype(self.contexts.dtype)


def _on_device(array: np.ndarray, size: int) -> Array:
    """Lengthen to ``size`` rows by repeating the last one: padding that every formula can digest.

    Repeated ticks are those of contexts without mass. To be put there compiles nothing, where
    ``jnp.asarray`` has a program for every shape.
    """
    padded = np.empty((size, *array.shape[1:]), array.dtype)
    padded[: len(array)] = array
    padded[len(array) :] = array[-1]
    return jax.device_put(padded)


def _low_end(low: np.ndarray, units: Units, dtype: type[np.floating]) -> np.ndarray:
    """Bounds in working units; −∞ stays: the end of what is cast is no bound."""
    return np.where(np.isneginf(low), -np.inf, units.outcomes(low, dtype)).astype(dtype)
