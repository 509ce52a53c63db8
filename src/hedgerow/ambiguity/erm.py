"""Empirical risk minimisation: no ambiguity.

E_P̂ Ψ(f(x̂), ŷ)
"""

from __future__ import annotations

from hedgerow.ambiguity.reductions import Mean
from hedgerow.ambiguity.reweighting import InPlace
from hedgerow.describe.parts import ModelDescription


class ERM(InPlace):
    """Trust the nominal distribution as it is."""

    def reduction(self) -> Mean:
        """The mean loss."""
        return Mean()

    def description(self) -> ModelDescription:
        """Against nothing."""
        idea = "history is trusted as it is (empirical risk minimisation)"
        return ModelDescription("Nothing", idea, hedges=False)
