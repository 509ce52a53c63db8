"""Weighted sample averages: decisions best for outcomes weighted by likeness of their contexts.

    z(x) ∈ argmin Σ_i w_i(x) Ψ(z, y_i),   w of a random forest or of nearest neighbours

(Bertsimas & Kallus 2020; the estimator is that of ``trials.baselines``). Forest weights make it a
prescriptive forest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from hedgerow_studies.rivals.method import Decide, Method, Problem, Setting
from hedgerow_studies.trials.baselines import LEAF_SIZES, NEIGHBOURS, WeightedSAA


class ForestWeights(Method):
    """Weights of a random forest."""

    name: ClassVar[str] = "weighted SAA (forest)"
    what: ClassVar[str] = "sample average weighted by a random forest's leaves"
    weights: ClassVar[str] = "forest"
    sizes: ClassVar[tuple[int, ...]] = LEAF_SIZES
    most_rows: ClassVar[int | None] = 5_000

    def programs(self, problem: Problem) -> bool:
        """All but the newsvendor's, which are quantiles."""
        return problem.kind != "newsvendor"

    def grid(self, problem: Problem) -> Sequence[Setting]:
        """Least leaf sizes, or numbers of neighbours."""
        return [{"size": size} for size in self.sizes]

    def learn(
        self, problem: Problem, X: np.ndarray, Y: np.ndarray, setting: Setting, seed: int
    ) -> Decide:
        """Learn the weights."""
        size = min(setting["size"], max(1, len(X) // 2))
        found = WeightedSAA(problem.loss, self.weights, seed, sizes=(size,)).fit(X, Y)
        return found.predict


class NeighbourWeights(ForestWeights):
    """Equal weights on nearest neighbours."""

    name: ClassVar[str] = "weighted SAA (neighbours)"
    what: ClassVar[str] = "sample average of the nearest neighbours"
    weights: ClassVar[str] = "neighbours"
    sizes: ClassVar[tuple[int, ...]] = NEIGHBOURS


METHODS = (ForestWeights(), NeighbourWeights())
