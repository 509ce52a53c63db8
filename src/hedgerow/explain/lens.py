"""A fitted policy as explanations see it: float64, the user's units, and derivatives.

    f(x) = z_unit · rule( (x − centre)·factor ),      ∂f/∂x_j = factor_j · ∂f/∂x̃_j

Rules that are trees have their derivatives in closed form (``FittedRule.trees``), hard trees jumps
in their place; others are differentiated by JAX. Work is done in pieces of bounded size, whatever
the number of rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from hedgerow import _checks
from hedgerow._components import double
from hedgerow.describe.names import feature_names
from hedgerow.describe.parts import Missing
from hedgerow.estimator import RobustPolicy
from hedgerow.explain.quadrature import integrate
from hedgerow.programs import program, refuse_in_forked_process
from hedgerow.rules.base import FittedRule
from hedgerow.rules.forest_arrays import ForestArrays

NUMBERS_AT_ONCE = 2_000_000
"""Numbers in the largest array of a piece of work."""
DENSE = 64
"""Rows of a piece for rules that JAX differentiates: a multiple of this, so that few compile."""


class Lens(ABC):
    """A policy, ready to be differentiated; contexts come in the user's units."""

    def __init__(self, policy: RobustPolicy) -> None:
        self.policy = policy
        self.units = policy.units_
        self.factor = policy.units_.x_factor
        self.names = tuple(feature_names(policy))

    @property
    def trees(self) -> ForestArrays | None:
        """The rule's trees, their leaves in the user's units; None if it has none."""
        return None

    def contexts(self, X: Any) -> Float[np.ndarray, "rows d"]:
        """Check contexts and return them as float64, in the user's units."""
        return self.policy.contexts(X)

    def context(self, x: Any) -> Float[np.ndarray, " d"]:
        """Check one context, given as a row of a table, (features,) or (1, features)."""
        if hasattr(x, "to_frame") and hasattr(x, "index"):
            x = x.to_frame().T.infer_objects()
        elif not hasattr(x, "columns"):
            x = np.atleast_2d(_checks.numeric("x", x))
        rows = self.contexts(x)
        if len(rows) != 1:
            raise ValueError(f"One context is explained at a time; got {len(rows)} rows.")
        return rows[0]

    def standard(self, X: Float[np.ndarray, "rows d"]) -> Float[np.ndarray, "rows d"]:
        """Standardise contexts."""
        return self.units.contexts(X, np.float64)

    def decide(self, X: Float[np.ndarray, "rows d"]) -> Float[np.ndarray, "rows k"]:
        """Decisions in float64."""
        return self.in_pieces(self._derivatives, X)

    def gradients(self, X: Float[np.ndarray, "rows d"]) -> Float[np.ndarray, "rows k d"]:
        """∂f/∂x per unit of each feature."""
        return self.in_pieces(partial(self._derivatives, order=1), X) * self.factor

    def steepness(
        self, X: Float[np.ndarray, "rows d"], spread: Float[np.ndarray, " d"]
    ) -> Float[np.ndarray, "rows d"]:
        """Σ_k |∂f_k/∂x_j| per unit; what jumps, by how it changes over the spread of a feature."""
        return np.abs(self.gradients(X)).sum(axis=1)

    def hessians(self, X: Float[np.ndarray, "rows d"]) -> Float[np.ndarray, "rows k d e"]:
        """∂²f/∂x∂x' per units of the two features."""
        found = self.in_pieces(partial(self._derivatives, order=2), X, power=2)
        return found * self.factor[:, None] * self.factor

    def line_integrals(
        self,
        starts: Float[np.ndarray, "rows d"],
        end: Float[np.ndarray, " d"],
        weights: Float[np.ndarray, " rows"],
        tolerance: float,
    ) -> Float[np.ndarray, "k d"]:
        """Weighted sum over starts of (end − start)·∫₀¹ ∂f(start + α(end − start)) dα.

        Contexts are standardised here: the product with the step does not depend on units.
        """
        steps = weights[:, None] * (end - starts)

        def slopes(some: slice, alphas: np.ndarray) -> np.ndarray:
            return self._line_sums(starts[some], end, alphas, steps[some])

        def decisions(some: slice, alphas: np.ndarray) -> np.ndarray:
            found = _along(self._derivatives, starts[some], end, alphas)
            return np.tensordot(weights[some], found, axes=((0,), (1,)))

        def summed(work: Callable, alphas: np.ndarray) -> np.ndarray:
            pieces = _slices(len(starts), len(alphas) * self._cost(1))
            return np.sum([work(piece, alphas) for piece in pieces], axis=0)

        return integrate(partial(summed, slopes), partial(summed, decisions), tolerance)

    def in_pieces(self, work: Callable, X: np.ndarray, power: int = 1) -> np.ndarray:
        """Do work on contexts, once they are standardised, in pieces that memory can hold."""
        x, pieces = self.standard(X), _slices(len(X), self._cost(power))
        return np.concatenate([work(x[piece]) for piece in pieces])

    @abstractmethod
    def _cost(self, power: int) -> int:
        """Numbers that one row needs for derivatives of this order."""

    @abstractmethod
    def _derivatives(self, x: np.ndarray, order: int = 0) -> np.ndarray:
        """Decisions, their gradients or their Hessians, by standardised contexts."""

    @abstractmethod
    def _line_sums(
        self, starts: np.ndarray, end: np.ndarray, alphas: np.ndarray, steps: np.ndarray
    ) -> np.ndarray:
        """Σ_start of gradients·step at every α along the lines, (m, k, d)."""


