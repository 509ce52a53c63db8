"""The kernel of contexts that are not all numbers: some categories, some fixed.

    cost(x̂, x) = cost of the other columns + Σ_v mismatch_v·1[x's value of v is not x̂'s]

A categorical variable is one or several columns (its one-hot features) that move together, as a
whole, between known values; its reference measure counts them, so the kernel gives value v the mass
∝ exp(−mismatch·1[v ≠ v̂]/ε) and the normaliser is 1 + (values − 1)·exp(−mismatch/ε). A variable with
one value, or an infinite mismatch, is fixed. Fixed columns differ from the centre nowhere.

Nodes of the other columns are crossed with every combination of values while these are few; else
combinations are drawn, from a law that visits all of them, and weighted.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow.kernels.base import AbstractKernel, Points, Weighted, arrays

FORBIDDEN = 1e25
"""What is never paid: finite, so that times a mass of 0 it is 0."""
MOST_COMBINED, FEW_COMBINED = 64, 8
"""Combinations of values that are summed over, in certified values and in each training step."""
SAME = 1e-4
"""Working units within which two points have the same value."""


class Variable(eqx.Module):
    """A categorical variable: its columns, its values there, and what a change costs."""

    columns: tuple[int, ...] = eqx.field(static=True)
    values: Float[Array, "v c"]
    mismatch: Float[Array, ""]

    @property
    def count(self) -> int:
        """How many values it has."""
        return self.values.shape[0]

    def distances(self, points: Points) -> Any:
        """Squared distances (…, values) of points from the values."""
        own = points[..., list(self.columns)]
        return ((own[..., None, :] - self.values) ** 2).sum(axis=-1)

    def log_shares(self, epsilon: Any) -> tuple[Array, Array]:
        """Log-probabilities of staying, and of each of the other values."""
        change = -jnp.minimum(self.mismatch, FORBIDDEN) / epsilon
        whole = jnp.log1p((self.count - 1) * jnp.exp(change))
        return -whole, change - whole


class MixedKernel(AbstractKernel):
    """A kernel of the columns that are numbers, categorical variables, and fixed columns.

    ``inner`` is the kernel of all columns, with scale 0 for those of variables and fixed ones;
    ``integrated`` are the positions of the others.
    """

    inner: AbstractKernel
    variables: tuple[Variable, ...]
    fixed: tuple[int, ...] = eqx.field(static=True)
    integrated: tuple[int, ...] = eqx.field(static=True)

    @property
    def smooth(self) -> AbstractKernel:
        """The kernel of the columns that are numbers."""
        return self.inner

    @property
    def order(self) -> Any:
        """That of the columns that are numbers."""
        return self.inner.order

    @property
    def epsilon(self) -> Any:
        """Likewise."""
        return self.inner.epsilon

    @property
    def scale(self) -> Any:
        """Likewise; 0 for what is no number."""
        return self.inner.scale

    @property
    def low(self) -> Any:
        """Likewise."""
        return self.inner.low

    @property
    def high(self) -> Any:
        """Likewise."""
        return self.inner.high

    @property
    def width(self) -> Float[Array, " d"]:
        """Of the columns that are numbers."""
        return self.inner.width

    @property
    def reach(self) -> Float[Array, " d"]:
        """Of the columns that are numbers."""
        return self.inner.reach

    @property
    def continuous(self) -> np.ndarray:
        """Positions of the columns that are numbers."""
        return np.array(self.integrated, int)

    @property
    def combined(self) -> int:
        """How many combinations of values there are."""
        return math.prod(variable.count for variable in self.variables)

    def summed(self) -> int | None:
        """How many nodes each of the others becomes; None: combinations are too many, and drawn."""
        return self.combined if self.combined <= MOST_COMBINED else None

    @property
    def discrete(self) -> np.ndarray:
        """Which columns are a variable's."""
        mask = np.zeros(self.scale.shape[0], bool)
        mask[[column for variable in self.variables for column in variable.columns]] = True
        return mask

    @property
    def movable(self) -> Any:
        """Columns that are numbers, and those of variables."""
        return (self.scale > 0) | self.discrete

    @property
    def pinned(self) -> Any:
        """Neither movable nor fixed: what never varies."""
        fixed = np.zeros(self.scale.shape[0], bool)
        fixed[list(self.fixed)] = True
        return ~(self.movable | fixed)

    def gauss(self, n: int) -> tuple[np.ndarray, np.ndarray] | None:
        """That of the columns that are numbers."""
        return self.inner.gauss(n)

    def with_epsilon(self, epsilon: Any) -> MixedKernel:
        """The same with another ε."""
        return eqx.tree_at(lambda k: k.inner, self, self.inner.with_epsilon(epsilon))

    def ray_cost(self, direction: Any) -> Any:
        """Of the columns that are numbers; values and fixed columns lead nowhere."""
        return self.inner.ray_cost(direction)

    def cost(self, centre: Points, point: Points) -> Float[Array, "*b"]:
        """The sum over numbers and variables; a fixed column that differs is forbidden."""
        xp = arrays(centre, point, self.scale)
        total = self.inner.cost(centre, point)
        for variable in self.variables:
            here, there = (xp.argmin(variable.distances(p), axis=-1) for p in (centre, point))
            total = total + xp.where(here == there, 0.0, xp.minimum(variable.mismatch, FORBIDDEN))
        if self.fixed:
            held = list(self.fixed)
            differs = xp.any(xp.abs(point[..., held] - centre[..., held]) > SAME, axis=-1)
            total = total + xp.where(differs, FORBIDDEN, 0.0)
        return total

    def within(self, centre: Points, point: Points) -> Array:
        """Whether points lie on the support: between the ends, and on known values."""
        inside = self.inner.within(centre, point)
        for variable in self.variables:
            inside = inside & (jnp.min(variable.distances(point), axis=-1) < SAME)
        return inside

    def log_normaliser(self, centre: Float[Array, "*b d"]) -> Float[Array, "*b"]:
        """That of the numbers, and log(1 + (values − 1)·exp(−mismatch/ε)) for each variable."""
        total = self.inner.log_normaliser(centre)
        for variable in self.variables:
            total = total - variable.log_shares(self.epsilon)[0]
        return total

    def log_nearness(self, centre: Points, point: Points) -> Float[Array, "*b"]:
        """Log-density on the support, up to a term that is the same for all centres."""
        return self.inner.log_nearness(centre, point) + self._log_values(centre, point)

    def log_proposal(self, centre: Points, point: Points) -> Float[Array, "*b"]:
        """Likewise of its nodes: all values of each, or those that are drawn."""
        near = self.inner.log_nearness(centre, point)
        if self.summed() is not None:
            return near
        for variable, stay in zip(self.variables, self._staying(), strict=True):
            near = near + _log_drawn(variable, stay, _same(variable, centre, point))
        return near

    def _log_values(self, centre: Points, point: Points) -> Array:
        total: Any = 0.0
        for variable in self.variables:
            stay, change = variable.log_shares(self.epsilon)
            total = total + jnp.where(_same(variable, centre, point), stay, change)
        return total

    def _staying(self) -> list[Array]:
        """Chances that drawn values are the centre's own, the others being alike.

        Halfway between the kernel's own and one at which a change somewhere is as likely as none,
        so that no weight is above 2 for each variable, and what is rare is seen.
        """
        often = 1 - 0.5 / max(sum(variable.count > 1 for variable in self.variables), 1)
        return [
            (often + jnp.exp(variable.log_shares(self.epsilon)[0])) / 2
            for variable in self.variables
        ]

    def from_uniform(self, centre: Points, uniform: Points) -> Float[Array, "*b d"]:
        """Every variable by the uniform of its first column."""
        point = self.inner.from_uniform(centre, uniform)
        for variable in self.variables:
            stay = jnp.exp(variable.log_shares(self.epsilon)[0])
            point = _set(variable, point, _other(variable, centre, uniform, stay))
        return point

    def spread(self, centre: Float[Array, "*b d"], uniform: Float[Array, "*b n d"]) -> Weighted:
        """Nodes of the numbers, each with all combinations of values or with one drawn."""
        nodes = self.inner.spread(centre, uniform)
        return self._crossed(centre, *nodes, uniform, MOST_COMBINED)

    def draw(self, key: PRNGKeyArray, centre: Float[Array, "*b d"], n: int) -> Weighted:
        """Likewise; as steps of training are many, only a few combinations are summed over."""
        key_smooth, key_values = jax.random.split(key)
        nodes = self.inner.draw(key_smooth, centre, n)
        uniform = jax.random.uniform(key_values, nodes[0].shape, centre.dtype)
        return self._crossed(centre, *nodes, uniform, FEW_COMBINED)

    def crossed(
        self, centre: Array, nodes: Array, log_weights: Array, key: PRNGKeyArray | None = None
    ) -> Weighted:
        """Give nodes all combinations of values, or ones that are drawn."""
        key = jax.random.key(0) if key is None else key
        uniform = jax.random.uniform(key, nodes.shape, centre.dtype)
        return self._crossed(centre, nodes, log_weights, uniform, MOST_COMBINED)

    def _crossed(
        self, centre: Array, nodes: Array, log_weights: Array, uniform: Array, most: int
    ) -> Weighted:
        home = centre[..., None, :]
        if self.combined <= most:
            count = self.combined
            places = itertools.product(*(range(variable.count) for variable in self.variables))
            combinations = np.array(list(places), int).reshape(count, -1)
            n = nodes.shape[-2]
            nodes = jnp.repeat(nodes, count, axis=-2)
            log_weights = jnp.repeat(log_weights, count, axis=-1)
            for i, variable in enumerate(self.variables):
                nodes = _set(variable, nodes, jnp.asarray(np.tile(combinations[:, i], n)))
            return nodes, log_weights + self._log_values(home, nodes)
        for variable, stay in zip(self.variables, self._staying(), strict=True):
            if variable.count > 1:
                nodes = _set(variable, nodes, _other(variable, home, uniform, stay))
                same = _same(variable, home, nodes)
                shares = jnp.where(same, *variable.log_shares(self.epsilon))
                log_weights = log_weights + shares - _log_drawn(variable, stay, same)
        return nodes, log_weights

    def discrete_moves(self, centre: Float[Array, "*b d"]) -> Float[Array, "*b v d"] | None:
        """Every combination of values while they are few, else every change of one variable."""
        if not self.variables:
            return None
        home = centre[..., None, :]
        if self.combined <= MOST_COMBINED:
            return self._crossed(
                centre, home, jnp.zeros(home.shape[:-1], centre.dtype), home, MOST_COMBINED
            )[0]
        changed = [
            _set(
                variable,
                jnp.broadcast_to(home, (*centre.shape[:-1], variable.count, centre.shape[-1])),
                jnp.arange(variable.count),
            )
            for variable in self.variables
        ]
        return jnp.concatenate(changed, axis=-2)

    def proximal(
        self, home: Array, point: Array, uphill: Array, size: Array, penalty: Array
    ) -> Array:
        """Numbers step and shrink; values stay what they are."""
        moved = self.inner.proximal(home, point, uphill, size, penalty)
        return jnp.where(self.discrete, point, moved)

    def outweighing(self, falling: Any, rising: Any, degree: int = 1) -> Any:
        """Of the columns that are numbers."""
        return self.inner.outweighing(falling, rising, degree)

    def least_slope(self, scales: np.ndarray) -> float:
        """Of the columns that are numbers."""
        return self.inner.least_slope(scales)


