"""Sets of decisions that each lie in an interval of their own: free, non-negative, in a box.

    Free          z = raw
    Nonnegative   z = softplus(raw)
    Box           z = low + (high − low)·sigmoid(raw)     (softplus at a one-sided end)

All maps are increasing, coordinate by coordinate.
"""

from __future__ import annotations

from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from hedgerow import _checks, plain
from hedgerow.decisions.base import (
    EDGE,
    START_EDGE,
    Block,
    DecisionSet,
    UnitFree,
    interval_blocks,
    mapped,
)
from hedgerow.describe.page_form import PageForm, asset


class Intervals(DecisionSet):
    """What sets between two ends per coordinate share (abstract)."""

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper end of each coordinate; may be infinite."""
        raise NotImplementedError

    def blocks(self, first: int = 0) -> list[Block]:
        """One block per coordinate."""
        return interval_blocks("z", *self.ends(), first=first)

    def nearest(self, point: np.ndarray) -> np.ndarray:
        """The point, each coordinate moved between its ends."""
        return np.clip(point, *self.ends())

    def image(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The images of the ends."""
        return mapped(self, low), mapped(self, high)

    def steepest(self) -> np.ndarray:
        """1, or a quarter of the length between two ends."""
        length = np.subtract(*self.ends()[::-1])
        return np.where(np.isfinite(length), length / 4, 1.0)

    def plain(self) -> plain.Intervals:
        """Both ends."""
        return plain.Intervals(*self.ends())

    def page_blocks(self) -> list[PageForm]:
        """One block with both ends, null where there is none."""
        low, high = (
            [float(end) if np.isfinite(end) else None for end in side] for side in self.ends()
        )
        parameters = {"size": self.dimension, "low": low, "high": high}
        return [PageForm(asset("hedgerow.decisions", "intervals.js"), parameters)]


class Free(UnitFree, Intervals):
    """All of R^d.

    Examples
    --------
    >>> import hedgerow as hr
    >>> hr.Newsvendor(1, 3, decision_set=hr.Free(1)).decision_set.dimension
    1
    """

    def from_raw(self, raw: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Identity."""
        return raw

    def to_raw(self, point: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Identity."""
        return jnp.asarray(point)

    def contains(self, point: Any, tolerance: float = 1e-6) -> Bool[Array, "*b"]:
        """Whether every coordinate is finite."""
        return jnp.all(jnp.isfinite(jnp.asarray(point)), axis=-1)

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """None."""
        return np.full(self.size, -np.inf), np.full(self.size, np.inf)


class Nonnegative(UnitFree, Intervals):
    """The orthant z >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> import hedgerow as hr
    >>> bool(hr.Nonnegative(2).contains(np.array([0.0, 3.5])))
    True
    """

    def from_raw(self, raw: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """softplus(raw)."""
        return jax.nn.softplus(raw)

    def to_raw(self, point: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Invert softplus."""
        return _inverse_softplus(jnp.maximum(jnp.asarray(point), EDGE))

    def start_raw(self, point: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Invert softplus not too near 0."""
        return self.to_raw(jnp.maximum(jnp.asarray(point), START_EDGE))

    def contains(self, point: Any, tolerance: float = 1e-6) -> Bool[Array, "*b"]:
        """Whether every coordinate is at least -tolerance."""
        return jnp.all(jnp.asarray(point) >= -tolerance, axis=-1)

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """From 0 on."""
        return np.zeros(self.size), np.full(self.size, np.inf)


class Box(Intervals):
    """low <= z <= high, coordinate by coordinate; either end may be infinite.

    Examples
    --------
    >>> import numpy as np
    >>> import hedgerow as hr
    >>> bool(hr.Box(0.0, 150.0).contains(np.array([151.0])))
    False
    """

    low: Float[Array, " d"]
    high: Float[Array, " d"]
    has_low: tuple[bool, ...] = eqx.field(static=True)
    has_high: tuple[bool, ...] = eqx.field(static=True)

    def __init__(self, low: Any, high: Any) -> None:
        low_array, high_array = _checks.bounds("Box", np.atleast_1d(low), np.atleast_1d(high))
        self.low, self.high = cast(Array, low_array), cast(Array, high_array)
        self.has_low = tuple(np.isfinite(low_array).tolist())
        self.has_high = tuple(np.isfinite(high_array).tolist())

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return len(self.has_low)

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Both ends."""
        return self.low, self.high

    def from_raw(self, raw: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Scaled sigmoid, softplus from a single end, or identity, per coordinate."""
        low, high, below, above = self._parts(raw.dtype)
        two_sided = low + (high - low) * jax.nn.sigmoid(raw)
        one_sided = jnp.where(
            below, low + jax.nn.softplus(raw), jnp.where(above, high - jax.nn.softplus(-raw), raw)
        )
        return jnp.where(below & above, two_sided, one_sided)

    def to_raw(self, point: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Invert the map of each coordinate."""
        return self._raw(point, EDGE)

    def start_raw(self, point: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Invert it not too near an end."""
        return self._raw(point, START_EDGE)

    def _raw(self, point: Float[Array, "*b d"], edge: float) -> Float[Array, "*b d"]:
        point = jnp.asarray(point)
        low, high, below, above = self._parts(point.dtype)
        share = jnp.clip((point - low) / (high - low), edge, 1 - edge)
        from_low = _inverse_softplus(jnp.maximum(point - low, edge))
        from_high = -_inverse_softplus(jnp.maximum(high - point, edge))
        one_sided = jnp.where(below, from_low, jnp.where(above, from_high, point))
        return jnp.where(below & above, jnp.log(share) - jnp.log1p(-share), one_sided)

    def contains(self, point: Any, tolerance: float = 1e-6) -> Bool[Array, "*b"]:
        """Whether every coordinate lies between its ends."""
        point = jnp.asarray(point)
        return jnp.all((point >= self.low - tolerance) & (point <= self.high + tolerance), axis=-1)

    def in_units(self, unit: Any) -> DecisionSet:
        """The box of z / unit."""
        return eqx.tree_at(
            lambda box: (box.low, box.high), self, (self.low / unit, self.high / unit)
        )

    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Both."""
        return np.asarray(self.low, np.float64), np.asarray(self.high, np.float64)

    def _parts(self, dtype: Any) -> tuple[Array, Array, np.ndarray, np.ndarray]:
        """Ends with placeholders (0 and 1) where infinite, and which ends are finite."""
        below, above = np.array(self.has_low), np.array(self.has_high)
        low = jnp.where(below, jnp.asarray(self.low, dtype), 0.0)
        high = jnp.where(above, jnp.asarray(self.high, dtype), 1.0)
        return low, high, below, above


def _inverse_softplus(value: Array) -> Array:
    return value + jnp.log(-jnp.expm1(-value))
