"""Affine and constant rules: f(x) = map(A x + c) and f(x) = map(c), the map being onto Z."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow.decisions import DecisionSet
from hedgerow.rules.base import FittedRule, Rule, Start
from hedgerow.rules.mapped import MappedRule


class AffineRule(MappedRule):
    """f(x) = map(A x + c)."""

    trainable: ClassVar[tuple[str, ...]] = ("matrix", "offset")
    matrix: Float[Array, "k d"]
    offset: Float[Array, " k"]
    decision_set: DecisionSet

    def raw(self, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
        """A x + c."""
        return self.matrix @ x + self.offset[:, None]

    def raw_bounds(self, centre: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Exact."""
        matrix = np.asarray(self.matrix, np.float64)
        middle, reach = matrix @ centre + np.asarray(self.offset), np.abs(matrix) @ width
        return middle - reach, middle + reach

    def words(self) -> str:
        """What kind of rule it is."""
        return "A weighted sum of the columns, kept within what can be decided"


class ConstantRule(MappedRule):
    """f(x) = map(c)."""

    trainable: ClassVar[tuple[str, ...]] = ("offset",)
    offset: Float[Array, " k"]
    decision_set: DecisionSet

    def raw(self, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
        """Return c, once per column of x."""
        return jnp.broadcast_to(self.offset[:, None], (len(self.offset), x.shape[1]))

    def raw_bounds(self, centre: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return c itself."""
        offset = np.asarray(self.offset, np.float64)
        return offset, offset

    def words(self) -> str:
        """What kind of rule it is."""
        return "One decision for all rows, whatever the columns say"

    def is_bounded(self) -> bool:
        """It never changes."""
        return True


class Affine(Rule):
    """Decisions affine in the context (before the map onto the decision set)."""

    def build(self, key: PRNGKeyArray, start: Start) -> FittedRule:
        """Start from a constant decision."""
        offset = start.raw
        matrix = jnp.zeros((len(offset), start.n_features), offset.dtype)
        return AffineRule(matrix=matrix, offset=offset, decision_set=start.decision_set)


class Constant(Rule):
    """One decision for every context: what can be had without features."""

    def build(self, key: PRNGKeyArray, start: Start) -> FittedRule:
        """Start from a constant decision."""
        return ConstantRule(offset=start.raw, decision_set=start.decision_set)
