"""Soft forests on a few learned scores: every gate looks at the same weighted sums of the features.

    s = V x,     f(x) = (1/T) Σ_t Σ_l p_{l,t}(s) · π_{l,t},      V (scores, features)

With one score this is a single-index model (Ichimura 1993), with several a form of projection
pursuit (Friedman & Stuetzle 1981). The forest learns where the score matters and how, the score
learns which way to look; both are learned together. A forest of 20 trees of depth 2 on 50 features
has 3000 gate weights of its own; here it has 60, and the 50 of a score that all share, so that far
fewer rows tell them from noise (docs/results/recipe.md). Where outcomes depend on features in
unlike ways, one score is too few.

Multiplied out, w·V are the weights of an ordinary soft forest: what is known of those holds here.
"""

from __future__ import annotations

import math
import operator
from dataclasses import replace
from typing import Any, ClassVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from hedgerow import _checks
from hedgerow.decisions import DecisionSet
from hedgerow.describe.numbers import counted
from hedgerow.describe.page_form import PageForm
from hedgerow.plain import Trees
from hedgerow.rules.base import FittedRule, Rule, Start
from hedgerow.rules.expansion import Expansion
from hedgerow.rules.forest import Forest, with_hard_gates
from hedgerow.rules.forest_arrays import ForestArrays
from hedgerow.rules.slopes import Slopes
from hedgerow.rules.soft_forest import SoftForest


class ScoredForest(FittedRule):
    """A fitted forest on scores.

    Attributes
    ----------
    scores : (scores, features)
        V: what each score is a weighted sum of.
    gate_weights, gate_biases, leaves, temperature
        Those of a forest that sees the scores alone.
    """

    trainable: ClassVar[tuple[str, ...]] = ("scores", "gate_weights", "gate_biases", "leaves")
    scores: Float[Array, "s d"]
    gate_weights: Float[Array, "t g s"]
    gate_biases: Float[Array, "t g"]
    leaves: Float[Array, "t l k"]
    temperature: Float[Array, ""]
    decision_set: DecisionSet

    def __call__(self, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
        """Score every column of x, and let the forest decide."""
        return self._forest(self.gate_weights)(self.scores @ x)

    def paces(self) -> dict[str, float]:
        """As for a forest of so many features; scores turn the more slowly, the longer they are."""
        own = self._forest(self.gate_weights).paces()
        return own | {"scores": 1 / math.sqrt(self.scores.shape[1])}

    def expanded(self) -> Forest:
        """Return the same function as a forest that sees the features themselves, in float64."""
        weights = (np.asarray(part, np.float64) for part in (self.gate_weights, self.scores))
        return self._forest(operator.matmul(*weights))

    def hardened(self) -> ScoredForest:
        """Return the forest in the limit τ → 0."""
        return with_hard_gates(self)

    def words(self) -> str:
        """What kind of rule it is."""
        return (
            f"{self.expanded().words()}, about {counted(len(self.scores), 'score')}, weighted sums "
            "of the inputs that all questions share"
        )

    def is_bounded(self) -> bool:
        """Decisions are mixtures of leaves."""
        return True

    def check_restored(self, n_features: int) -> None:
        """The temperature is none below 0."""
        self.expanded().check_restored(n_features)

    def trees(self, n_features: int | None = None) -> ForestArrays:
        """Those of the forest it stands for."""
        return self.expanded().trees(n_features)

    def bounds(self, centre: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Likewise."""
        return self.expanded().bounds(centre, width)

    def expansion(self, n_features: int) -> Expansion | None:
        """Likewise."""
        return self.expanded().expansion(n_features)

    def plain(self) -> Trees | None:
        """Scores, and the forest on them."""
        forest = self._forest(self.gate_weights).plain()
        scores = np.asarray(self.scores, np.float64)
        return None if forest is None else replace(forest, scores=scores)

    def page_form(self) -> PageForm:
        """Likewise."""
        return self.expanded().page_form()

    def _forest(self, gate_weights: Any) -> Forest:
        return Forest(
            gate_weights=gate_weights,
            gate_biases=self.gate_biases,
            leaves=self.leaves,
            features=None,
            temperature=self.temperature,
            decision_set=self.decision_set,
        )


class ScoreForest(Rule):
    """A soft forest that looks at a few learned scores instead of the features themselves.

    Parameters
    ----------
    scores : int
        Weighted sums of the features that all gates share. They begin along the directions in which
        outcomes rise (ridge regression on the training data), those first that explain most.
    trees, depth, temperature, gate_scale, leaf_scale
        As for ``SoftForest``.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> policy = hr.RobustPolicy(loss, hr.ERM(), hr.ScoreForest(), solver=hr.SCSC(steps=50))
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    traced = ("temperature", "gate_scale", "leaf_scale")
    scores: int = 1
    trees: int = 20
    depth: int | tuple[int, ...] | None = 2
    temperature: float = 1.0
    gate_scale: float | None = None
    leaf_scale: float = 0.5

    def check(self) -> None:
        """Counts are whole and positive, scales positive."""
        _checks.count("scores", self.scores)
        self._forest().check()

    @property
    def begins_along_slopes(self) -> bool:
        """Scores do."""
        return True

    def build(self, key: PRNGKeyArray, start: Start) -> ScoredForest:
        """Scores along slopes, or anywhere where there are none; gates along each of them."""
        key_scores, key_forest = jax.random.split(key)
        looked_at = np.array(start.looked_at)
        shape = self.scores, len(looked_at)
        drawn = jax.random.normal(key_scores, shape, start.decision.dtype) / math.sqrt(shape[1])
        scores = jnp.zeros((self.scores, start.n_features), drawn.dtype).at[:, looked_at].set(drawn)
        explained = jnp.ones(self.scores)
        if start.slopes is not None:
            found = jnp.asarray(start.slopes.explained)
            first = jnp.argsort(-found)[: self.scores]
            known, share = len(first), found[first]
            along = jnp.where(share[:, None] > 0, start.slopes.directions[first], scores[:known])
            scores, explained = scores.at[:known].set(along), explained.at[:known].set(share)
            explained = jnp.where(jnp.sum(share) > 0, explained, 1.0)
        own = replace(
            start,
            n_features=self.scores,
            varying=(),
            slopes=Slopes(*cast(Any, (jnp.eye(self.scores), explained))),
        )
        forest: Any = self._forest().build(key_forest, own)
        return ScoredForest(
            scores=scores,
            gate_weights=forest.gate_weights,
            gate_biases=forest.gate_biases,
            leaves=forest.leaves,
            temperature=forest.temperature,
            decision_set=forest.decision_set,
        )

    def _forest(self) -> SoftForest:
        """The forest on scores, which has no choice of where to look; unchecked, to be traced."""
        return SoftForest().replace(
            trees=self.trees,
            depth=self.depth,
            temperature=self.temperature,
            gate_scale=self.gate_scale,
            leaf_scale=self.leaf_scale,
        )
