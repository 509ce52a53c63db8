"""Decision sets: convex sets Z and smooth maps onto them.

A forest's decision is a convex combination of its leaves, so leaves inside Z make every decision
for every context feasible by construction. Leaves are free parameters ("raw") sent through a map:

    Free          z = raw
    Nonnegative   z = softplus(raw)
    Box           z = low + (high − low)·sigmoid(raw)     (softplus at a one-sided end)
    Simplex       z = softmax(raw)
    Product       each block through its own map
"""

from __future__ import annotations

from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from hedgerow import _checks

EDGE = 1e-3
"""How far inside a bounded set ``to_raw`` places a point that lies on its boundary."""
SHARE = 0.3
"""Of an even share: what training gives a coordinate of a simplex at least to begin with. Gradients
through softmax are proportional to the shares themselves, so smaller ones hardly ever grow."""


class DecisionSet(eqx.Module):
    """A convex set of decisions of a given dimension (abstract)."""

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        raise NotImplementedError

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What the constructor was given: enough to print, store and rebuild the set."""
        return (self.dimension,)

    def __repr__(self) -> str:
        """Print as one would write it."""
        shown = (a.tolist() if isinstance(a, np.ndarray) else a for a in self.arguments)
        return f"{type(self).__name__}({', '.join(map(str, shown))})"

    def from_raw(self, raw: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Map free parameters onto the set."""
        raise NotImplementedError

    def to_raw(self, point: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Return parameters whose image is ``point`` (moved inside if it is on the boundary)."""
        raise NotImplementedError

    def start_raw(self, point: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Return parameters to begin training with, near ``point`` but not where gradients die."""
        return self.to_raw(point)

    def contains(self, point: Any, tolerance: float = 1e-6) -> Bool[Array, "*b"]:
        """Whether each point lies in the set, up to ``tolerance``."""
        raise NotImplementedError

    @property
    def scalable(self) -> np.ndarray:
        """Which coordinates keep their meaning under a change of units."""
        return np.ones(self.dimension, dtype=bool)

    def in_units(self, unit: Any) -> DecisionSet:
        """Return the set of z / unit; ``unit`` is 1 where the set is not scalable."""
        raise NotImplementedError


class Free(DecisionSet):
    """All of R^d."""

    size: int = eqx.field(static=True)

    def __init__(self, dimension: int = 1) -> None:
        self.size = _checks.count("dimension", dimension)

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.size

    def from_raw(self, raw: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Identity."""
        return raw

    def to_raw(self, point: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Identity."""
        return jnp.asarray(point)

    def contains(self, point: Any, tolerance: float = 1e-6) -> Bool[Array, "*b"]:
        """Whether every coordinate is finite."""
        return jnp.all(jnp.isfinite(jnp.asarray(point)), axis=-1)

    def in_units(self, unit: Any) -> DecisionSet:
        """All of R^d again."""
        return self


class Nonnegative(DecisionSet):
    """The orthant z >= 0."""

    size: int = eqx.field(static=True)

    def __init__(self, dimension: int = 1) -> None:
        self.size = _checks.count("dimension", dimension)

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.size

    def from_raw(self, raw: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """softplus(raw)."""
        return jax.nn.softplus(raw)

    def to_raw(self, point: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Invert softplus."""
        return _inverse_softplus(jnp.maximum(jnp.asarray(point), EDGE))

    def contains(self, point: Any, tolerance: float = 1e-6) -> Bool[Array, "*b"]:
        """Whether every coordinate is at least -tolerance."""
        return jnp.all(jnp.asarray(point) >= -tolerance, axis=-1)

    def in_units(self, unit: Any) -> DecisionSet:
        """The orthant again."""
        return self


class Box(DecisionSet):
    """low <= z <= high, coordinate by coordinate; either end may be infinite."""

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
        point = jnp.asarray(point)
        low, high, below, above = self._parts(point.dtype)
        share = jnp.clip((point - low) / (high - low), EDGE, 1 - EDGE)
        from_low = _inverse_softplus(jnp.maximum(point - low, EDGE))
        from_high = -_inverse_softplus(jnp.maximum(high - point, EDGE))
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

    def _parts(self, dtype: Any) -> tuple[Array, Array, np.ndarray, np.ndarray]:
        """Ends with placeholders (0 and 1) where infinite, and which ends are finite."""
        below, above = np.array(self.has_low), np.array(self.has_high)
        low = jnp.where(below, jnp.asarray(self.low, dtype), 0.0)
        high = jnp.where(above, jnp.asarray(self.high, dtype), 1.0)
        return low, high, below, above


class Simplex(DecisionSet):
    """z >= 0 with coordinates that sum to 1 (portfolio weights, mixing proportions)."""

    size: int = eqx.field(static=True)

    def __init__(self, dimension: int) -> None:
        self.size = _checks.count("dimension", dimension, least=2)

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.size

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

    def in_units(self, unit: Any) -> DecisionSet:
        """The simplex again."""
        return self


class Product(DecisionSet):
    """A Cartesian product: the first coordinates in the first set, the next in the second."""

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
        blocks = zip(self.sets, self._split(raw), strict=True)
        return jnp.concatenate([part.from_raw(block) for part, block in blocks], axis=-1)

    def to_raw(self, point: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Each block through its own inverse."""
        blocks = zip(self.sets, self._split(jnp.asarray(point)), strict=True)
        return jnp.concatenate([part.to_raw(block) for part, block in blocks], axis=-1)

    def start_raw(self, point: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Each block by its own."""
        blocks = zip(self.sets, self._split(jnp.asarray(point)), strict=True)
        return jnp.concatenate([part.start_raw(block) for part, block in blocks], axis=-1)

    def contains(self, point: Any, tolerance: float = 1e-6) -> Bool[Array, "*b"]:
        """Whether every block lies in its set."""
        blocks = zip(self.sets, self._split(jnp.asarray(point)), strict=True)
        inside = [part.contains(block, tolerance) for part, block in blocks]
        return jnp.all(jnp.stack(inside), axis=0)

    @property
    def scalable(self) -> np.ndarray:
        """Concatenation of the parts' flags."""
        return np.concatenate([part.scalable for part in self.sets])

    def in_units(self, unit: Any) -> DecisionSet:
        """The product of the rescaled parts."""
        blocks = zip(self.sets, self._split(unit), strict=True)
        return Product(*(part.in_units(block) for part, block in blocks))

    def _split(self, array: Any) -> list[Any]:
        ends = np.cumsum([part.dimension for part in self.sets])
        starts = np.concatenate([[0], ends[:-1]])
        return [array[..., a:b] for a, b in zip(starts, ends, strict=True)]


def _inverse_softplus(value: Array) -> Array:
    return value + jnp.log(-jnp.expm1(-value))