class TreeLens(Lens):
    """A rule that is trees: everything in closed form."""

    def __init__(self, policy: RobustPolicy, trees: ForestArrays) -> None:
        super().__init__(policy)
        self._trees = trees.in_units(policy.units_.z_unit)

    @property
    def trees(self) -> ForestArrays:
        """The rule's trees."""
        return self._trees

    def _cost(self, power: int) -> int:
        trees, leaves, decisions = self.trees.leaves.shape
        return trees * leaves * (decisions if power == 1 else len(self.names) ** 2)

    def _derivatives(self, x: np.ndarray, order: int = 0) -> np.ndarray:
        if order == 0:
            return self.trees.decide(self.trees.logits(x.T)).T
        return self.trees.gradients(x.T) if order == 1 else self.trees.hessians(x.T)

    def _line_sums(
        self, starts: np.ndarray, end: np.ndarray, alphas: np.ndarray, steps: np.ndarray
    ) -> np.ndarray:
        """Logits are linear along a line, so features enter only at the end of it."""
        forest, rows = self.trees, len(starts)
        first, last = forest.logits(starts.T), forest.logits(end[:, None])
        along = first[:, :, None, :] + (last - first)[:, :, None, :] * alphas[:, None]
        trees, gates = first.shape[:2]
        slopes = forest.slopes(along.reshape(trees, gates, -1))
        sums = slopes.reshape(trees, gates, -1, len(alphas), rows) @ steps  # (t, g, k, m, d)
        return np.einsum("tgkmd,tgd->mkd", sums, forest.weights, optimize=True)


class HardLens(TreeLens):
    """Trees with hard gates: no derivatives, but jumps."""

    def steepness(
        self, X: Float[np.ndarray, "rows d"], spread: Float[np.ndarray, " d"]
    ) -> Float[np.ndarray, "rows d"]:
        """Σ_k |f_k(x + ½ s_j e_j) − f_k(x − ½ s_j e_j)| / s_j."""
        found = np.zeros(X.shape)
        for j in np.flatnonzero(spread):
            half = np.zeros(len(spread))
            half[j] = spread[j] / 2
            change = self.decide(X + half) - self.decide(X - half)
            found[:, j] = np.abs(change).sum(axis=1) / spread[j]
        return found

    def line_integrals(
        self, starts: np.ndarray, end: np.ndarray, weights: np.ndarray, tolerance: float
    ) -> np.ndarray:
        """The jumps on the way, exactly."""
        pieces = _slices(len(starts), self._cost(1))
        return np.sum([self.trees.jumps(starts[p], end, weights[p]) for p in pieces], axis=0)


