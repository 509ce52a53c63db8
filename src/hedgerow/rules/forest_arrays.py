"""Soft trees with their derivatives in closed form (paper: prop-srt-derivation), in float64.

With s_i the gate's probability of turning left, ψ_i = 1 − s_i where a route turns left and −s_i
where it turns right, and w_i already divided by the temperature,

    ∂p_l  = p_l · v_l,                      v_l = Σ_{i on l} ψ_i w_i
    ∂²p_l = p_l · ( v_l v_lᵀ − Σ_{i on l} s_i (1 − s_i) w_i w_iᵀ ).

Decisions are sums over routes, but their gradient needs no route: with reach_i the probability of
coming to gate i, and left_i, right_i the decisions expected beyond it,

    ∂f = (1/T) Σ_i reach_i · s_i (1 − s_i) · (left_i − right_i) · w_i.

Rows come last, as in ``rules.forest``, whose layout of gates and leaves this is. At hard gates the
decision jumps and is flat elsewhere: it has no derivatives, but what each gate's jump adds along a
line is known exactly (``jumps``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

CERTAIN = 500.0
"""A logit from which on a soft gate is open, whatever the precision."""


@dataclass(frozen=True)
class ForestArrays:
    """The numbers of a forest, on standardised contexts; what a rule's ``trees`` returns.

    Attributes
    ----------
    weights : (trees, gates, features), divided by the temperature; 0 for features not seen
    biases : (trees, gates), divided by the temperature
    leaves : (trees, leaves, decisions), in working units or, after ``in_units``, the user's
    hard : bool
        Whether gates answer yes or no: the limit τ → 0.
    """

    weights: Float[np.ndarray, "t g d"]
    biases: Float[np.ndarray, "t g"]
    leaves: Float[np.ndarray, "t l k"]
    hard: bool = False

    def in_units(self, z_unit: Float[np.ndarray, " k"]) -> ForestArrays:
        """The same trees, their leaves counted in other units."""
        return replace(self, leaves=self.leaves * z_unit)

    @property
    def depth(self) -> int:
        """Gates on a route."""
        return self.leaves.shape[1].bit_length() - 1

    @cached_property
    def depths(self) -> Int[np.ndarray, " t"]:
        """Gates on the routes of every tree: below its own leaves all gates turn left."""
        certain = 0 if self.hard else CERTAIN
        asks = np.any(self.weights != 0, axis=2) | (self.biases <= certain)
        levels = np.array([level_of(asks, v).any(axis=1) for v in range(self.depth)])
        return np.max(levels * np.arange(1, self.depth + 1)[:, None], axis=0, initial=1)

    def one(self, tree: int) -> ForestArrays:
        """One tree as a forest, of its own depth."""
        leaves = 2 ** int(self.depths[tree])
        own = slice(tree, tree + 1)
        return replace(
            self,
            weights=self.weights[own, : leaves - 1],
            biases=self.biases[own, : leaves - 1],
            leaves=self.leaves[own, :leaves],
        )

    def gates(self, logits: Float[np.ndarray, "*g"]) -> Float[np.ndarray, "*g"]:
        """Probability of turning left, from logits."""
        return (logits > 0).astype(np.float64) if self.hard else expit(logits)

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
        return self.reach(self.gates(self.logits(x)))[-1]

    def decide(self, logits: Float[np.ndarray, "t g rows"]) -> Float[np.ndarray, "k rows"]:
        """Decisions, from the gates' logits."""
        routes = self.reach(self.gates(logits))[-1]
        trees, leaves, decisions = self.leaves.shape
        mixed = self.leaves.reshape(-1, decisions).T @ routes.reshape(trees * leaves, -1)
        return mixed / trees

    def slopes(self, logits: Float[np.ndarray, "t g rows"]) -> Float[np.ndarray, "t g k rows"]:
        """∂f/∂(logit of each gate), the mean over trees included."""
        self.check_smooth()
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
        self.check_smooth()
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
        ends = self.leaves[:, :, :, None]
        return self.bounds_of(x, change, ends, ends)

    def bounds_of(
        self,
        x: Float[np.ndarray, "d rows"],
        change: Float[np.ndarray, "d rows"],
        low: Float[np.ndarray, "t l k #rows"],
        high: Float[np.ndarray, "t l k #rows"],
    ) -> tuple[Float[np.ndarray, "k rows"], Float[np.ndarray, "k rows"]]:
        """The same if what leaves decide lies between two ends."""
        middle = self.logits(x)
        trees, gates, features = self.weights.shape
        room = (np.abs(self.weights).reshape(-1, features) @ change).reshape(trees, gates, -1)
        least, most = self.gates(middle - room), self.gates(middle + room)
        shape = (*self.leaves.shape, middle.shape[-1])
        low, high = np.broadcast_to(low, shape), np.broadcast_to(high, shape)
        for level in reversed(range(self.depth)):
            ends = [level_of(gate, level)[:, :, None, :] for gate in (least, most)]
            low = np.minimum(*(_mixed(low, end) for end in ends))
            high = np.maximum(*(_mixed(high, end) for end in ends))
        return low[:, 0].mean(axis=0), high[:, 0].mean(axis=0)

    def jumps(
        self,
        starts: Float[np.ndarray, "n d"],
        end: Float[np.ndarray, " d"],
        weights: Float[np.ndarray, " n"],
    ) -> Float[np.ndarray, "k d"]:
        """Of a hard forest: weighted sum over starts of (end − start)·∫₀¹ ∂f, the limit τ → 0.

        On the way from start to end a gate whose logit changes sign turns its tree once. What the
        decision jumps by there is shared by features as the logit's own change is,

            φ_j = Σ_gates jump · w_j (end_j − start_j) / (logit(end) − logit(start)),

        and all jumps together are f(end) − f(start), exactly.
        """
        first, last = self.logits(starts.T), self.logits(end[:, None])
        trees, gates, rows = first.shape
        before, after = first > 0, np.broadcast_to(last > 0, first.shape)
        turns = before != after
        change = np.where(turns, last - first, 1.0)
        when = np.where(turns, -first / change, np.inf)
        order = np.argsort(when, axis=1, kind="stable")
        most = int(turns.sum(axis=1).max(initial=0))
        t, r = np.arange(trees)[:, None], np.arange(rows)
        state, here = before.copy(), self._reached(before)
        shares = np.zeros((self.leaves.shape[2], trees, gates, rows))
        for turn in range(most):
            gate = order[:, turn]
            state[t, gate, r] = after[t, gate, r]
            there = self._reached(state)
            jump = self.leaves[t, there] - self.leaves[t, here]  # (t, rows, k)
            shares[:, t, gate, r] += jump.transpose(2, 0, 1) / change[t, gate, r]
            here = there
        steps = weights[:, None] * (end - starts)
        return np.einsum("ktgr,tgd,rd->kd", shares, self.weights, steps, optimize=True) / trees

    def _reached(self, left: Any) -> Int[np.ndarray, "t rows"]:
        """The leaf that gates lead to, each of which turns left or right."""
        trees, _, rows = left.shape
        t, r = np.arange(trees)[:, None], np.arange(rows)
        leaf = np.zeros((trees, rows), np.int64)
        for level in range(self.depth):
            leaf += np.where(left[t, 2**level - 1 + leaf, r], 0, 2**level)
        return leaf

    def check_smooth(self) -> None:
        """Raise one sentence if the forest has no derivatives."""
        if self.hard:
            raise ValueError(
                "A hard forest (temperature 0) jumps at its splits: it has neither derivatives nor "
                "a Lipschitz constant; ask about the soft forest it came from."
            )


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
