"""Products of decision sets: each block of coordinates in a set of its own."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from hedgerow import _checks, plain
from hedgerow.decisions.base import Block, DecisionSet
from hedgerow.describe.page_form import PageForm


class Product(DecisionSet):
    """A Cartesian product: the first coordinates in the first set, the next in the second.

    What it is asked of its parts it knows if all of them do.

    Examples
    --------
    >>> import hedgerow as hr
    >>> hr.Product(hr.Free(1), hr.Simplex(4)).dimension  # a level, and shares of four assets
    5
    """

    sets: tuple[DecisionSet, ...]

    def __init__(self, *sets: DecisionSet) -> None:
        if not sets:
            raise ValueError("Product needs at least one decision set.")
        for part in sets:
            _checks.instance("Product's parts", part, DecisionSet, "decision sets such as Free(1)")
        self.sets = sets

    @property
    def dimension(self) -> int:
        """Sum of the parts' dimensions."""
        return sum(part.dimension for part in self.sets)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """The parts."""
        return self.sets

    def from_raw(self, raw: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Each block through its own map."""
        blocks = self._paired(raw)
        return jnp.concatenate([part.from_raw(block) for part, block in blocks], axis=-1)

    def to_raw(self, point: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Each block through its own inverse."""
        blocks = self._paired(jnp.asarray(point))
        return jnp.concatenate([part.to_raw(block) for part, block in blocks], axis=-1)

    def start_raw(self, point: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Each block by its own."""
        blocks = self._paired(jnp.asarray(point))
        return jnp.concatenate([part.start_raw(block) for part, block in blocks], axis=-1)

    def contains(self, point: Any, tolerance: float = 1e-6) -> Bool[Array, "*b"]:
        """Whether every block lies in its set."""
        blocks = self._paired(jnp.asarray(point))
        inside = [part.contains(block, tolerance) for part, block in blocks]
        return jnp.all(jnp.stack(inside), axis=0)

    @property
    def scalable(self) -> np.ndarray:
        """Concatenation of the parts' flags."""
        return np.concatenate([part.scalable for part in self.sets])

    def in_units(self, unit: Any) -> DecisionSet:
        """The product of the rescaled parts."""
        return Product(*(part.in_units(block) for part, block in self._paired(unit)))

    def blocks(self, first: int = 0) -> list[Block] | None:
        """The parts' blocks, one after the other."""
        found: list[Block] = []
        for part in self.sets:
            own = part.blocks(first)
            if own is None:
                return None
            found += own
            first += part.dimension
        return found

    def nearest(self, point: np.ndarray) -> np.ndarray | None:
        """Nearest in each part."""
        return _joined([part.nearest(block) for part, block in self._paired(point)])

    def image(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The bounds of each part."""
        pairs = zip(self._paired(low), self._paired(high), strict=True)
        found = [part.image(least, most) for (part, least), (_, most) in pairs]
        known = [bounds for bounds in found if bounds is not None]
        if len(known) < len(found):
            return None
        low_ends, high_ends = zip(*known, strict=True)
        return np.concatenate(low_ends), np.concatenate(high_ends)

    def steepest(self) -> np.ndarray | None:
        """Those of each part."""
        return _joined([part.steepest() for part in self.sets])

    def plain(self) -> plain.Joined | None:
        """The parts' maps."""
        found = [part.plain() for part in self.sets]
        known = tuple(form for form in found if form is not None)
        return plain.Joined(known) if len(known) == len(found) else None

    def page_blocks(self) -> list[PageForm] | None:
        """The parts' blocks, one after the other."""
        found = [part.page_blocks() for part in self.sets]
        known = [forms for forms in found if forms is not None]
        return [form for forms in known for form in forms] if len(known) == len(found) else None

    def _paired(self, array: Any) -> list[tuple[DecisionSet, Any]]:
        """Every part with its own coordinates."""
        ends = np.cumsum([part.dimension for part in self.sets])
        starts = np.concatenate([[0], ends[:-1]])
        return [(part, array[..., a:b]) for part, a, b in zip(self.sets, starts, ends, strict=True)]


def _joined(blocks: list[np.ndarray | None]) -> np.ndarray | None:
    known = [block for block in blocks if block is not None]
    return np.concatenate(known) if len(known) == len(blocks) else None
