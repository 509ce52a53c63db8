"""A fitted soft forest: trees whose gates open by degrees (paper: SRF).

A tree of depth D sends x left at gate i with probability s_i = S((w_i·x + b_i)/τ) and reaches leaf
l with probability p_l(x), the product along its route. The forest's decision is

    f(x) = (1/T) Σ_t Σ_l p_{l,t}(x) · π_{l,t},        π = map(raw leaf) ∈ Z,

a convex combination of leaf decisions, hence in Z. As τ → 0 the gates become hard splits.

Layout. Gates are stored level by level; gate i of level v has children i and i + 2^v on the next
level, so bit v of a leaf's number says which way its route turns at level v (0 left, 1 right).
Probabilities flow from the root to the leaves, and one matrix product over all leaves of all trees
makes decisions of them; its cost hardly depends on how many numbers a decision has. For a single
number that product is a poor one, and values flow from the leaves to the root instead,

    value_i = right_i + s_i · (left_i − right_i),

with a reverse pass, written by hand, that sends the decision's cotangent down the same gates.

Depths. Trees may be of several depths (paper: D(t)). All have room for the deepest; in a tree of
depth d the gates from level d on stand open: no weights, and a bias of OPEN·τ, which turns
everything left, so that its leaves are the first 2^d and no other is ever reached. At an open gate
s(1 − s) is 0 in any precision: such gates get no gradient and stay as they are. Nobody who decides
by these arrays need know of depths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from hedgerow import _checks
from hedgerow._components import double
from hedgerow.decisions import DecisionSet
from hedgerow.describe.numbers import counted
from hedgerow.describe.page_form import PageForm, asset
from hedgerow.plain import Trees
from hedgerow.programs import program
from hedgerow.rules.base import FittedRule
from hedgerow.rules.expansion import Expansion, forest_expansion
from hedgerow.rules.forest_arrays import ForestArrays, level_of, mixed_upward

MOST_PACED = 10
OPEN = 1e3
"""Bias, in units of τ, of gates that turn everything left: S(OPEN) is 1 in any precision."""
WIDE = 2
"""How many times as many features as each tree sees there may be for one product over all of them
to be faster than one for each tree: a single constant feature made training four times as slow."""
BY_TREE = ("gate_weights", "gate_biases", "leaves", "features")
"""Fields of a forest whose first axis is that of trees."""


class Forest(FittedRule):
    """A fitted soft forest.

    Attributes
    ----------
    gate_weights : (trees, gates, features)
    gate_biases : (trees, gates)
    leaves : (trees, leaves, decisions), raw; ``leaf_decisions`` are their images in Z
    features : (trees, features per tree) or None
        Which features each tree sees; None: all.
    temperature : ()
        τ; 0 makes the gates hard.
    """

    trainable: ClassVar[tuple[str, ...]] = ("gate_weights", "gate_biases", "leaves")
    gate_weights: Float[Array, "t g m"]
    gate_biases: Float[Array, "t g"]
    leaves: Float[Array, "t l k"]
    features: Int[Array, "t m"] | None
    temperature: Float[Array, ""]
    decision_set: DecisionSet

    @property
    def depth(self) -> int:
        """Gates on a route."""
        return self.leaves.shape[1].bit_length() - 1

    def paces(self) -> dict[str, float]:
        """Gates move faster than leaves, and weights the less, the more features they add up.

        Adam moves every weight by the learning rate, so a gate of d features would move d times as
        fast as one of a single feature (benchmarks/solver_defaults.py, docs/solvers.md).
        """
        features = min(self.gate_weights.shape[2], MOST_PACED)
        return {"gate_weights": 5 / features, "gate_biases": 10.0, "leaves": 2.0}

    def leaf_decisions(self) -> Float[Array, "t l k"]:
        """π: the decision at each leaf."""
        return self.decision_set.from_raw(self.leaves)

    def gate_logits(self, x: Float[Array, "d rows"]) -> Float[Array, "t g rows"]:
        """w·x + b of every gate."""
        trees, gates, seen = self.gate_weights.shape
        if self.features is None or WIDE * seen >= len(x):
            weights = self.gate_weights if self.features is None else self._wide(len(x))
            products = (weights.reshape(-1, len(x)) @ x).reshape(trees, gates, -1)
        else:
            products = jnp.einsum("tgm,tmr->tgr", self.gate_weights, x[self.features])
        return products + self.gate_biases[:, :, None]

    def _wide(self, features: int) -> Float[Array, "t g d"]:
        """Gate weights of all features, 0 for those that a tree does not see."""
        trees, gates, _ = self.gate_weights.shape
        seen = jnp.swapaxes(self.gate_weights, 1, 2)
        places = jnp.zeros((trees, features, gates), seen.dtype).at[
            jnp.arange(trees)[:, None], self.features
        ]
        filled = places.set(seen, unique_indices=True, mode="promise_in_bounds")
        return jnp.swapaxes(filled, 1, 2)

    def gates(self, x: Float[Array, "d rows"]) -> Float[Array, "t g rows"]:
        """Probability of turning left at every gate."""
        logits = self.gate_logits(x)
        soft = self.temperature > 0
        scaled = logits / jnp.where(soft, self.temperature, 1.0)
        return jnp.where(soft, jax.nn.sigmoid(scaled), (logits > 0).astype(logits.dtype))

    def route_probabilities(self, x: Float[Array, "d rows"]) -> Float[Array, "t l rows"]:
        """p_{l,t}(x): the probability of reaching each leaf; sums to 1 over leaves."""
        gates = self.gates(x)
        routes = jnp.ones_like(gates[:, :1])
        for level in jax.lax.split(gates, [2**v for v in range(self.depth)], axis=1):
            left = routes * level
            routes = jnp.concatenate([left, routes - left], axis=1)
        return routes

    def __call__(self, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
        """Decide for every column of x."""
        trees, leaves, decisions = self.leaves.shape
        if decisions == 1:
            return mix_leaves(self.gates(x), self.leaf_decisions())
        routes = self.route_probabilities(x).reshape(trees * leaves, -1)
        return self.leaf_decisions().reshape(-1, decisions).T @ routes / trees

    def hardened(self) -> Forest:
        """Return the forest in the limit τ → 0."""
        return with_hard_gates(self)

    def averaged(self, others: Sequence[FittedRule]) -> FittedRule:
        """All their trees together: forests of equally many trees decide like the mean."""
        forests: Any = (self, *others)

        def together(name: str) -> Array:
            return jnp.concatenate([jnp.asarray(getattr(forest, name)) for forest in forests])

        names = [name for name in BY_TREE if getattr(self, name) is not None]
        return eqx.tree_at(
            lambda forest: [getattr(forest, name) for name in names],
            self,
            [together(name) for name in names],
        )

    def words(self) -> str:
        """What kind of rule it is."""
        trees, leaves, _ = self.leaves.shape
        depths = np.unique(self.arrays().depths)
        deep = f"{counted(self.depth, 'question')} deep with {leaves} leaves each"
        if len(depths) > 1:
            deep = f"{depths[0]} to {counted(int(depths[-1]), 'question')} deep"
        if float(self.temperature) > 0:
            kind, manner = "soft decision tree", "soft: every question is answered by degrees"
        else:
            kind, manner = "decision tree", "hard: every question is answered by yes or no"
        return f"The average of {counted(trees, kind)}, {deep}; {manner}"

    def is_bounded(self) -> bool:
        """Decisions are mixtures of leaves."""
        return True

    def check_restored(self, n_features: int) -> None:
        """Trees see features that there are, and the temperature is none below 0."""
        if self.features is not None:
            seen = np.asarray(self.features)
            if np.any((seen < 0) | (seen >= n_features)):
                raise ValueError(f"A tree sees features that are none of the {n_features}.")
        _checks.nonnegative("temperature", float(self.temperature))

    def trees(self, n_features: int | None = None) -> ForestArrays:
        """The forest itself, in float64."""
        arrays = self.arrays(n_features)
        leaves = np.arange(self.leaves.shape[1])
        reached = leaves % 2 ** arrays.depths[:, None]  # copies where no route leads
        return replace(arrays, leaves=arrays.leaves[np.arange(len(reached))[:, None], reached])

    def arrays(self, n_features: int | None = None) -> ForestArrays:
        """The same, leaves that no route leads to as they happen to be."""
        temperature = float(self.temperature)
        weights = np.asarray(self.gate_weights, np.float64)
        if self.features is not None:
            seen, columns = weights, np.asarray(self.features)[:, None, :]
            weights = np.zeros((*seen.shape[:2], n_features or int(columns.max()) + 1))
            np.put_along_axis(weights, np.broadcast_to(columns, seen.shape), seen, axis=2)
        return ForestArrays(
            weights=weights / (temperature or 1.0),
            biases=np.asarray(self.gate_biases, np.float64) / (temperature or 1.0),
            leaves=self._exact_leaves(),
            hard=temperature == 0,
        )

    def bounds(self, centre: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gate by gate from the leaves up."""
        low, high = self.trees(len(centre)).bounds(centre[:, None], width[:, None])
        return low[:, 0], high[:, 0]

    def expansion(self, n_features: int) -> Expansion | None:
        """Tangents in closed form; a hard forest has none."""
        return forest_expansion(self.trees(n_features)) if self.temperature > 0 else None

    def plain(self) -> Trees | None:
        """Gates as they were learned, leaves mapped onto the set."""
        onto = self.decision_set.plain()
        if onto is None:
            return None
        features = None if self.features is None else np.asarray(self.features)
        return Trees.of(
            np.asarray(self.gate_weights),
            np.asarray(self.gate_biases),
            np.asarray(self.leaves),
            float(self.temperature),
            onto,
            features,
        )

    def page_form(self) -> PageForm:
        """Gates as they were learned, leaves as they decide."""
        trees, _, decisions = self.leaves.shape
        return PageForm(
            asset("hedgerow.rules", "forest.js"),
            {
                "trees": trees,
                "depth": self.depth,
                "decisions": decisions,
                "temperature": float(self.temperature),
                "weights": np.asarray(self.gate_weights, np.float32),
                "biases": np.asarray(self.gate_biases, np.float32),
                "leaves": np.asarray(self.trees().leaves, np.float32),
                "seen": None if self.features is None else np.asarray(self.features).tolist(),
            },
            units=self.gate_biases.size,
            trees=True,
        )

    def _exact_leaves(self) -> Float[np.ndarray, "t l k"]:
        with jax.enable_x64(True):
            return np.asarray(_leaf_decisions(double(self)))


