"""What every decision set offers: a map onto it, and what can be known of it.

Required are ``dimension``, ``from_raw``, ``to_raw``, ``contains`` and ``in_units``, and
``arguments`` where the constructor takes something else than the dimension. The rest is optional: a
set that does not know an answer returns None, and whoever needs one says which method to write.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from hedgerow import _checks
from hedgerow.describe.page_form import PageForm
from hedgerow.plain import PlainMap

EDGE = 1e-7
"""How far inside a bounded set ``to_raw`` places a point that lies on its boundary."""
START_EDGE = 1e-3
"""How far inside ``start_raw`` does, since nearer to the boundary gradients die."""


@dataclass(frozen=True)
class Block:
    """Coordinates ``first``, ``first + 1``, … of z or y: a hull of points plus a cone."""

    name: str
    first: int
    points: np.ndarray
    directions: np.ndarray

    @property
    def coordinates(self) -> slice:
        """Where the block lies in z or y."""
        return slice(self.first, self.first + self.points.shape[1])


class DecisionSet(eqx.Module):
    """A convex set of decisions of a given dimension (abstract)."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of coordinates."""

    @property
    def arguments(self) -> tuple[Any, ...]:
        """What the constructor was given: enough to print, store and rebuild the set."""
        return (self.dimension,)

    def __repr__(self) -> str:
        """Print as one would write it."""
        shown = (a.tolist() if isinstance(a, np.ndarray) else a for a in self.arguments)
        return f"{type(self).__name__}({', '.join(map(str, shown))})"

    @abstractmethod
    def from_raw(self, raw: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Map free parameters onto the set."""

    @abstractmethod
    def to_raw(self, point: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Return parameters whose image is ``point`` (moved inside if it is on the boundary)."""

    def start_raw(self, point: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
        """Return parameters to begin training with, near ``point`` but not where gradients die."""
        return self.to_raw(point)

    @abstractmethod
    def contains(self, point: Any, tolerance: float = 1e-6) -> Bool[Array, "*b"]:
        """Whether each point lies in the set, up to ``tolerance``."""

    @property
    def scalable(self) -> np.ndarray:
        """Which coordinates keep their meaning under a change of units."""
        return np.ones(self.dimension, dtype=bool)

    @abstractmethod
    def in_units(self, unit: Any) -> DecisionSet:
        """Return the set of z / unit; ``unit`` is 1 where the set is not scalable."""

    def blocks(self, first: int = 0) -> list[Block] | None:
        """The set as a product of hulls and cones, its coordinates counted from ``first`` on.

        Losses with a second stage check with them that every decision has a recourse.
        """
        return None

    def nearest(self, point: np.ndarray) -> np.ndarray | None:
        """The nearest point of the set, if it is the nearest coordinate by coordinate."""
        return None

    def image(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Bounds (low, high) of ``from_raw`` over all raw numbers in a box, in float64."""
        return None

    def steepest(self) -> np.ndarray | None:
        """The largest derivative of ``from_raw`` by coordinate, if each depends on its own only."""
        return None

    def plain(self) -> PlainMap | None:
        """``from_raw`` with NumPy alone, for decisions without JAX and for exports."""
        return None

    def page_blocks(self) -> list[PageForm] | None:
        """The map as a report's page computes it: one form per block of coordinates.

        Each has its ``size`` among its parameters, and its script returns ``value(raw, k)``,
        coordinate k of the block's decision at the block's raw numbers; ``slopes(raw, k)``, its
        derivatives; and ``alone``: whether they depend on raw number k only, and are one.
        """
        return None


class UnitFree(DecisionSet):
    """A set that its dimension says everything of, and that is the same in all units (abstract)."""

    size: int = eqx.field(static=True)

    def __init__(self, dimension: int = 1) -> None:
        self.size = _checks.count("dimension", dimension)

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.size

    def in_units(self, unit: Any) -> DecisionSet:
        """The set again."""
        return self


def interval_blocks(name: str, low: np.ndarray, high: np.ndarray, first: int = 0) -> list[Block]:
    """One block per coordinate between its ends, which may be infinite."""
    blocks = []
    for offset, ends in enumerate(zip(low, high, strict=True)):
        points = [end for end in ends if np.isfinite(end)] or [0.0]
        ways = [sign for sign, end in zip((-1.0, 1.0), ends, strict=True) if np.isinf(end)]
        blocks.append(
            Block(name, first + offset, np.array(points)[:, None], np.array(ways).reshape(-1, 1))
        )
    return blocks


def mapped(decision_set: DecisionSet, raw: np.ndarray) -> np.ndarray:
    """The image of raw numbers, in float64."""
    with jax.enable_x64(True):
        return np.asarray(decision_set.from_raw(jnp.asarray(raw, jnp.float64)))
