"""Soft regression forests as the user describes them (paper: SRF); ``rules.forest`` is fitted.

Beginnings. A forest that begins with random gates spends its first steps on finding out where to
look, and by then has learned noise. Gates may begin along the directions in which outcomes rise
(``slopes``), at random places and of random steepness; docs/results/recipe.md says what it brings.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from hedgerow import _checks
from hedgerow.rules.base import FittedRule, Rule, Start
from hedgerow.rules.forest import OPEN, Forest
from hedgerow.rules.linear_leaves import LinearForest
from hedgerow.rules.slopes import Slopes

MOST_DEPTH = 12
INFORMED_SCALE, RANDOM_SCALE = 1.5, 0.1
"""Of initial gates, by how they begin (docs/results/recipe.md)."""


class SoftForest(Rule):
    """A forest of soft regression trees.

    Parameters
    ----------
    trees : int
    depth : int, tuple of int or None
        Gates on each route; None: ceil(log2(features)) + 1, as in the paper. Several are the depths
        of the trees one after the other, begun again when they are used up: ``SoftForest(3,
        depth=(2, 3, 5))`` has one tree of each.
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
    leaves : {"constant", "linear"}
        What a leaf decides: one decision, or one affine in the features that its tree sees, before
        the map onto the decision set (``rules.linear_leaves``). Forests with linear leaves are not
        mixtures of few decisions, and have no routes to explain.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> policy = hr.RobustPolicy(
    ...     loss, hr.ERM(), hr.SoftForest(trees=5, depth=3), solver=hr.SCSC(steps=50)
    ... )
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    traced = ("temperature", "gate_scale", "leaf_scale")
    trees: int = 20
    depth: int | tuple[int, ...] | None = 2
    temperature: float = 1.0
    features_per_tree: float | None = None
    gates: str = "informed"
    gate_scale: float | None = None
    leaf_scale: float = 0.5
    leaves: str = "constant"

    def check(self) -> None:
        """Counts are whole and positive, scales positive."""
        _checks.count("trees", self.trees)
        check_depth(self.depth, self.trees)
        _checks.positive("temperature", self.temperature)
        _checks.one_of("gates", self.gates, ("informed", "random"))
        _checks.one_of("leaves", self.leaves, ("constant", "linear"))
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
        own = self.own_depths()
        return self.replace(
            trees=count * self.trees, depth=self.depth if own is None else count * own
        )

    def own_depths(self) -> tuple[int, ...] | None:
        """The depth of every tree; None where all have the same."""
        if not isinstance(self.depth, tuple):
            return None
        repeats = -(-self.trees // len(self.depth))
        return (repeats * self.depth)[: self.trees]

    def depth_for(self, n_features: int) -> int:
        """Depth used with this many features, that of the deepest tree."""
        automatic = math.ceil(math.log2(n_features)) + 1 if n_features > 1 else 1
        if isinstance(self.depth, tuple):
            return max(self.own_depths() or self.depth)
        return self.depth or min(automatic, MOST_DEPTH)

    def features_for(self, n_features: int) -> int:
        """Features each tree sees."""
        if self.features_per_tree is None:
            return n_features
        if isinstance(self.features_per_tree, float):
            return max(1, round(self.features_per_tree * n_features))
        return min(int(self.features_per_tree), n_features)

    def build(self, key: PRNGKeyArray, start: Start) -> FittedRule:
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
        own = self.own_depths()
        if own is not None:  # gates that turn everything left are what makes a tree less deep
            level = np.frexp(np.arange(1, leaves))[1] - 1
            beyond = level >= np.array(own)[:, None]
            weights = jnp.where(beyond[:, :, None], 0.0, weights)
            biases = jnp.where(beyond, OPEN * self.temperature, biases)
        scatter = jax.random.normal(key_leaves, (self.trees, leaves, len(centre)), dtype)
        made = Forest(
            gate_weights=weights,
            gate_biases=biases,
            leaves=centre + self.leaf_scale * scatter,
            features=features,
            temperature=jnp.asarray(self.temperature, dtype),
            decision_set=start.decision_set,
        )
        return made if self.leaves == "constant" else LinearForest.flat(made)

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


def check_depth(depth: Any, trees: int) -> None:
    """One depth, several of them as a tuple, or None."""
    several = isinstance(depth, tuple)
    if isinstance(depth, list) or depth == ():
        raise ValueError(
            f"depth must be a whole number, a tuple of them such as (2, 3, 5), or None; got "
            f"{depth!r}."
        )
    for one in depth if several else () if depth is None else (depth,):
        if _checks.count("depth", one) > MOST_DEPTH:
            raise ValueError(
                f"depth must be at most {MOST_DEPTH} (a tree has 2^depth leaves), got {one}."
            )
    if several and len(depth) > trees:
        raise ValueError(
            f"depth names {len(depth)} depths, but there are {trees} trees; give at most as many."
        )
