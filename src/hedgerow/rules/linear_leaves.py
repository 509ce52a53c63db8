"""Soft forests whose leaves are affine in the context, then the map onto Z.

    f(x) = map( (1/T) Σ_t Σ_l p_{l,t}(x) · (c_{l,t} + A_{l,t} x) )

Gates and routes are those of a soft forest (``rules.forest``); what a leaf says is a raw decision
that goes on changing with the features, as in linear model trees (Quinlan 1992). The map comes
last, so every decision lies in Z; where Z is everything (``Free``), the order makes no difference.
Leaves begin without slopes: as a soft forest.

Such a forest is no mixture of few decisions. It has no routes to explain, and goes on rising where
contexts go far; derivatives, attributions and certificates are found as for any other rule.

Arrays: ``gate_weights``, ``gate_biases``, ``leaves`` (here c), ``features`` and ``temperature`` as
in ``rules.forest``; ``slopes`` (trees, leaves, decisions, features seen by the tree) is A.
"""

from __future__ import annotations

from typing import ClassVar, Self

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from hedgerow.decisions import DecisionSet, Free
from hedgerow.describe.page_form import PageForm, asset
from hedgerow.describe.parts import Missing
from hedgerow.plain import LinearTrees
from hedgerow.rules.forest import MOST_PACED, Forest, with_hard_gates
from hedgerow.rules.mapped import MappedRule


class LinearForest(MappedRule):
    """A fitted soft forest with affine leaves."""

    trainable: ClassVar[tuple[str, ...]] = ("gate_weights", "gate_biases", "leaves", "slopes")
    gate_weights: Float[Array, "t g m"]
    gate_biases: Float[Array, "t g"]
    leaves: Float[Array, "t l k"]
    slopes: Float[Array, "t l k m"]
    features: Int[Array, "t m"] | None
    temperature: Float[Array, ""]
    decision_set: DecisionSet

    @classmethod
    def flat(cls, forest: Forest) -> Self:
        """A forest's gates and leaves; leaves without slopes."""
        shape = *forest.leaves.shape, forest.gate_weights.shape[2]
        return cls(**vars(forest), slopes=jnp.zeros(shape, forest.leaves.dtype))

    def forest(self) -> Forest:
        """The gates, and what leaves say where all features are at their means."""
        return Forest(
            gate_weights=self.gate_weights,
            gate_biases=self.gate_biases,
            leaves=self.leaves,
            features=self.features,
            temperature=self.temperature,
            decision_set=Free(self.leaves.shape[2]),
        )

    def raw(self, x: Float[Array, "d rows"]) -> Float[Array, "k rows"]:
        """Σ_l p_l (c_l + A_l x), the mean over trees."""
        trees, leaves, decisions, seen = self.slopes.shape
        routes = self.forest().route_probabilities(x)
        flat = routes.reshape(trees * leaves, -1)
        level = self.leaves.reshape(-1, decisions).T @ flat
        if self.features is None:
            mixed = self.slopes.reshape(trees * leaves, -1).T @ flat
            rising = jnp.sum(mixed.reshape(decisions, seen, -1) * x, axis=1)
        else:
            mixed = jnp.einsum("tlkm,tlr->tkmr", self.slopes, routes)
            rising = jnp.einsum("tkmr,tmr->kr", mixed, x[self.features])
        return (level + rising) / trees

    def plain_raw(self) -> LinearTrees | None:
        """The same in float64."""
        forest = self.forest().plain()
        return forest and LinearTrees(forest, np.asarray(self.slopes, np.float64))

    def raw_bounds(self, centre: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Those of every leaf, gate by gate from the leaves up."""
        slopes = np.asarray(self.slopes, np.float64)
        if self.features is not None:
            seen = np.asarray(self.features)
            centres, widths = centre[seen], width[seen]
        else:
            centres, widths = (np.tile(part, (len(slopes), 1)) for part in (centre, width))
        middle = np.asarray(self.leaves, np.float64) + np.einsum("tlkm,tm->tlk", slopes, centres)
        room = np.einsum("tlkm,tm->tlk", np.abs(slopes), widths)
        ends = ((middle + sign * room)[..., None] for sign in (-1, 1))
        arrays = self.forest().arrays(len(centre))
        low, high = arrays.bounds_of(centre[:, None], width[:, None], *ends)
        return low[:, 0], high[:, 0]

    def paces(self) -> dict[str, float]:
        """As for a soft forest; slopes turn the more slowly, the more features they add up."""
        features = min(self.gate_weights.shape[2], MOST_PACED)
        return self.forest().paces() | {"slopes": 2 / features}

    def hardened(self) -> LinearForest:
        """Return the forest in the limit τ → 0."""
        return with_hard_gates(self)

    def path_integrals(
        self, starts: np.ndarray, end: np.ndarray, weights: np.ndarray, tolerance: np.ndarray
    ) -> None:
        """Left to quadrature, unless the gates are hard: it would miss the jumps."""
        if not float(self.temperature) > 0:
            raise ValueError(
                "A hard forest with linear leaves both rises and jumps, and nobody says which part "
                "of a decision is whose; ask about the soft forest it came from."
            )

    def words(self) -> str:
        """What kind of rule it is."""
        return f"{self.forest().words()}; every leaf is a weighted sum of the columns"

    def check_restored(self, n_features: int) -> None:
        """As for a soft forest."""
        self.forest().check_restored(n_features)

    def page_form(self) -> PageForm:
        """Gates and leaves as they were learned, and the map."""
        blocks = self.decision_set.page_blocks()
        if blocks is None:
            needed = "A page that decides needs the map onto Z"
            raise Missing(self.decision_set, "page_blocks", needed)
        maps = ",\n".join(f"(parameters) => {{\n{block.script}\n}}" for block in blocks)
        form = self.forest().page_form()
        own = {
            "blocks": [dict(block.parameters) for block in blocks],
            "rises": np.asarray(self.slopes, np.float32),
        }
        script = f"const MAPS = [{maps}];\n{asset('hedgerow.rules', 'linear_leaves.js')}"
        return PageForm(script, dict(form.parameters) | own, form.units)