class SmoothLens(Lens):
    """Any other rule: derivatives by JAX, in float64; along lines, the rule's own if it has any."""

    def __init__(self, policy: RobustPolicy) -> None:
        super().__init__(policy)
        with jax.enable_x64(True):
            self.rule = double(policy.rule_)

    def _cost(self, power: int) -> int:
        inside = sum(np.size(leaf) for leaf in jax.tree.leaves(self.rule)) // len(self.names)
        return max(inside, self.policy.n_decisions_ * len(self.names) ** power)

    def line_integrals(
        self, starts: np.ndarray, end: np.ndarray, weights: np.ndarray, tolerance: float
    ) -> np.ndarray:
        """As the rule knows best; if it does not, by quadrature."""
        unit = self.units.z_unit
        found = self.policy.rule_.path_integrals(starts, end, weights, tolerance / unit)
        if found is None:
            return super().line_integrals(starts, end, weights, tolerance)
        return found * unit[:, None]

    def _derivatives(self, x: np.ndarray, order: int = 0) -> np.ndarray:
        padded = np.pad(x, ((0, -len(x) % DENSE), (0, 0)), mode="edge")
        with jax.enable_x64(True):
            found = np.asarray(_by_jax(self.rule, jnp.asarray(padded), order=order))[: len(x)]
        return found * self.units.z_unit.reshape(-1, *[1] * order)

    def _line_sums(
        self, starts: np.ndarray, end: np.ndarray, alphas: np.ndarray, steps: np.ndarray
    ) -> np.ndarray:
        found = _along(partial(self._derivatives, order=1), starts, end, alphas)
        return np.einsum("mnkd,nd->mkd", found, steps)


def lens_of(policy: Any) -> Lens:
    """Look at a fitted policy."""
    policy = _checks.fitted_policy(policy)
    refuse_in_forked_process()
    trees = policy.rule_.trees(policy.n_features_in_)
    if trees is None:
        return SmoothLens(policy)
    return HardLens(policy, trees) if trees.hard else TreeLens(policy, trees)


def trees_of(policy: Any, needed: str = "Only rules with trees have routes") -> TreeLens:
    """Look at a fitted policy whose rule must be trees."""
    lens = lens_of(policy)
    if not isinstance(lens, TreeLens):
        raise Missing(policy.rule_, "trees", needed)
    return lens


def decided(policy: RobustPolicy, X: Float[np.ndarray, "rows d"]) -> Float[np.ndarray, "rows k"]:
    """Decisions for checked contexts, the very numbers that ``predict`` gives."""
    return policy.rule_.decide(policy.units_.contexts(X, np.float64)) * policy.units_.z_unit


def gathered(names: Sequence[str], groups: Mapping[str, Sequence[str]]) -> dict[str, list[int]]:
    """Positions of the features of every group; a feature in no group is one by itself."""
    home = {str(feature): str(name) for name, group in groups.items() for feature in group}
    if len(home) < sum(len(group) for group in groups.values()):
        raise ValueError("A feature can be in one group only, or its part would count twice.")
    unknown = [feature for feature in home if feature not in names]
    if unknown:
        raise ValueError(f"There is no feature {unknown[0]!r} to put into a group.")
    members: dict[str, list[int]] = {}
    for j, name in enumerate(names):
        members.setdefault(home.get(name, name), []).append(j)
    return members


def _slices(rows: int, cost: int) -> Iterator[slice]:
    step = max(1, NUMBERS_AT_ONCE // max(1, cost))
    return (slice(start, start + step) for start in range(0, rows, step))


def _along(work: Callable, starts: np.ndarray, end: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """What ``work`` finds at start + α(end − start), (m, rows, …)."""
    points = starts + alphas[:, None, None] * (end - starts)
    found = work(points.reshape(-1, starts.shape[1]))
    return found.reshape(len(alphas), len(starts), *found.shape[1:])


@program(static_argnames="order")
def _by_jax(rule: FittedRule, x: jax.Array, order: int) -> jax.Array:
    """A rule's decisions (rows, k), or their derivatives of an order, in its own units."""
    if order == 0:
        return rule(x.T).T
    gradient = jax.jacrev(lambda one: rule(one[:, None])[:, 0])
    return jax.vmap(gradient if order == 1 else jax.jacfwd(gradient))(x)
