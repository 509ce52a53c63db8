"""Soft regression forests: trees whose gates open by degrees (paper: SRF).

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

Beginnings. A forest that begins with random gates spends its first steps on finding out where to
look, and by then has learned noise. Gates may begin along the directions in which outcomes rise
(``slopes``), at random places and of random steepness; docs/results/recipe.md says what it brings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from hedgerow import _checks
from hedgerow._components import double
from hedgerow.decisions import DecisionSet
from hedgerow.describe.numbers import counted
from hedgerow.describe.page_form import PageForm, asset
from hedgerow.plain import Trees
from hedgerow.programs import program
from hedgerow.rules.base import FittedRule, Rule, Start
from hedgerow.rules.expansion import Expansion, forest_expansion
from hedgerow.rules.forest_arrays import ForestArrays, level_of, mixed_upward
from hedgerow.rules.slopes import Slopes

MOST_DEPTH = 12
MOST_PACED = 10
BY_TREE = ("gate_weights", "gate_biases", "leaves", "features")
"""Fields of a forest whose first axis is that of trees."""
INFORMED_SCALE, RANDOM_SCALE = 1.5, 0.1
"""Of initial gates, by how they begin (docs/results/recipe.md)."""


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
        if self.features is None:
            products = (self.gate_weights.reshape(-1, seen) @ x).reshape(trees, gates, -1)
        else:
            products = jnp.einsum("tgm,tmr->tgr", self.gate_weights, x[self.features])
        return products + self.gate_biases[:, :, None]

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
        return eqx.tree_at(
            lambda forest: forest.temperature, self, jnp.zeros_like(self.temperature)
        )

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
        return (
            f"The average of {counted(trees, 'soft decision tree')}, "
            f"{counted(self.depth, 'question')} deep with {leaves} leaves each; soft: every "
            "question is answered by degrees"
        )

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
        temperature = float(self.temperature)
        if not temperature > 0:
            raise ValueError(
                "A hard forest (temperature 0) jumps at its splits: it has neither derivatives nor "
                "a Lipschitz constant; ask about the soft forest it came from."
            )
        weights = np.asarray(self.gate_weights, np.float64)
        if self.features is not None:
            seen, columns = weights, np.asarray(self.features)[:, None, :]
            weights = np.zeros((*seen.shape[:2], n_features or int(columns.max()) + 1))
            np.put_along_axis(weights, np.broadcast_to(columns, seen.shape), seen, axis=2)
        return ForestArrays(
            weights=weights / temperature,
            biases=np.asarray(self.gate_biases, np.float64) / temperature,
            leaves=self._exact_leaves(),
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
                "leaves": np.asarray(self._exact_leaves(), np.float32),
                "seen": None if self.features is None else np.asarray(self.features).tolist(),
            },
            units=self.gate_biases.size,
            trees=True,
        )

    def _exact_leaves(self) -> Float[np.ndarray, "t l k"]:
        with jax.enable_x64(True):
            return np.asarray(_leaf_decisions(double(self)))


class SoftForest(Rule):
    """A forest of soft regression trees.

    Parameters
    ----------
    trees : int
    depth : int or None
        Gates on each route; None: ceil(log2(features)) + 1, as in the paper.
    temperature : float
        τ of the gates. Small values make splits crisp.
    features_per_tree : int, float or None
        How many features (int) or which share of them (float in (0, 1]) each tree sees, drawn at
        random; None: all.
    gates : {"informed", "random"}
        Initial gates look along the directions in which outcomes rise (ridge regression on the
        training data), outcomes being taken as often as they can be explained so; or anywhere,
        which is also what "informed" does where no direction explains anything.
    gate_scale : float or None
        Standard deviation of the logits w·x of initial gates. None: 1.5 informed, 0.1 random.
    leaf_scale : float
        Initial leaves deviate from the best constant decision by this many standard deviations of
        the outcome (in raw coordinates).
    """

    traced = ("temperature", "gate_scale", "leaf_scale")
    trees: int = 20
    depth: int | None = 2
    temperature: float = 1.0
    features_per_tree: float | None = None
    gates: str = "informed"
    gate_scale: float | None = None
    leaf_scale: float = 0.5

    def check(self) -> None:
        """Counts are whole and positive, scales positive."""
        _checks.count("trees", self.trees)
        if self.depth is not None and _checks.count("depth", self.depth) > MOST_DEPTH:
            raise ValueError(
                f"depth must be at most {MOST_DEPTH} (a tree has 2^depth leaves), got {self.depth}."
            )
        _checks.positive("temperature", self.temperature)
        _checks.one_of("gates", self.gates, ("informed", "random"))
        if self.gate_scale is not None:
            _checks.positive("gate_scale", self.gate_scale)
        _checks.nonnegative("leaf_scale", self.leaf_scale)
        if isinstance(self.features_per_tree, float):
            _checks.fraction("features_per_tree", self.features_per_tree)
        elif self.features_per_tree is not None:
            _checks.count("features_per_tree", self.features_per_tree)

    @property
    def begins_along_slopes(self) -> bool:
        """Informed gates do."""
        return self.gates == "informed"

    def mean_of(self, count: int) -> SoftForest:
        """A forest of all their trees."""
        return self.replace(trees=count * self.trees)

    def depth_for(self, n_features: int) -> int:
        """Depth used with this many features."""
        automatic = math.ceil(math.log2(n_features)) + 1 if n_features > 1 else 1
        return self.depth or min(automatic, MOST_DEPTH)

    def features_for(self, n_features: int) -> int:
        """Features each tree sees."""
        if self.features_per_tree is None:
            return n_features
        if isinstance(self.features_per_tree, float):
            return max(1, round(self.features_per_tree * n_features))
        return min(int(self.features_per_tree), n_features)

    def build(self, key: PRNGKeyArray, start: Start) -> Forest:
        """Gates as told, leaves scattered around the decision to start with."""
        centre, n_features, slopes = start.raw, len(start.looked_at), start.slopes
        dtype = centre.dtype
        leaves = 2 ** self.depth_for(n_features)
        seen = self.features_for(n_features)
        key_gates, key_biases, key_leaves, key_features = jax.random.split(key, 4)
        features = None
        if seen < n_features:
            draws = jax.random.split(key_features, self.trees)
            features = jax.vmap(lambda k: jax.random.permutation(k, n_features)[:seen])(draws)
            features = jnp.asarray(start.looked_at)[features]
        elif start.varying:  # as if the others were not there
            features = jnp.tile(jnp.asarray(start.varying), (self.trees, 1))
        shape = (self.trees, leaves - 1)
        scale = RANDOM_SCALE if self.gate_scale is None else self.gate_scale
        weights = jax.random.normal(key_gates, (*shape, seen), dtype) * scale / math.sqrt(seen)
        biases = jax.random.normal(key_biases, shape, dtype) * scale * 0.5
        if self.begins_along_slopes and slopes is not None:
            along, places = self._informed(key_gates, shape, slopes, features)
            known = jnp.sum(slopes.explained) > 0
            weights, biases = jnp.where(known, along, weights), jnp.where(known, places, biases)
        scatter = jax.random.normal(key_leaves, (self.trees, leaves, len(centre)), dtype)
        return Forest(
            gate_weights=weights,
            gate_biases=biases,
            leaves=centre + self.leaf_scale * scatter,
            features=features,
            temperature=jnp.asarray(self.temperature, dtype),
            decision_set=start.decision_set,
        )

    def _informed(
        self,
        key: PRNGKeyArray,
        shape: tuple[int, int],
        slopes: Slopes,
        features: Int[Array, "t m"] | None,
    ) -> tuple[Float[Array, "t g m"], Float[Array, "t g"]]:
        """Weights and biases of gates along the slopes, of both signs, in the bulk of the data."""
        keys = jax.random.split(key, 4)
        scale = INFORMED_SCALE if self.gate_scale is None else self.gate_scale
        steepness = scale * jax.random.uniform(keys[0], shape, minval=0.5, maxval=1.5)
        turned = steepness * jax.random.rademacher(keys[1], shape)
        chances = jnp.log(jnp.asarray(slopes.explained))
        which = jax.random.categorical(keys[2], chances, shape=shape)
        quantiles = jax.random.uniform(keys[3], shape, minval=0.15, maxval=0.85)
        along = jnp.asarray(slopes.directions)[which]
        if features is not None:
            along = jnp.take_along_axis(along, features[:, None, :], axis=2)
        return turned[:, :, None] * along, steepness * jax.scipy.special.ndtri(quantiles)


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
