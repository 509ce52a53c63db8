"""Soft trees with their derivatives in closed form (paper: prop-srt-derivation), in float64.

With s_i the gate's probability of turning left, ψ_i = 1 − s_i where a route turns left and −s_i
where it turns right, and w_i already divided by the temperature,

    ∂p_l  = p_l · v_l,                      v_l = Σ_{i on l} ψ_i w_i
    ∂²p_l = p_l · ( v_l v_lᵀ − Σ_{i on l} s_i (1 − s_i) w_i w_iᵀ ).

Decisions are sums over routes, but their gradient needs no route: with reach_i the probability of
coming to gate i, and left_i, right_i the decisions expected beyond it,

    ∂f = (1/T) Σ_i reach_i · s_i (1 − s_i) · (left_i − right_i) · w_i.

Rows come last, as in ``rules.soft_forest``, whose layout of gates and leaves this is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit


@dataclass(frozen=True)
class ForestArrays:
    """The numbers of a forest, on standardised contexts; what a rule's ``trees`` returns.

    Attributes
    ----------
    weights : (trees, gates, features), divided by the temperature; 0 for features not seen
    biases : (trees, gates), divided by the temperature
    leaves : (trees, leaves, decisions), in working units or, after ``in_units``, the user's
    """

    weights: Float[np.ndarray, "t g d"]
    biases: Float[np.ndarray, "t g"]
    leaves: Float[np.ndarray, "t l k"]

    def in_units(self, z_unit: Float[np.ndarray, " k"]) -> ForestArrays:
        """The same trees, their leaves counted in other units."""
        return replace(self, leaves=self.leaves * z_unit)

    @property
    def depth(self) -> int:
        """Gates on a route."""
        return self.leaves.shape[1].bit_length() - 1

    @cached_property
    def on_route(self) -> Int[np.ndarray, "l depth"]:
        """Gates that the route to each leaf passes, from the root on."""
        leaf = np.arange(self.leaves.shape[1])[:, None]
        level = np.arange(self.depth)
        return 2**level - 1 + leaf % 2**level

    @cached_property
    def turns_right(self) -> Int[np.ndarray, "l depth"]:
        """Which way the route turns there: 0 left, 1 right."""
        return (np.arange(self.leaves.shape[1])[:, None] >> np.arange(self.depth)) & 1

    def logits(self, x: Float[np.ndarray, "d rows"]) -> Float[np.ndarray, "t g rows"]:
        """(w·x + b)/τ of every gate."""
        trees, gates, features = self.weights.shape
        products = self.weights.reshape(-1, features) @ x
        return products.reshape(trees, gates, -1) + self.biases[:, :, None]

    def reach(self, gates: Float[np.ndarray, "t g rows"]) -> list[np.ndarray]:
        """Probability of coming to the gates of each level and, last, to the leaves."""
        reached = [np.ones_like(gates[:, :1])]
        for level in range(self.depth):
            left = reached[-1] * level_of(gates, level)
            reached.append(np.concatenate([left, reached[-1] - left], axis=1))
        return reached

    def routes(self, x: Float[np.ndarray, "d rows"]) -> Float[np.ndarray, "t l rows"]:
        """p_l: the probability of reaching each leaf."""
        return self.reach(expit(self.logits(x)))[-1]

    def decide(self, logits: Float[np.ndarray, "t g rows"]) -> Float[np.ndarray, "k rows"]:
        """Decisions, from the gates' logits."""
        routes = self.reach(expit(logits))[-1]
        trees, leaves, decisions = self.leaves.shape
        mixed = self.leaves.reshape(-1, decisions).T @ routes.reshape(trees * leaves, -1)
        return mixed / trees

    def slopes(self, logits: Float[np.ndarray, "t g rows"]) -> Float[np.ndarray, "t g k rows"]:
        """∂f/∂(logit of each gate), the mean over trees included."""
        gates = expit(logits)
        reached = self.reach(gates)
        _, gaps = mixed_upward(gates, self.leaves)
        steep = gates * (1 - gates) / len(self.leaves)
        parts = [
            (reached[level] * level_of(steep, level))[:, :, None, :] * gaps[self.depth - 1 - level]
            for level in range(self.depth)
        ]
        return np.concatenate(parts, axis=1)

    def gradients(self, x: Float[np.ndarray, "d rows"]) -> Float[np.ndarray, "rows k d"]:
        """∂f/∂x."""
        slopes = self.slopes(self.logits(x))
        return np.tensordot(slopes, self.weights, axes=((0, 1), (0, 1))).transpose(1, 0, 2)

    def route_slopes(
        self, x: Float[np.ndarray, "d rows"]
    ) -> tuple[Float[np.ndarray, "t l rows"], Float[np.ndarray, "rows t l d"]]:
        """p_l and v_l, so that ∂p_l = p_l·v_l."""
        logits = self.logits(x)
        gates = expit(logits)
        turned = self.turns_right[None, :, :, None]
        psi = np.where(turned == 0, expit(-logits)[:, self.on_route], -gates[:, self.on_route])
        v = np.einsum("tlir,tlid->rtld", psi, self.weights[:, self.on_route])
        return self.reach(gates)[-1], v

    def route_hessians(self, x: Float[np.ndarray, "d rows"]) -> Float[np.ndarray, "rows t l d e"]:
        """∂²p_l."""
        routes, v = self.route_slopes(x)
        logits = self.logits(x)
        bend = (expit(logits) * expit(-logits))[:, self.on_route]
        w = self.weights[:, self.on_route]
        curved = np.einsum("tlir,tlid,tlie->rtlde", bend, w, w, optimize=True)
        return routes.transpose(2, 0, 1)[..., None, None] * (
            v[..., :, None] * v[..., None, :] - curved
        )

    def hessians(self, x: Float[np.ndarray, "d rows"]) -> Float[np.ndarray, "rows k d e"]:
        """∂²f/∂x²: the routes' Hessians, weighted by their leaves."""
        trees = len(self.leaves)
        return (
            np.einsum("tlk,rtlde->rkde", self.leaves, self.route_hessians(x), optimize=True) / trees
        )

    def bounds(
        self, x: Float[np.ndarray, "d rows"], change: Float[np.ndarray, "d rows"]
    ) -> tuple[Float[np.ndarray, "k rows"], Float[np.ndarray, "k rows"]]:
        """Bounds on f over the box |x' − x| ≤ change, gate by gate from the leaves up.

        A gate mixes what lies beyond it, s·left + (1 − s)·right, so its extremes over s in an
        interval lie at the ends. Exact for a single gate.
        """
        middle = self.logits(x)
        trees, gates, features = self.weights.shape
        room = (np.abs(self.weights).reshape(-1, features) @ change).reshape(trees, gates, -1)
        least, most = expit(middle - room), expit(middle + room)
        low = high = np.broadcast_to(
            self.leaves[:, :, :, None], (*self.leaves.shape, middle.shape[-1])
        )
        for level in reversed(range(self.depth)):
            ends = [level_of(gate, level)[:, :, None, :] for gate in (least, most)]
            low = np.minimum(*(_mixed(low, end) for end in ends))
            high = np.maximum(*(_mixed(high, end) for end in ends))
        return low[:, 0].mean(axis=0), high[:, 0].mean(axis=0)


def level_of(gates: Any, level: int) -> Any:
    """The gates of one level, of NumPy's arrays or of JAX's."""
    return gates[:, 2**level - 1 : 2 ** (level + 1) - 1]


def mixed_upward(gates: Any, leaves: Any) -> tuple[Any, list[Any]]:
    """Values at the roots and left − right at every gate, deepest level first; NumPy or JAX."""
    values, gaps = leaves[:, :, :, None], []
    for level in reversed(range(leaves.shape[1].bit_length() - 1)):
        half = values.shape[1] // 2
        gaps.append(values[:, :half] - values[:, half:])
        values = values[:, half:] + level_of(gates, level)[:, :, None, :] * gaps[-1]
    return values[:, 0], gaps


def _mixed(values: np.ndarray, gate: np.ndarray) -> np.ndarray:
    left, right = np.split(values, 2, axis=1)
    return right + gate * (left - right)
