"""Affine and constant rules: f(x) = map(A x + c) and f(x) = map(c), the map being onto Z."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow.decisions import DecisionSet
from hedgerow.describe.page_form import PageForm
from hedgerow.rules.base import FittedRule, Rule
from hedgerow.rules.mapped import image, mapped_form, through
from hedgerow.rules.slopes import Slopes


class AffineRule(FittedRule):
    """f(x) = map(A x + c)."""

    trainable: ClassVar[tuple[str, ...]] = ("matrix", "offset")
    matrix: Float[Array, "k d"]
    offset: Float[Array, " k"]
    decision_set: DecisionSet

    def __call__(self, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
        """Decide for every column of x."""
        return through(self.decision_set, self.matrix @ x + self.offset[:, None])

    def words(self) -> str:
        """What kind of rule it is."""
        return "A weighted sum of the columns, kept within what can be decided"

    def bounds(self, centre: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Exact before the map onto the decision set."""
        matrix = np.asarray(self.matrix, np.float64)
        middle, reach = matrix @ centre + np.asarray(self.offset), np.abs(matrix) @ width
        return image(self.decision_set, middle - reach, middle + reach)

    def page_form(self) -> PageForm:
        """Matrix, offset and map."""
        return mapped_form(self.decision_set, matrix=self.matrix, offset=self.offset)


class ConstantRule(FittedRule):
    """f(x) = map(c)."""

    trainable: ClassVar[tuple[str, ...]] = ("offset",)
    offset: Float[Array, " k"]
    decision_set: DecisionSet

    def __call__(self, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
        """Return the one decision, once per column of x."""
        raw = jnp.broadcast_to(self.offset[:, None], (len(self.offset), x.shape[1]))
        return through(self.decision_set, raw)

    def words(self) -> str:
        """What kind of rule it is."""
        return "One decision for all rows, whatever the columns say"

    def is_bounded(self) -> bool:
        """It never changes."""
        return True

    def bounds(self, centre: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The decision itself."""
        offset = np.asarray(self.offset, np.float64)
        return image(self.decision_set, offset, offset)

    def page_form(self) -> PageForm:
        """Offset and map."""
        return mapped_form(self.decision_set, offset=self.offset)


class Affine(Rule):
    """Decisions affine in the context (before the map onto the decision set)."""

    def build(
        self,
        key: PRNGKeyArray,
        n_features: int,
        decision_set: DecisionSet,
        start: Float[Array, " k"],
        slopes: Slopes | None = None,
    ) -> FittedRule:
        """Start from the constant decision ``start``."""
        offset = decision_set.start_raw(start)
        matrix = jnp.zeros((decision_set.dimension, n_features), offset.dtype)
        return AffineRule(matrix=matrix, offset=offset, decision_set=decision_set)


class Constant(Rule):
    """One decision for every context: what can be had without features."""

    def build(
        self,
        key: PRNGKeyArray,
        n_features: int,
        decision_set: DecisionSet,
        start: Float[Array, " k"],
        slopes: Slopes | None = None,
    ) -> FittedRule:
        """Start from ``start``."""
        return ConstantRule(offset=decision_set.start_raw(start), decision_set=decision_set)
