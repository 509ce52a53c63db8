"""Empirical risk minimisation: no ambiguity.

E_P̂ Ψ(f(x̂), ŷ)
"""

from __future__ import annotations

from hedgerow.ambiguity.reductions import Mean
from hedgerow.ambiguity.reweighting import InPlace
from hedgerow.describe.parts import ModelDescription


class ERM(InPlace):
    """Trust the nominal distribution as it is.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.make_newsvendor(100, 2, random_state=0)
    >>> loss = hr.Newsvendor(holding=0.6, stockout=1.0)
    >>> policy = hr.RobustPolicy(loss, hr.ERM(), hr.Affine(), solver=hr.NestedSGD(steps=50))
    >>> policy.fit(data.data, data.target).predict(data.data[:2]).shape
    (2,)
    """

    def reduction(self) -> Mean:
        """The mean loss."""
        return Mean()

    def description(self) -> ModelDescription:
        """Against nothing."""
        idea = "history is trusted as it is (empirical risk minimisation)"
        return ModelDescription("Nothing", idea, hedges=False)
