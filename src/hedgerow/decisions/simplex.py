"""The simplex: decisions are shares of a whole, z = softmax(raw)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from hedgerow import _checks, plain
from hedgerow.decisions.base import EDGE, Block, UnitFree, mapped
from hedgerow.describe.page_form import PageForm, asset

SHARE = 0.3
"""Of an even share: what training gives a coordinate of a simplex at least to begin with. Gradients
through softmax are proportional to the shares themselves, so smaller ones hardly ever grow."""


class Simplex(UnitFree):
    """z >= 0 with coordinates that sum to 1 (portfolio weights, mixing proportions).

    Examples
    --------
    >>> import numpy as np
    >>> import hedgerow as hr
    >>> shares = np.asarray(hr.Simplex(3).from_raw(np.zeros(3)))
    >>> bool(abs(shares - 1 / 3).max() < 1e-6)
    True
    """

    def __init__(self, dimension: int) -> None:
        self.size = _checks.count("dimension", dimension, least=2)

    def from_raw(self, raw: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """softmax(raw)."""
        return jax.nn.softmax(raw, axis=-1)

    def to_raw(self, point: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Logarithms, kept finite at the boundary."""
        return jnp.log(jnp.maximum(jnp.asarray(point), EDGE / self.dimension))

    def start_raw(self, point: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Logarithms, with no share so small that it could not grow."""
        return jnp.log(jnp.maximum(jnp.asarray(point), SHARE / self.dimension))

    def contains(self, point: Any, tolerance: float = 1e-6) -> Bool[Array, "*b"]:
        """Whether coordinates are non-negative and sum to 1."""
        point = jnp.asarray(point)
        sums = jnp.abs(jnp.sum(point, axis=-1) - 1) <= tolerance * self.dimension
        return jnp.all(point >= -tolerance, axis=-1) & sums

    @property
    def scalable(self) -> np.ndarray:
        """Shares have no units."""
        return np.zeros(self.dimension, dtype=bool)

    def blocks(self, first: int = 0) -> list[Block]:
        """One block, with the corners of the simplex."""
        return [Block("z", first, np.eye(self.size), np.zeros((0, self.size)))]

    def image(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A share is least when its raw number is low and the others are high."""
        own = np.eye(self.size, dtype=bool)
        least, most = np.where(own, low[:, None], high), np.where(own, high[:, None], low)
        return np.diag(mapped(self, least)), np.diag(mapped(self, most))

    def plain(self) -> plain.Shares:
        """Shares."""
        return plain.Shares(self.size)

    def page_blocks(self) -> list[PageForm]:
        """One block, whose coordinates depend on each other."""
        return [PageForm(asset("hedgerow.decisions", "simplex.js"), {"size": self.size})]