def mixed(
    smooth: AbstractKernel,
    variables: Sequence[tuple[tuple[int, ...], np.ndarray, float]],
    fixed: Sequence[int],
) -> AbstractKernel:
    """Return the kernel with categorical variables (columns, values, mismatch) and fixed columns.

    If there are none, that of the numbers itself.
    """
    if not variables and not fixed:
        return smooth
    parts: list[Any] = [
        Variable(tuple(columns), values, np.float64(mismatch))  # pyright: ignore[reportArgumentType]
        for columns, values, mismatch in variables
    ]
    taken = {*fixed, *(column for columns, _, _ in variables for column in columns)}
    others = tuple(i for i in range(np.size(smooth.scale)) if i not in taken)
    return MixedKernel(inner=smooth, variables=tuple(parts), fixed=tuple(fixed), integrated=others)


def _same(variable: Variable, centre: Points, point: Points) -> Array:
    """Whether both have the same value."""
    here, there = (jnp.argmin(variable.distances(p), axis=-1) for p in (centre, point))
    return here == there


def _log_drawn(variable: Variable, stay: Array, same: Array) -> Array:
    """Log-chance that a value was drawn."""
    if variable.count == 1:
        return jnp.zeros(same.shape, stay.dtype)
    return jnp.where(same, jnp.log(stay), jnp.log((1 - stay) / (variable.count - 1)))


def _set(variable: Variable, points: Array, value: Array) -> Array:
    """Points with these values, by number."""
    columns = np.array(variable.columns)
    chosen = variable.values.astype(points.dtype)[value]
    return points.at[..., columns].set(jnp.broadcast_to(chosen, (*points.shape[:-1], len(columns))))


def _other(variable: Variable, centre: Array, uniform: Array, stay: Any) -> Array:
    """The centre's own value below ``stay``, else one of the others, all alike."""
    own = jnp.argmin(variable.distances(centre), axis=-1)
    level = uniform[..., variable.columns[0]]
    rest = (level - stay) / jnp.maximum(1 - stay, 1e-30) * (variable.count - 1)
    step = 1 + jnp.clip(jnp.floor(rest), 0, max(variable.count - 2, 0)).astype(own.dtype)
    return jnp.where(level < stay, own, (own + step) % variable.count)
