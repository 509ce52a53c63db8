"""Affine and constant rules: f(x) = map(A x + c) and f(x) = map(c), the map being onto Z."""

from __future__ import annotations

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow import plain
from hedgerow._components import double
from hedgerow.decisions import DecisionSet
from hedgerow.rules.base import FittedRule, Rule, Start
from hedgerow.rules.expansion import Expansion, forest_expansion
from hedgerow.rules.forest_arrays import ForestArrays
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

    def raw_expansion(self, n_features: int) -> Expansion:
        """Its own tangent everywhere."""
        matrix, offset = np.asarray(self.matrix, np.float64), np.asarray(self.offset, np.float64)
        outputs, features = matrix.shape

        def at(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return x @ matrix.T + offset, np.broadcast_to(matrix, (len(x), *matrix.shape))

        ends = np.where(np.any(matrix != 0, axis=1), np.inf, 0.0)
        return Expansion(
            at,
            np.zeros((outputs, features, features)),
            np.zeros(outputs),
            np.abs(matrix),
            offset - ends,
            offset + ends,
        )

    def plain_raw(self) -> plain.Affine:
        """The same in float64."""
        return plain.Affine(*(np.asarray(part, np.float64) for part in (self.matrix, self.offset)))

    def words(self) -> str:
        """What kind of rule it is."""
        return "A weighted sum of the columns, kept within what can be decided"


class ConstantRule(MappedRule):
    """f(x) = map(c)."""

    trainable: ClassVar[tuple[str, ...]] = ("offset",)
    offset: Float[Array, " k"]
    decision_set: DecisionSet

    @classmethod
    def at(cls, start: Start) -> ConstantRule:
        """Decide what a rule would start with, exactly."""
        offset = start.decision_set.to_raw(start.decision)
        return cls(offset=offset, decision_set=start.decision_set)

    def raw(self, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
        """Return c, once per column of x."""
        return jnp.broadcast_to(self.offset[:, None], (len(self.offset), x.shape[1]))

    def raw_bounds(self, centre: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return c itself."""
        offset = np.asarray(self.offset, np.float64)
        return offset, offset

    def expansion(self, n_features: int) -> Expansion:
        """That of its tree."""
        return forest_expansion(self.trees(n_features))

    def plain_raw(self) -> plain.Constant:
        """The same in float64."""
        return plain.Constant(np.asarray(self.offset, np.float64))

    def words(self) -> str:
        """What kind of rule it is."""
        return "One decision for all rows, whatever the columns say"

    def is_bounded(self) -> bool:
        """It never changes."""
        return True

    def hardened(self) -> ConstantRule:
        """Itself: it asks nothing."""
        return self

    def trees(self, n_features: int | None = None) -> ForestArrays:
        """One tree whose only gate does not look, and whose leaves are one: nothing matters."""
        with jax.enable_x64(True):
            decision = np.asarray(self.decision_set.from_raw(double(self.offset)))
        weights = np.zeros((1, 1, n_features or 1))
        return ForestArrays(weights, np.zeros((1, 1)), np.tile(decision, (1, 2, 1)))


class Affine(Rule):
    """Decisions affine in the context (before the map onto the decision set).

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> policy = hr.RobustPolicy(loss, hr.ERM(), hr.Affine(), solver=hr.SCSC(steps=50))
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    def build(self, key: PRNGKeyArray, start: Start) -> FittedRule:
        """Start from a constant decision."""
        offset = start.raw
        matrix = jnp.zeros((len(offset), start.n_features), offset.dtype)
        return AffineRule(matrix=matrix, offset=offset, decision_set=start.decision_set)


class Constant(Rule):
    """One decision for every context: what can be had without features.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> policy = hr.RobustPolicy(loss, hr.ERM(), hr.Constant(), solver=hr.SCSC(steps=50))
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    def build(self, key: PRNGKeyArray, start: Start) -> FittedRule:
        """Start from a constant decision."""
        return ConstantRule(offset=start.raw, decision_set=start.decision_set)
