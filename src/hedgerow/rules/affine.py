"""Affine and constant rules: f(x) = map(A x + c) and f(x) = map(c), the map being onto Z."""

from __future__ import annotations

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow.decisions import DecisionSet
from hedgerow.rules.base import FittedRule, Rule, Slopes, through


class AffineRule(FittedRule):
    """f(x) = map(A x + c)."""

    trainable: ClassVar[tuple[str, ...]] = ("matrix", "offset")
    matrix: Float[Array, "k d"]
    offset: Float[Array, " k"]
    decision_set: DecisionSet

    def __call__(self, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
        """Decide for every column of x."""
        return through(self.decision_set, self.matrix @ x + self.offset[:, None])


class ConstantRule(FittedRule):
    """f(x) = map(c)."""

    trainable: ClassVar[tuple[str, ...]] = ("offset",)
    bounded: ClassVar[bool] = True
    offset: Float[Array, " k"]
    decision_set: DecisionSet

    def __call__(self, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
        """Return the one decision, once per column of x."""
        raw = jnp.broadcast_to(self.offset[:, None], (len(self.offset), x.shape[1]))
        return through(self.decision_set, raw)


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
