"""Wasserstein DRO, not causal: every pair of context and outcome is moved on its own.

    E_(x̂,ŷ) sup_{x,y} { Ψ(f(x), y) − λ‖(x − x̂)/s_x‖_p^p − λ‖(y − ŷ)/s_y‖_p^p }

(Mohajerin Esfahani & Kuhn 2018; Gao & Kleywegt 2023)
"""

from __future__ import annotations

from jaxtyping import Array, Int

from hedgerow.ambiguity.base import Batch
from hedgerow.ambiguity.movers import single_outcomes
from hedgerow.ambiguity.transport_ascent import WassersteinAmbiguity
from hedgerow.describe.parts import ModelDescription


class Wasserstein(WassersteinAmbiguity):
    """Ambiguity by transport distance: neither causality nor entropy.

    Takes the parameters of ``CausalWasserstein``. Where every context has a single outcome the two
    are one model; else this one hedges against more, since a pair may be moved with its outcome in
    view, and takes as many ascents as there are outcomes.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> policy = hr.RobustPolicy(
    ...     loss, hr.Wasserstein(penalty=3), hr.Affine(), solver=hr.NestedSGD(steps=50)
    ... )
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    def description(self) -> ModelDescription:
        """Against pairs that are moved."""
        return ModelDescription(
            "Wasserstein distance",
            "every row of the history may be shifted, in all it holds",
            columns=self.columns_words(),
        )

    def movers(self, batch: Batch, places: Int[Array, "b s"]) -> Batch:
        """Every outcome moves on its own."""
        return single_outcomes(batch, places)