def with_hard_gates(rule: Any) -> Any:
    """Return a rule with gates of a temperature, at temperature 0."""
    return eqx.tree_at(lambda one: one.temperature, rule, jnp.zeros_like(rule.temperature))


@program
def _leaf_decisions(forest: Forest) -> Float[Array, "t l k"]:
    return forest.leaf_decisions()


@jax.custom_vjp
def mix_leaves(
    gates: Float[Array, "t g rows"], leaves: Float[Array, "t l k"]
) -> Float[Array, "k rows"]:
    """Average over trees of Σ_l p_l · leaf_l, rows last."""
    return _mix_forward(gates, leaves)[0]


def _mix_forward(gates: Array, leaves: Array) -> tuple[Array, tuple[Array, list[Array]]]:
    values, gaps = mixed_upward(gates, leaves)
    return jnp.mean(values, axis=0), (gates, gaps)


def _mix_reverse(kept: tuple[Array, list[Array]], cotangent: Array) -> tuple[Array, Array]:
    gates, gaps = kept
    trees = gates.shape[0]
    flow = jnp.broadcast_to(cotangent / trees, (trees, 1, *cotangent.shape))
    gate_cotangents = []
    for level in range(len(gaps)):
        gate_cotangents.append(jnp.sum(flow * gaps[len(gaps) - 1 - level], axis=2))
        left = flow * level_of(gates, level)[:, :, None, :]
        flow = jnp.concatenate([left, flow - left], axis=1)
    return jnp.concatenate(gate_cotangents, axis=1), jnp.sum(flow, axis=-1)


mix_leaves.defvjp(_mix_forward, _mix_reverse)
