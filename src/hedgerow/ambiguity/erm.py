"""Empirical risk minimisation: no ambiguity.

E_P̂ Ψ(f(x̂), ŷ)
"""

from __future__ import annotations

from typing import Any

from hedgerow.ambiguity.base import Ambiguity, Batch, Perturbed, Setting, Tilt
from hedgerow.ambiguity.reductions import Mean
from hedgerow.ambiguity.reweighting import losses_in_place
from hedgerow.describe.parts import ModelDescription


class ERM(Ambiguity):
    """Trust the nominal distribution as it is."""

    def reduction(self) -> Mean:
        """The mean loss."""
        return Mean()

    def tilt(self, perturbed: Perturbed, setting: Setting, batch: Batch) -> Tilt:
        """Losses where the data are."""
        return losses_in_place(perturbed, setting, batch)

    def worst_case(self, maker: Any) -> Any:
        """The nominal distribution itself."""
        return maker.reweighted()

    def description(self) -> ModelDescription:
        """Against nothing."""
        idea = "history is trusted as it is (empirical risk minimisation)"
        return ModelDescription("Nothing", idea, hedges=False)
